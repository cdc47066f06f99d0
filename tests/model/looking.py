"""Everything a reader can see of an instance, and what must hold of it whatever was asked before.

`Look` is what the real engine shows; `expected` is the same of the reference. A `Witness` remembers what it saw, so
that it notices what changed though it must not.
"""

from typing import Any

import msgspec

from tests.model.asking import plain
from tests.model.reference import Reference, claimable_at_ms, due_at_ms
from tests.model.seen import Shown, differences
from turnbuckle.operations import instance
from turnbuckle.operations import turn as turns
from turnbuckle.store import instance as instances
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.instance import WorkflowInboxQuery, WorkflowInstancesQuery
from turnbuckle.wire.turn import WorkflowTurnHistoryQuery, WorkflowTurnQuery

Place = tuple[str, str]  # graph name, instance id
PAGE = 2  # so that every look goes through several pages


class Look(msgspec.Struct):
    """One instance: as it is shown alone, its inbox rows, its turns by number, and its two stored times."""

    instance: Shown
    inbox: list[Shown]
    turns: dict[int, Shown]
    claimable_at_ms: int | None
    due_at_ms: int | None

    @property
    def seen(self) -> tuple[Shown, list[Shown], dict[int, Shown]]:
        """What people and workers see; the stored times are the engine's own."""
        return self.instance, self.inbox, self.turns


def look(tx: Transaction, graphs: dict[str, str]) -> dict[Place, Look]:
    """All instances of the graphs, given as name: id."""
    return {
        (name, shown["id"]): _look_at(tx, graph_id, shown)
        for name, graph_id in graphs.items()
        for shown in _pages(instance.list_page, tx, graph_id, WorkflowInstancesQuery(limit=PAGE), "instances")
    }


def _look_at(tx: Transaction, graph_id: str, shown: Shown) -> Look:
    id = shown["id"]
    inbox = _pages(instance.inbox, tx, graph_id, WorkflowInboxQuery(id=id, limit=PAGE, payloads=True), "messages")
    history = _pages(turns.history, tx, graph_id, WorkflowTurnHistoryQuery(id=id, limit=PAGE), "turns")
    unfinished = [plain(turns.get(tx, graph_id, WorkflowTurnQuery(id=id, turn=row["turn"]))) for row in inbox]
    stored = instances.get(tx, graph_id, id)
    assert stored is not None
    by_number = {one["number"]: one for one in [*history, *unfinished]}
    assert len(by_number) == len(history) + len(unfinished), f"{id}: a turn is in the history and in the inbox"
    return Look(shown, inbox, by_number, stored.claimable_at_ms, stored.due_at_ms)


def _pages(read: Any, tx: Transaction, graph_id: str, query: Any, name: str) -> list[Shown]:
    found: list[Shown] = []
    while True:
        page = plain(read(tx, graph_id, query))
        found += page[name]
        assert len(page[name]) == PAGE or "next_after" not in page, "a page that is not full is the last one"
        if "next_after" not in page:
            return found
        query = msgspec.structs.replace(query, after=page["next_after"])


# -- compared with the reference -----------------------------------------------------------------------------------


def expected(reference: Reference) -> dict[Place, tuple[Shown, list[Shown], list[Shown]]]:
    """Of each instance of the reference: itself, its inbox rows, its turns."""
    now_ms = reference.now_ms
    found = {}
    for place, one in reference.instances.items():
        turns = [one.show_turn(turn, now_ms) for _, turn in sorted(one.turns.items())]
        inbox = [_row(turn) for turn in turns if turn["finished_at_ms"] is None]
        found[place] = (one.show(now_ms), inbox, turns)
    return found


def _row(turn: Shown) -> Shown:
    same = ("message_id", "message", "status", "attempt", "error", "wait", "progress", "origin")
    return {name: turn[name] for name in same} | {"turn": turn["number"], "received_at_ms": turn["created_at_ms"]}


def compare(looks: dict[Place, Look], reference: Reference) -> list[str]:
    """Every difference between what is there and what should be, the engine's own two times included."""
    found: list[str] = []
    of_reference = expected(reference)
    if sorted(looks) != sorted(of_reference):
        return [f"instances are {sorted(looks)}, expected {sorted(of_reference)}"]
    for place, one in looks.items():
        turns = [turn for _, turn in sorted(one.turns.items())]
        found += differences([one.instance, one.inbox, turns], list(of_reference[place]), "/".join(place))
        found += _stored_times(one, reference, place)
    return found


def _stored_times(one: Look, reference: Reference, place: Place) -> list[str]:
    instance, now_ms = reference.instances[place], reference.now_ms
    is_settled = one.due_at_ms is None or one.due_at_ms > now_ms
    claimable, due = {claimable_at_ms(instance)}, {due_at_ms(instance)}
    if not is_settled:  # a claim or upkeep will find it by these times
        claimable.add(instance.passed_over_at_ms)
        due.add(one.due_at_ms)
    wrong = [] if one.claimable_at_ms in claimable else [f"claimable_at_ms {one.claimable_at_ms} not in {claimable}"]
    wrong += [] if one.due_at_ms in due else [f"due_at_ms {one.due_at_ms} not in {due}"]
    return [f"{place}: {text}" for text in wrong]


