"""Random requests for the engine and the reference, with a clock that is moved by hand.

What is drawn is in moves.py.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.clock import START_MS, MovableClock
from tests.model import moves
from tests.model.asking import REPEATABLE, Ask, Outcome, ask, ask_engine, ask_reference, json_value, run
from tests.model.looking import Look, Place, Witness, compare, look
from tests.model.moves import PAIRS, Move
from tests.model.reference import DAY_MS, Reference, attempt_end_ms, claimable_at_ms
from tests.model.seen import HELD, Turn, differences
from turnbuckle.operations import doctor, instance, upkeep
from turnbuckle.store.database import Database, read, write
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.instance import WorkflowInstanceDeleteRequest

STEPS_PER_TURN, SIGNALS_PER_TURN, HISTORY_TURNS = 4, 4, 2  # small, so that short runs reach them
GRAPHS = ("g", "h")

Lease = tuple[str, dict[str, Any]]  # graph, and the triple that every request of a holder begins with
NO_LEASE: Lease = ("g", {"workflow_id": "a", "turn": 1, "token": "made up"})


class Undo(Exception):
    """Rolls a transaction back."""


class EngineMachine(RuleBasedStateMachine):
    """`begin_claims_at` sets which of its pairs the next claim looks at first: that draw must be ours."""

    def __init__(
        self, database: Database, graphs: dict[str, str], clock: MovableClock, begin_claims_at: Callable[[int], None]
    ) -> None:
        super().__init__()
        self.database, self.graphs, self.clock, self.begin_claims_at = database, graphs, clock, begin_claims_at
        clock.now_ms = START_MS
        self.reference = Reference(START_MS, STEPS_PER_TURN, SIGNALS_PER_TURN)
        self.witness = Witness()
        self.looks: dict[Place, Look] = {}
        self.asked: list[Ask] = []
        self.leases: list[Lease] = []  # of every claim, the newest first
        self.last: tuple[Ask, Outcome] | None = None  # what may be asked again now without any effect
        self.sent = 0

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
        self.sent += 1
        (graph, workflow_id), id = self.place(place), f"m{self.sent}"
        if known and (graph, workflow_id) in self.reference.instances:
            turns = list(self.reference.instances[graph, workflow_id].turns.values())
            id = turns[which % len(turns)].message_id if turns else id
        origin = {"kind": "manual", "revision": "r1"} if self.sent % 3 == 0 else None
        self.ask("send", graph, workflow_id=workflow_id, id=id, message=json_value(message), origin=origin)

    def signal(self, place: int, more: int, id: str, name: str, value: str) -> None:
        graph, workflow_id = self.place(place)
        fields = {"turn": max(0, self.head_number(place) + more), "id": id, "name": name, "value": json_value(value)}
        self.ask("signal", graph, workflow_id=workflow_id, **fields)

    def answer(self, which: int, value: str) -> None:
        """What one of the listening turns waits for."""
        heads = [(place, one.head) for place, one in self.reference.instances.items() if one.head is not None]
        listening = [(place, head) for place, head in heads if head.wait == "signal"]
        if listening:
            (graph, workflow_id), head = listening[which % len(listening)]
            fields = {"turn": head.number, "name": head.steps[-1]["signal_name"], "value": json_value(value)}
            self.ask("signal", graph, workflow_id=workflow_id, id=f"answer {len(head.signals)}", **fields)

    def control(self, place: int, action: str, more: int | None) -> None:
        graph, workflow_id = self.place(place)
        is_named = action in ("retry", "skip", "cancel_turn") and more is not None
        number = max(0, self.head_number(place) + (more or 0)) if is_named else None
        self.ask("control", graph, workflow_id=workflow_id, action=action, turn=number)

    def delete(self, place: int) -> None:
        graph, workflow_id = self.place(place)
        self.ask("delete", graph, workflow_id=workflow_id)

    # -- moves of a worker ---------------------------------------------------------------------------------------

    def claim(self, graph: str, pairs: tuple[tuple[str, str], ...], first: int) -> None:
        self.begin_claims_at(first)
        workflows = [{"workflow_type": name, "version": version} for name, version in pairs]
        self.ask("claim", graph, worker="ada" if first else "bob", workflows=workflows)

    def heartbeat(self, which: int) -> None:
        graph, lease, _ = self.lease(which)
        self.ask("heartbeat", graph, **lease)

    def begin(self, which: int, key: str, offset: int, timeout_ms: int, silence_ms: int | None) -> None:
        graph, lease, turn = self.lease(which)
        fields = {"kind": "step", "timeout_ms": timeout_ms, "heartbeat_timeout_ms": silence_ms}
        self.ask("begin", graph, **lease, **position(turn, key, offset), **fields)

    def progress(self, which: int, key: str, ahead: int, details: str, cursor: str) -> None:
        graph, lease, turn = self.lease(which)
        operation = (turn and turn.operation) or {"key": "k0", "sequence": 1}
        fields = {
            "key": operation["key"] if key == "running" else key,
            "sequence": max(1, operation["sequence"] + ahead),
        }
        self.ask("progress", graph, **lease, **fields, details=json_value(details), checkpoint=json_value(cursor))

    def save(self, which: int, key: str, offset: int, output: str) -> None:
        graph, lease, turn = self.lease(which)
        self.ask("save", graph, **lease, **position(turn, key, offset), kind="step", output=json_value(output))

    def step(self, parts: int, cursor: str, output: str) -> None:
        """As a worker runs a step: begun, reported on, saved; or only the first `parts` of it."""
        self.begin(0, "new", 0, 60_000, None)
        if parts >= 2:
            self.progress(0, "running", 1, '{"phase":"read","done":1}', cursor)
        if parts >= 3:
            self.save(0, "new", 0, output)

    def sleep(self, which: int, key: str, offset: int, delay_ms: int | None) -> None:
        graph, lease, turn = self.lease(which)
        self.ask("save", graph, **lease, **position(turn, key, offset), kind="sleep", delay_ms=delay_ms)

    def wait_signal(self, which: int, key: str, offset: int, name: str, timeout_ms: int) -> None:
        graph, lease, turn = self.lease(which)
        self.ask("wait_signal", graph, **lease, **position(turn, key, offset), name=name, timeout_ms=timeout_ms)

    def complete(self, which: int, state: str, result: str | None, next_message: str | None) -> None:
        graph, lease, _ = self.lease(which)
        more: dict[str, Any] = {} if result is None else {"result": json_value(result)}
        if next_message is not None:
            more["continuation"] = {"message": json_value(next_message)}
        self.ask("complete", graph, **lease, state=json_value(state), **more)

    def fail(self, which: int, is_final: bool, retry_in_ms: int | None) -> None:
        graph, lease, _ = self.lease(which)
        retry_at_ms = None if retry_in_ms is None else self.clock.now_ms + retry_in_ms
        self.ask("fail", graph, **lease, error="Error: no", non_retryable=is_final, retry_at_ms=retry_at_ms)

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

    def pass_to(self, now_ms: int) -> None:
        note(f"+{now_ms - START_MS} ms  it is now")
        self.last = None
        self.clock.now_ms = now_ms
        self.reference.pass_to(now_ms)
        self.check()

    def repeat(self, back: int) -> None:
        """A request of earlier: late, doubled on the way, or of a worker that does not know what happened since."""
        self.perform(self.asked[-1 - back % len(self.asked)])

    def repeat_at_once(self) -> None:
        """The answer got lost: the same request gives the same answer and changes nothing at all (lbb-engine 4.8)."""
        if self.last is not None:
            (asked, first), before = self.last, self.looks
            assert self.perform(asked) == first
            assert self.looks == before

    def settle(self) -> None:
        """Nobody sees whether upkeep ran: reads show the state as of now (decision 13)."""
        note("       upkeep settles")
        while write(self.database, upkeep.settle):
            pass
        before = {place: one.seen for place, one in self.looks.items()}
        self.check()
        assert {place: one.seen for place, one in self.looks.items()} == before

    def prune(self) -> None:
        """Old turns go, but none that is among the newest or of the last day (lbb-engine 4.9)."""
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

    # -- asking and checking -------------------------------------------------------------------------------------

    def ask(self, kind: str, graph: str, /, **fields: Any) -> Outcome:
        self.asked.append(ask(kind, graph, **fields))
        return self.perform(self.asked[-1])

    def perform(self, asked: Ask) -> Outcome:
        """Ask both, compare the answers, remember what may be asked again; then look at everything."""
        real = ask_engine(self.database, self.graphs[asked.graph], asked)
        note(f"+{self.clock.now_ms - START_MS} ms  {asked} -> {real[1] if real[0] == 'refused' else 'ok'}")
        other = ask_reference(self.reference, asked, real)
        assert list(differences(list(real), list(other))) == []
        self.last = (asked, real) if real[0] == "ok" and asked.kind in REPEATABLE else None
        if real[0] == "ok":
            self.learn(asked, real[1])
        self.check()
        return real

    def learn(self, asked: Ask, answer: Any) -> None:
        if asked.kind == "claim" and answer["task"] is not None:
            turn = answer["task"]["turn"]
            lease = {"workflow_id": turn["workflow_id"], "turn": turn["number"], "token": answer["task"]["token"]}
            self.leases.insert(0, (asked.graph, lease))
        if asked.kind == "delete":
            self.witness.forget((asked.graph, asked.decode().workflow_id))  # type: ignore[attr-defined]

    def check(self) -> None:
        # On the writers' side: a heartbeat is answered before its commit, so a reader may come too early for it.
        looks, problems = write(self.database, lambda tx: (look(tx, self.graphs), doctor.problems(tx)))
        assert compare(looks, self.reference) == []
        assert self.witness.check(looks, self.clock.now_ms) == []
        assert problems == [], problems
        self.looks = looks
        holders = valid_leases(self.database, self.graphs, self.leases[:6])
        assert len(holders) == len(set(holders)), "two tokens hold one turn"

    def look(self) -> dict[Place, Look]:
        return write(self.database, lambda tx: look(tx, self.graphs))

    # -- what the requests are made of ---------------------------------------------------------------------------

    def place(self, which: int) -> Place:
        """One of the instances, or now and then one that does not exist."""
        known = list(self.reference.instances)
        return known[which % len(known)] if known and which < 9 else ("g", "nobody")

    def head_number(self, place: int) -> int:
        instance = self.reference.instances.get(self.place(place))
        if instance is None:
            return 1
        return instance.last if instance.head is None else instance.head.number

    def lease(self, which: int) -> tuple[str, dict[str, Any], Turn | None]:
        """One of those that hold, the newest first, then of those that have lost; and the turn it is for.

        For 0 and when none holds, a turn is claimed first.
        """
        if which == 0 and not self.holders():
            self.wait_for_a_turn()
        held = self.holders()
        leases = [*held, *(lease for lease in self.leases if lease not in held)] or [NO_LEASE]
        graph, lease = leases[which % len(leases)]
        instance = self.reference.instances.get((graph, lease["workflow_id"]))
        return graph, lease, None if instance is None else instance.turns.get(lease["turn"])

    def wait_for_a_turn(self) -> None:
        """Claim the next turn of the first graph; when all is idle, send a message first."""
        times = [claimable_at_ms(one) for (graph, _), one in self.reference.instances.items() if graph == "g"]
        due = [at_ms for at_ms in times if at_ms is not None]
        if not due:
            self.send(0, False, 0, "2")
        elif min(due) > self.clock.now_ms:
            self.pass_to(min(due))
        self.claim("g", PAIRS, 0)

    def holders(self) -> list[Lease]:
        heads = ((graph, one.head) for (graph, _), one in self.reference.instances.items())
        tokens = {(graph, head.token) for graph, head in heads if head is not None}
        return [(graph, lease) for graph, lease in self.leases if (graph, lease["token"]) in tokens]


def position(turn: Turn | None, key: str, offset: int) -> dict[str, Any]:
    at = max(0, (0 if turn is None else len(turn.steps)) + offset)
    return {"position": at, "key": f"k{at}" if key == "new" else key}


def valid_leases(database: Database, graphs: dict[str, str], leases: list[Lease]) -> list[Place]:
    """The instances whose turn one of the leases holds, once for each that does. Nothing of it stays."""
    found: list[Place] = []

    def try_all(tx: Transaction) -> None:
        for graph, lease in leases:
            try:
                run(tx, graphs[graph], ask("heartbeat", graph, **lease))
            except Refused:
                continue
            found.append((graph, lease["workflow_id"]))
        raise Undo

    if leases:
        with pytest.raises(Undo):
            write(database, try_all)
    return found
