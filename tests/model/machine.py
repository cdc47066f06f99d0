"""Random requests for the engine and the reference, with a clock that is moved by hand; moves.py says what is drawn."""

from functools import partial

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.model import moves
from tests.model.asking import REPEATABLE, json_value
from tests.model.moves import DAY_MS, PAIRS, Move
from tests.model.reference import attempt_end_ms, claimable_at_ms
from tests.model.seen import HELD
from tests.model.worker_moves import WorkerMoves
from tests.model.world import HISTORY_TURNS
from turnbuckle.operations import doctor, instance, upkeep
from turnbuckle.store.database import read, write
from turnbuckle.wire.instance import WorkflowInstanceDeleteRequest


class EngineMachine(WorkerMoves, RuleBasedStateMachine):
    def teardown(self) -> None:
        for name, id in list(self.reference.instances):
            gone = WorkflowInstanceDeleteRequest(workflow_id=id)
            write(self.database, partial(instance.delete, graph_id=self.graphs[name], request=gone))
        assert read(self.database, doctor.problems) == [], "deleted instances left rows behind"

    # -- rules: a few moves in a row -----------------------------------------------------------------------------

    @initialize(attempts=moves.often(2, 3, 2, 1), exhausted=st.sampled_from(("skip", "block")))
    def start_two(self, attempts: int, exhausted: str) -> None:
        self.create("g", "a", PAIRS[0], 1_000, attempts, exhausted, "0")
        self.create("g", "b", PAIRS[1], 60_000, 3, "block", "null")
        for place in (0, 0, 1):
            self.send(place, False, 0, "1")

    @rule(moves=moves.work)
    def work(self, moves: list[Move]) -> None:
        self.do(moves)

    @rule(moves=moves.elsewhere)
    def elsewhere(self, moves: list[Move]) -> None:
        """What others do meanwhile, and time."""
        self.do(moves)

    @rule(moves=moves.again)
    def again(self, moves: list[Move]) -> None:
        """Requests that come twice or late, and what happens without one."""
        self.do(moves)

    def do(self, moves: list[Move]) -> None:
        for name, drawn in moves:
            getattr(self, name)(**drawn)

    # -- moves from outside --------------------------------------------------------------------------------------

    def create(
        self, graph: str, id: str, pair: tuple[str, str], lease_ms: int, attempts: int, exhausted: str, state: str
    ) -> None:
        fields = {"workflow_type": pair[0], "version": pair[1], "lease_ms": lease_ms, "max_attempts": attempts}
        self.ask("create", graph, id=id, state=json_value(state), on_exhausted=exhausted, **fields)

    def send(self, place: int, known: bool, which: int, message: str) -> None:
        """A new message, or one more under an id that was used; a continuation's shown id is no one's."""
        graph, workflow_id = self.place(place)
        instance = self.reference.instances.get((graph, workflow_id))
        number = 1 if instance is None else instance.last + 1
        id = f"m{number}"  # as in an instance of this name that was deleted
        if known and instance is not None and instance.turns:
            id = list(instance.turns.values())[which % len(instance.turns)].message_id
        origin = {"kind": "manual", "revision": "r1"} if number % 3 == 0 else None
        self.ask("send", graph, workflow_id=workflow_id, id=id, message=json_value(message), origin=origin)

    def signal(self, place: int, more: int, id: str, name: str, value: str) -> None:
        graph, workflow_id = self.place(place)
        fields = {"turn": max(0, self.head_number(place) + more), "id": id, "name": name, "value": json_value(value)}
        self.ask("signal", graph, workflow_id=workflow_id, **fields)

    def answer(self, which: int, value: str, late_ms: int | None) -> None:
        """What one of the listening turns waits for, or just before or after it has given up."""
        heads = [(place, one.head) for place, one in self.reference.instances.items() if one.head is not None]
        listening = [(place, head) for place, head in heads if head.wait == "signal"]
        if listening:
            (graph, workflow_id), head = listening[which % len(listening)]
            if late_ms is not None:
                self.pass_to(max(self.clock.now_ms, head.ready_at_ms + late_ms))
            fields = {"turn": head.number, "name": head.steps[-1]["signal_name"], "value": json_value(value)}
            self.ask("signal", graph, workflow_id=workflow_id, id=f"answer {len(head.signals)}", **fields)

    def control(self, place: int, action: str, more: int | None) -> None:
        """Of a command that is about failed or waiting turns mostly an instance that has one."""
        aims = {"retry": "failed", "skip": "failed", "wake": "waiting", "resume": "waiting"}
        aimed = [
            number
            for number, one in enumerate(self.reference.instances.values())
            if one.head is not None and one.head.status(self.clock.now_ms) == aims.get(action)
        ]
        if aimed and place < 9:
            place = aimed[place % len(aimed)]
        graph, workflow_id = self.place(place)
        is_named = action in ("retry", "skip", "cancel_turn") and more is not None
        number = max(0, self.head_number(place) + (more or 0)) if is_named else None
        self.ask("control", graph, workflow_id=workflow_id, action=action, turn=number)

    def delete(self, place: int) -> None:
        graph, workflow_id = self.place(place)
        self.ask("delete", graph, workflow_id=workflow_id)

    # -- moves of time, and of requests that come again ----------------------------------------------------------

    def pass_time(self, ms: int) -> None:
        self.pass_to(self.clock.now_ms + ms)

    def pass_until(self, which: int, more_ms: int) -> None:
        """To a lease's end, a deadline or a due time, or a millisecond beside it."""
        instances = list(self.reference.instances.values())
        ends = [attempt_end_ms(one.head) for one in instances if one.head is not None and one.head.phase == HELD]
        dues = [at_ms for one in instances if (at_ms := claimable_at_ms(one)) is not None]
        times = sorted({at_ms + more_ms for at_ms in ends + dues if at_ms + more_ms > self.clock.now_ms})
        if times:
            self.pass_to(times[which % len(times)])

    def repeat(self, back: int) -> None:
        """A request of earlier: late, doubled on the way, or of a worker that does not know what happened since."""
        self.perform(self.asked[-1 - back % len(self.asked)])

    def repeat_late(self, back: int) -> None:
        """A request that was accepted comes again just as the attempt that runs now has ended."""
        held = [(place, one.head) for place, one in self.reference.instances.items() if one.head and one.head.token]
        if held:
            (graph, id), head = held[0]
            mine = [one for one in self.asked if one.is_about(graph, id) and one.kind in REPEATABLE]
            self.pass_to(attempt_end_ms(head))
            self.perform(mine[-1 - back % len(mine)])

    def settle(self) -> None:
        """Nobody sees whether upkeep ran: reads show the state as of now (decision 13)."""
        note("       upkeep settles")
        while write(self.database, upkeep.settle):
            pass
        before = {place: one.seen for place, one in self.looks.items()}
        self.check()
        assert {place: one.seen for place, one in self.looks.items()} == before

    def prune(self, days: int) -> None:
        """Old turns go, but none that is among the newest or of the last day (lbb-engine 4.9)."""
        self.pass_to(self.clock.now_ms + days * DAY_MS)
        self.last = None  # a pruned turn is answered as a stub
        note("       upkeep prunes")
        while write(self.database, upkeep.prune_history):
            pass
        for place, one in self.look().items():
            pruned, known = one.instance.get("history_pruned_through", 0), self.reference.instances[place]
            for number in range(known.pruned + 1, pruned + 1):
                gone = known.turns.pop(number)
                assert number <= known.last - HISTORY_TURNS
                assert gone.finished_at_ms is not None
                assert gone.finished_at_ms < self.clock.now_ms - DAY_MS
            known.pruned = pruned
        self.check()