# -- without the reference -----------------------------------------------------------------------------------------


class Witness:
    """Remembers what it saw of each instance."""

    def __init__(self) -> None:
        self._before: dict[Place, Look] = {}

    def forget(self, place: Place) -> None:
        """It was deleted: what comes under its id is another."""
        self._before.pop(place, None)

    def check(self, looks: dict[Place, Look], now_ms: int) -> list[str]:
        found = []
        for place, one in looks.items():
            wrong = [*_at_any_time(one, now_ms), *_since(self._before.get(place), one)]
            found += [f"{'/'.join(place)}: {text}" for text in wrong]
        self._before.update(looks)
        return found


def _at_any_time(one: Look, now_ms: int) -> list[str]:
    wrong, numbers = [], sorted(one.turns)
    first = one.instance.get("history_pruned_through", 0) + 1
    if numbers != list(range(first, first + len(numbers))):
        wrong.append(f"turns are {numbers}, expected all from {first} on")
    inbox = [row["turn"] for row in one.inbox]
    running = [number for number, turn in one.turns.items() if turn["status"] == "running"]
    if running not in ([], inbox[:1]):
        wrong.append(f"turns {running} are held, the first of the inbox is {inbox[:1]}")
    followers = [turn["continued_to"] for turn in one.turns.values() if "continued_to" in turn]
    if len(set(followers)) != len(followers):
        wrong.append(f"two turns continue in one: {followers}")
    completed = [turn for _, turn in sorted(one.turns.items()) if turn["status"] == "completed"]
    if completed and completed[-1]["state_after"] != one.instance["state"]:
        wrong.append(f"the state is not that after turn {completed[-1]['number']}")
    if inbox and not _will_go_on(one, one.turns[inbox[0]], now_ms):
        wrong.append(f"nothing will go on with turn {inbox[0]}: {one.turns[inbox[0]]}")
    return wrong


def _will_go_on(one: Look, head: Shown, now_ms: int) -> bool:
    """Held, ready, waiting on something that has a name, or stopped by a person or for one."""
    match head["status"]:
        case "running":
            return bool(head["deadline_ms"] > now_ms and one.due_at_ms is not None)
        case "queued":
            return one.instance["status"] == "paused" or one.claimable_at_ms is not None
        case "failed":
            return one.instance["status"] in ("failed", "paused") and "on_exhausted" not in one.instance
    last = head["steps"][-1] if head["steps"] else {}
    names = {last.get("wake_at_ms"), head.get("wait", {}).get("until_ms")}
    return head["ready_at_ms"] in names or "error" in head


def _since(before: Look | None, one: Look) -> list[str]:
    """What must not change or fall from one look to the next."""
    if before is None:
        return []
    wrong = [] if before.instance["sequence"] <= one.instance["sequence"] else ["its sequence fell"]
    if before.instance["completed_turns"] > one.instance["completed_turns"]:
        wrong.append("completed_turns fell")
    pruned = one.instance.get("history_pruned_through", 0)
    for number, turn in before.turns.items():
        if number <= pruned:
            continue
        if number not in one.turns:
            wrong.append(f"turn {number} is lost")
        else:
            wrong += [f"turn {number}: {text}" for text in _since_of_turn(turn, one.turns[number])]
    return wrong


def _is_told_by_time(turn: Shown) -> bool:
    """A reader may be ahead of a renewal that is just being committed, and show as ended what then goes on.

    It lasts as long as a transaction. Whoever waits for an end is told it by a writer; proof:
    test_a_failure_that_time_alone_tells_is_settled_before_it_is_told.
    """
    return bool(turn["status"] == "failed" and turn["error"].startswith(("lease expired", "operation ")))


def _since_of_turn(before: Shown, turn: Shown) -> list[str]:
    if "finished_at_ms" in before:
        is_fine = before == turn or _is_told_by_time(before)
        return [] if is_fine else [f"it had finished and changed: {before} to {turn}"]
    wrong = [] if before["sequence"] <= turn["sequence"] else ["its sequence fell"]
    if before["attempt"] > turn["attempt"]:
        wrong.append("its attempt fell")
    if any(before[name] != turn[name] for name in ("message_id", "message", "created_at_ms")):
        wrong.append("its message changed")
    kept = turn["steps"][: len(before["steps"])]
    changed = [old["key"] for old, new in zip(before["steps"], kept, strict=False) if old != new]
    waited = [step["key"] for step in before["steps"] if step["kind"] == "signal" and step["output"] is None]
    if len(kept) < len(before["steps"]) or not set(changed) <= set(waited):
        wrong.append(f"saved steps changed: {before['steps']} to {turn['steps']}")
    return wrong
