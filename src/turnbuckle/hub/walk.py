"""How a run goes through its document: pure, one component at a time, the same whenever it is repeated.

    walk = start(wiring, data)
    while not isinstance(at := walk.next(), Ended):
        walk = walk.done(run(at.component, at.inputs))                       # for a Run
        walk = walk.joined([to_its_end(branch.walk) for branch in at.branches])  # for a Fork

Rules (blobhub 5.5, decision 40):
- A component's result is followed along all its flow edges of that route, in document order, depth first.
- A result without an edge ends the path, except that an unhandled `failure` fails the run.
- A loop's `item` path runs to its end, then the loop is entered again with its next round. An edge into a loop that is
  under way ends the path: the next round comes. So no loop is inside itself.
- The edges of a `flow.parallel` are branches, each a walk of its own with a copy of all values. A branch ends at a
  `flow.join`, or where its path ends. What branches wrote is merged as if they had run one after the other.
- A run enters at most `max_entries` components; branches share what is left of them equally.
- A key names one component run in the whole run, with the round of each loop and the number of each branch around it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from turnbuckle.hub.catalogue import FAILURE
from turnbuckle.hub.data_flow import inputs_of, settle, writes
from turnbuckle.hub.document import Component
from turnbuckle.hub.position import (
    Arrived,
    Ended,
    Entry,
    Fault,
    Forked,
    Frame,
    Held,
    Outcome,
    Position,
    Scope,
)
from turnbuckle.hub.wiring import NOWHERE, Wiring
from turnbuckle.wire.hub_limits import COMPONENT_ENTRIES, SCOPE_DEPTH

START, END, LOOP, ITEM, PARALLEL, JOIN = (
    "flow.start",
    "flow.end",
    "logic.loop",
    "item",
    "flow.parallel",
    "flow.join",
)


@dataclass(frozen=True)
class Run:
    """The component to run now."""

    component: Component
    key: str  # `c.<index>.<id, short>`, then loops, branches, round and visit; fits a step key
    inputs: dict[str, Any]
    round: int  # of a loop


@dataclass(frozen=True)
class Branch:
    number: int
    key: str
    walk: "Walk"


@dataclass(frozen=True)
class Fork:
    """Branches to run at the same time, each to its Arrived or Ended; their ends go to `joined`, in this order."""

    key: str
    component: Component
    branches: tuple[Branch, ...]


def start(wiring: Wiring, data: Mapping[int, Any], max_entries: int = COMPONENT_ENTRIES) -> "Walk":
    """At the start of a run; `data` as `initial_data` gives it."""
    starts = wiring.starts()
    if len(starts) != 1:
        code = "several_starts" if starts else "no_start"
        fault = Fault(code, f"the document has {len(starts)} components flow.start, expected one")
        return Walk(wiring, Position(ended=Ended("failed", fault)))
    held = {index: Held(0, value) for index, value in data.items()}
    return Walk(wiring, Position(pending=(Entry(starts[0]),), data=held, max_entries=max_entries))


def load(wiring: Wiring, saved: bytes) -> "Walk":
    return Walk(wiring, msgspec.json.decode(saved, type=Position))


def save(walk: "Walk") -> bytes:
    return msgspec.json.encode(walk.at)


@dataclass(frozen=True)
class Walk:
    wiring: Wiring
    at: Position

    def next(self) -> Run | Fork | Arrived | Ended:
        """What is to be done now; asking does not change it."""
        if self.at.ended is not None:
            return self.at.ended
        if self.at.forked is not None:
            return self._fork(self.at.forked)
        if not self.at.pending:
            return Ended("completed") if self.at.branch_at is None else self._arrived(self.at.branch_at)
        entry = self.at.pending[-1]
        return self._fault(entry) or self._run(entry)

    def done(self, outcome: Outcome) -> "Walk":
        """After the Run that `next` named."""
        run, entry = self.next(), self.at.pending[-1]
        assert isinstance(run, Run)
        outcome = settle(self.wiring, entry.component, outcome)
        after = self._with_values(run, entry, outcome)
        ended = self._end(run.component, outcome)
        return Walk(self.wiring, replace(after, ended=ended)) if ended else self._follow(after, run, entry, outcome)

    def joined(self, ends: Sequence[Arrived | Ended | None]) -> "Walk":
        """After the Fork that `next` named; None for a branch that was cancelled since another ended the run."""
        at, forked = self.at, self.at.forked
        assert forked is not None
        assert len(ends) == len(forked.targets)
        ended = next((end for end in ends if isinstance(end, Ended)), None)
        if ended is not None:
            return Walk(self.wiring, replace(at, forked=None, ended=ended))
        merged = replace(at, forked=None)
        joins: dict[int, None] = {}
        for end in ends:
            if isinstance(end, Arrived):
                joins |= dict.fromkeys(end.joins)
                merged = _merge(merged, end, shift=merged.entries - at.entries)
        onward = [Entry(join, forked.scope, is_joined=True) for join in joins]
        return Walk(self.wiring, self._arrive(replace(merged, pending=(*at.pending, *reversed(onward)))))

    def _run(self, entry: Entry) -> Run:
        component = self.wiring.component(entry.component)
        inputs = inputs_of(self.wiring, self.at, entry.component) if entry.inputs is None else entry.inputs
        base = _key(component, entry)
        visit = self.at.visits.get(base, 0) + 1
        return Run(component, base if visit == 1 else f"{base}.v{visit}", inputs, entry.round)

    def _fault(self, entry: Entry) -> Ended | None:
        """Why this entry fails the run before the component does anything."""
        if entry.component == NOWHERE:
            return Ended("failed", Fault("dangling_connection", "a flow edge leads to no component"))
        component, known = self.wiring.component(entry.component), self.wiring.type_of(entry.component)
        if known is None:
            fault = Fault("unknown_component_type", f"nobody registered the component type {component.type!r}")
        elif known.kind != "flow":
            fault = Fault("not_on_flow_path", f"a flow edge leads to a component of type {component.type!r}")
        elif self.at.entries >= self.at.max_entries:
            fault = Fault("too_many_entries", f"the run entered {self.at.entries:,} components, which is the limit")
        elif len(entry.scope) > SCOPE_DEPTH:
            fault = Fault("nested_too_deep", f"loops and branches are nested more than {SCOPE_DEPTH} deep")
        else:
            return None
        return Ended("failed", fault, component.id)

    def _with_values(self, run: Run, entry: Entry, outcome: Outcome) -> Position:
        at, index = self.at, entry.component
        entries = at.entries + 1
        base = _key(run.component, entry)
        written = writes(self.wiring, index, outcome.outputs)
        return replace(
            at,
            entries=entries,
            pending=at.pending[:-1],
            data=at.data | {i: Held(entries, value) for i, value in written.items()},
            outputs=at.outputs | {index: Held(entries, outcome.outputs)},
            visits=at.visits | {base: at.visits.get(base, 0) + 1},
        )

    def _end(self, component: Component, outcome: Outcome) -> Ended | None:
        """The end of the run that this outcome is, if it is one."""
        is_handled = bool(self.wiring.targets(component.index, FAILURE)) and not outcome.terminal
        if outcome.is_fatal or (outcome.route == FAILURE and not is_handled):
            what = f"{component.title!r} gave `failure`, and no edge leads on"
            return Ended("failed", outcome.error or Fault("unhandled_failure", what), component.id)
        if component.type == END:
            return Ended("failed" if component.setting("status") == "failed" else "completed", None, component.id)
        return Ended("completed", None, component.id) if outcome.terminal else None

    def _follow(self, at: Position, run: Run, entry: Entry, outcome: Outcome) -> "Walk":
        targets = self.wiring.targets(entry.component, outcome.route or "")
        if run.component.type == PARALLEL and targets:
            return Walk(self.wiring, replace(at, forked=Forked(run.key, entry.component, entry.scope, targets)))
        pending, scope = at.pending, entry.scope
        if run.component.type == LOOP and outcome.route == ITEM:
            pending = (*pending, replace(entry, round=entry.round + 1, inputs=run.inputs))
            scope = (*scope, Frame("loop", entry.component, entry.round))
        onward = [Entry(target, scope) for target in targets if not _is_under_way(target, scope)]
        return Walk(self.wiring, self._arrive(replace(at, pending=(*pending, *reversed(onward)))))

    def _arrive(self, at: Position) -> Position:
        """In a branch, a path that has come to a join has ended, and the branch has arrived there."""
        while at.branch_at is not None and at.pending and self._is_at_join(at.pending[-1]):
            at = replace(at, joins=(*at.joins, at.pending[-1].component), pending=at.pending[:-1])
        return at

    def _is_at_join(self, entry: Entry) -> bool:
        return (
            entry.component != NOWHERE and not entry.is_joined and self.wiring.component(entry.component).type == JOIN
        )

    def _fork(self, forked: Forked) -> Fork:
        branches = tuple(self._branch(forked, number, target) for number, target in enumerate(forked.targets))
        return Fork(forked.key, self.wiring.component(forked.component), branches)

    def _branch(self, forked: Forked, number: int, target: int) -> Branch:
        scope = (*forked.scope, Frame("branch", forked.component, number))
        pending = () if _is_under_way(target, scope) else (Entry(target, scope),)
        at = replace(
            self.at,
            pending=pending,
            forked=None,
            branch_at=self.at.entries,
            joins=(),
            # Each branch has its share of what is left, or branches in branches would multiply the limit.
            max_entries=self.at.entries + (self.at.max_entries - self.at.entries) // len(forked.targets),
        )
        return Branch(number, f"{forked.key}.b{number}", Walk(self.wiring, self._arrive(at)))

    def _arrived(self, since: int) -> Arrived:
        at = self.at
        return Arrived(
            at.entries - since,
            at.joins,
            {i: held for i, held in at.data.items() if held.at > since},
            {i: held for i, held in at.outputs.items() if held.at > since},
            at.visits,
        )


def _key(component: Component, entry: Entry) -> str:
    short = re.sub(r"[^A-Za-z0-9_-]", "", component.id)[:8] or "x"
    own_round = f".r{entry.round}" if component.type == LOOP else ""
    return f"c.{component.index}.{short}{''.join(map(_frame_key, entry.scope))}{own_round}"


def _frame_key(frame: Frame) -> str:
    return f".l{frame.component}r{frame.number}" if frame.kind == "loop" else f".p{frame.component}b{frame.number}"


def _is_under_way(target: int, scope: Scope) -> bool:
    return any(frame.kind == "loop" and frame.component == target for frame in scope)


def _merge(at: Position, end: Arrived, shift: int) -> Position:
    """With what a branch wrote, as if the branches before it had run before it: `shift` entries later."""

    def later(held: Held) -> Held:
        return Held(held.at + shift, held.value)

    return replace(
        at,
        entries=at.entries + end.entries,
        data=at.data | {i: later(held) for i, held in end.data.items()},
        outputs=at.outputs | {i: later(held) for i, held in end.outputs.items()},
        # A branch knows only its own later visits: of two counts the higher is the newer.
        visits=at.visits | {key: max(n, at.visits.get(key, 0)) for key, n in end.visits.items()},
    )
