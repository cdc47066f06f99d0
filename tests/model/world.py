"""The real engine and the reference side by side: both are asked the same, and everything is looked at after each.

`World` also keeps what a move is made of: the leases that were given out, the requests that may come again, the clock.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import note

from tests.clock import START_MS, MovableClock
from tests.model.asking import REPEATABLE, Ask, Outcome, ask, ask_engine, ask_reference, json_value, run
from tests.model.looking import Look, Place, Witness, compare, look
from tests.model.moves import PAIRS
from tests.model.reference import Reference, claimable_at_ms
from tests.model.seen import FAILED, Instance, Turn, differences
from turnbuckle.operations import doctor
from turnbuckle.store.database import Database, write
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused

STEPS_PER_TURN, SIGNALS_PER_TURN, HISTORY_TURNS = 4, 4, 2  # small, so that short runs reach them
GRAPHS = ("g", "h")

Lease = tuple[str, dict[str, Any]]  # graph, and the triple that every request of a holder begins with
NO_LEASE: Lease = ("g", {"workflow_id": "a", "turn": 1, "token": "made up"})


class Undo(Exception):
    """Rolls a transaction back."""


class World:
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

    # -- asking and checking -------------------------------------------------------------------------------------

    def ask(self, kind: str, graph: str, /, **fields: Any) -> Outcome:
        self.asked.append(ask(kind, graph, **fields))
        return self.perform(self.asked[-1])

    def perform(self, asked: Ask) -> Outcome:
        """Ask both, compare the answers, remember what may be asked again; then look at everything."""
        real = ask_engine(self.database, self.graphs[asked.graph], asked)
        note(f"+{self.clock.now_ms - START_MS} ms  {asked} -> {real[1] if real[0] == 'refused' else 'ok'}")
        other = ask_reference(self.reference, asked, real)
        must_be_none(differences(list(real), list(other)))
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
        must_be_none(compare(looks, self.reference))
        must_be_none(self.witness.check(looks, self.clock.now_ms))
        must_be_none(problems)
        self.looks = looks
        holders = valid_leases(self.database, self.graphs, self.leases[:6])
        assert len(holders) == len(set(holders)), "two tokens hold one turn"

    def look(self) -> dict[Place, Look]:
        return write(self.database, lambda tx: look(tx, self.graphs))

    def pass_to(self, now_ms: int) -> None:
        note(f"+{now_ms - START_MS} ms  it is now")
        self.last = None
        self.clock.now_ms = now_ms
        self.reference.pass_to(now_ms)
        self.check()

    def repeat_at_once(self) -> None:
        """The answer got lost: the same request gives the same answer and changes nothing at all (lbb-engine 4.8)."""
        if self.last is not None:
            (asked, first), before = self.last, self.looks
            assert self.perform(asked) == first
            assert self.looks == before

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
        """Claim the next turn of the first graph, after what its first instance may need for one to come."""
        ours = [(id, one) for (graph, id), one in self.reference.instances.items() if graph == "g"]
        due = [at_ms for _, one in ours if (at_ms := claimable_at_ms(one)) is not None]
        if due:
            self.pass_to(max(self.clock.now_ms, min(due)))
        elif ours:
            self.help(*ours[0])
        self.claim("g", PAIRS, 0)

    def help(self, id: str, one: Instance) -> None:
        """To an idle instance of the first graph a message, to a stopped one what a person does."""
        if one.paused:
            self.ask("control", "g", workflow_id=id, action="resume")
        if one.head is None:
            self.ask("send", "g", workflow_id=id, id=f"m{one.last + 1}", message=json_value("2"))
        elif one.head.phase == FAILED:
            self.ask("control", "g", workflow_id=id, action="skip", turn=one.head.number)

    def claim(self, graph: str, pairs: tuple[tuple[str, str], ...], first: int) -> None:
        self.begin_claims_at(first)
        workflows = [{"workflow_type": name, "version": version} for name, version in pairs]
        self.ask("claim", graph, worker="ada" if first else "bob", workflows=workflows)

    def claim_of(self, graph: str, instance: Instance) -> bool:
        """Claim of the instance's pair, as soon as it is claimable."""
        at_ms = claimable_at_ms(instance)
        if at_ms is None:
            return False
        self.pass_to(max(self.clock.now_ms, at_ms))
        self.claim(graph, ((instance.workflow_type, instance.version),), 0)
        return True

    def holders(self) -> list[Lease]:
        heads = ((graph, one.head) for (graph, _), one in self.reference.instances.items())
        tokens = {(graph, head.token) for graph, head in heads if head is not None}
        return [(graph, lease) for graph, lease in self.leases if (graph, lease["token"]) in tokens]


def must_be_none(wrong: Iterable[str]) -> None:
    found = list(wrong)
    assert not found, "\n".join(found)


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
