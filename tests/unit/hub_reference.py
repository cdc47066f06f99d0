"""The simplest interpreter of a workflow document that could be right: it recurses over the raw JSON, and branches run
one after the other. `hub.walk` must enter the same components, with the same keys and inputs, and end the same way.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

Json = dict[str, Any]
Behave = Callable[[str, str, int, Json], tuple[str, Json, bool]]  # key, type, round, inputs -> route, outputs, terminal
DEPTH = 8
DECLARED = {"logic.condition": ("left", "right"), "logic.loop": ("items",)}  # inputs that a type has by itself


class RunEnded(Exception):
    """(status, code or None, component id or None)"""


@dataclass
class State:
    """Of one path: branches have their own."""

    data: dict[str, tuple[int, Any]]
    outputs: dict[str, tuple[int, Json]] = field(default_factory=dict)
    visits: dict[str, int] = field(default_factory=dict)
    entered: int = 0
    joins: list[str] = field(default_factory=list)
    is_branch: bool = False
    max_entries: int = 0


class Reference:
    def __init__(self, raw: Json, data: Json, behave: Behave, max_entries: int, known: set[str]) -> None:
        self.components = {c["id"]: c for c in raw["components"]}
        self.place = {c["id"]: i for i, c in enumerate(raw["components"])}
        self.edges = raw["connections"]
        self.behave, self.known = behave, known
        self.clock = count(1)
        self.trace: list[tuple[str, Json]] = []
        self.state = State({component_id: (0, value) for component_id, value in data.items()}, max_entries=max_entries)

    def run(self) -> tuple[str, str | None, str | None]:
        try:
            self.enter("s", (), self.state)
        except RunEnded as end:
            return end.args
        return "completed", None, None

    def enter(self, target: str, scope: tuple[str, ...], state: State) -> None:
        if f"loop:{target}" in [frame.split("@")[0] for frame in scope]:
            return  # the round ends
        if state.is_branch and self.components.get(target, {}).get("type") == "flow.join":
            state.joins.append(target)
            return
        self.go(target, scope, state)

    def go(self, target: str, scope: tuple[str, ...], state: State) -> None:
        self.check(target, scope, state)
        kind = self.components[target]["type"]
        inputs = self.inputs(target, state)
        for round_ in count():
            if round_:
                self.check(target, scope, state)
            route, forked_from = self.step(target, kind, scope, round_, inputs, state)
            if kind == "flow.parallel":
                self.fork(target, scope, state, self.targets(target, route), forked_from)
            elif kind == "logic.loop" and route == "item":
                for onward in self.targets(target, route):
                    self.enter(onward, (*scope, f"loop:{target}@{round_}"), state)
                continue
            else:
                for onward in self.targets(target, route):
                    self.enter(onward, scope, state)
            return

    def check(self, target: str, scope: tuple[str, ...], state: State) -> None:
        if target not in self.components:
            raise RunEnded("failed", "dangling_connection", None)
        if self.components[target]["type"] not in self.known:
            raise RunEnded("failed", "unknown_component_type", target)
        if state.entered >= state.max_entries:
            raise RunEnded("failed", "too_many_entries", target)
        if len(scope) > DEPTH:
            raise RunEnded("failed", "nested_too_deep", target)

    def step(
        self, target: str, kind: str, scope: tuple[str, ...], round_: int, inputs: Json, state: State
    ) -> tuple[str, int]:
        state.entered += 1
        now = next(self.clock)
        key = self.key(target, kind, scope, round_, state)
        self.trace.append((key, inputs))
        route, outputs, terminal = self.behave(key, kind, round_, inputs)
        reached = [d for e in self.out_edges(target) if "out" in outputs for d in self.reached(e["target_id"])]
        error = None
        if any(self.setting(d, "persistence") == "definition" for d in reached):
            route, outputs, terminal, error, reached = "failure", {}, False, "read_only_data", []
        state.outputs[target] = (now, outputs)
        for d in reached:
            state.data[d] = (now, outputs["out"])
        if route == "failure" and (terminal or not self.targets(target, "failure")):
            raise RunEnded("failed", error or "unhandled_failure", target)
        if kind == "flow.end" or terminal:
            raise RunEnded("completed", None, target)
        return route, now

    def fork(self, target: str, scope: tuple[str, ...], state: State, targets: list[str], since: int) -> None:
        ends: list[RunEnded] = []
        branches = []
        for number, onward in enumerate(targets):
            branch = copy.deepcopy(state)
            branch.is_branch, branch.joins = True, []
            branch.max_entries = state.entered + (state.max_entries - state.entered) // len(targets)
            try:
                self.enter(onward, (*scope, f"branch:{target}@{number}"), branch)
            except RunEnded as end:
                ends.append(end)
            branches.append(branch)
        if ends:
            raise ends[0]
        before = state.entered
        for branch in branches:
            state.data |= {d: held for d, held in branch.data.items() if held[0] > since}
            state.outputs |= {c: held for c, held in branch.outputs.items() if held[0] > since}
            state.visits = {
                k: max(state.visits.get(k, 0), branch.visits.get(k, 0)) for k in state.visits | branch.visits
            }
            state.entered += branch.entered - before
        for join in dict.fromkeys(join for branch in branches for join in branch.joins):
            self.go(join, scope, state)

    def key(self, target: str, kind: str, scope: tuple[str, ...], round_: int, state: State) -> str:
        frames = ""
        for frame in scope:
            word, rest = frame.split(":")
            owner, number = rest.split("@")
            frames += f".l{self.place[owner]}r{number}" if word == "loop" else f".p{self.place[owner]}b{number}"
        base = f"c.{self.place[target]}.{target}{frames}" + (f".r{round_}" if kind == "logic.loop" else "")
        visit = state.visits[base] = state.visits.get(base, 0) + 1
        return base if visit == 1 else f"{base}.v{visit}"

    def targets(self, source: str, route: str) -> list[str]:
        return [
            e["target_id"]
            for e in self.edges
            if e["source_port"] == "flow_output" and e["source_id"] == source and e["route"] == route
        ]

    def inputs(self, target: str, state: State) -> Json:
        found: Json = dict.fromkeys(DECLARED.get(self.components[target]["type"], ()))
        best: dict[str, int] = {}
        for edge in self.edges:
            if edge["source_port"] != "data_output" or edge["target_id"] != target:
                continue
            source = edge["source_id"]
            at, value = state.data.get(source) or (0, None)
            if source in state.outputs:
                at, value = state.outputs[source][0], state.outputs[source][1].get(edge["source_route"])
            found.setdefault(edge["target_route"], None)
            if value is not None and at >= best.get(edge["target_route"], 0):
                found[edge["target_route"]], best[edge["target_route"]] = value, at
        return found

    def out_edges(self, source: str) -> list[Json]:
        return [
            e
            for e in self.edges
            if e["source_port"] == "data_output" and e["source_id"] == source and e["source_route"] in ("out", "value")
        ]

    def reached(self, target: str, seen: tuple[str, ...] = ()) -> list[str]:
        """The data component and all it hands its value on to."""
        if target not in self.components or target in seen or not target.startswith("d"):
            return []
        found = [target]
        for edge in self.out_edges(target):
            found += [d for d in self.reached(edge["target_id"], (*seen, *found)) if d not in found]
        return found

    def setting(self, component_id: str, route: str) -> Any:
        ports = {port["route"]: port["value"] for port in self.components[component_id]["ports"]}
        return (ports.get(route) or {}).get("text")
