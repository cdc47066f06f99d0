"""Circles that a run can never leave: found only where that is certain.

A component is *endless* when each result it can have leads to an endless one: the largest set for which that holds. A
result without an edge ends the path, code that chooses its result may end it, and so may what can end the whole run.
Of parallel branches each is looked at by itself: another may end the run.
"""

from collections.abc import Callable, Iterable, Iterator

from turnbuckle.hub.catalogue import FAILURE
from turnbuckle.hub.results import may_choose, results_of
from turnbuckle.hub.wiring import NOWHERE, Wiring

LOOP, ITEM, CODE, END, JOIN = "logic.loop", "item", "logic.code", "flow.end", "flow.join"


def endless_cycles(wiring: Wiring) -> Iterator[list[int]]:
    """The components of each such circle, in document order."""
    endless = _endless(wiring)
    onward = {index: [t for t in _targets(wiring, index) if t in endless] for index in endless}
    backward: dict[int, list[int]] = {index: [] for index in endless}
    for index, targets in onward.items():
        for target in targets:
            backward[target].append(index)
    told: set[int] = set()
    for index in sorted(endless):
        if index in told:
            continue
        circle = _reached(onward[index], onward.__getitem__) & _reached(backward[index], backward.__getitem__)
        if index in circle:
            told |= circle
            yield sorted(circle)


def _endless(wiring: Wiring) -> set[int]:
    certain = {component.index: _certain_results(wiring, component.index) for component in wiring.components}
    leaving = [index for index, results in certain.items() if results is None]
    may_end = _may_end(wiring, leaving)
    left = certain.keys() - set(leaving)
    while True:
        gone = {index for index in left if not _stays(wiring, index, certain[index] or (), left, may_end)}
        if not gone:
            return left
        left -= gone


def _certain_results(wiring: Wiring, index: int) -> tuple[str, ...] | None:
    """The results that it has, one of them always; None when it can end its path or the run by itself."""
    component, component_type = wiring.component(index), wiring.type_of(index)
    if component_type is None or component_type.kind != "flow" or component.type == END:
        return None
    if component.type == JOIN and wiring.has_parallel:
        return None  # a branch ends there
    if component.type == LOOP:
        return ("done",)  # there may be no item; an edge back from its `item` path ends the round
    results = results_of(component, component_type)
    if results is None:
        return ("success",) if component.type == CODE and not may_choose(component) else None
    # Without an edge a failure fails the run, which is no way out that anybody meant.
    return tuple(route for route in results if route != FAILURE)


def _stays(wiring: Wiring, index: int, results: tuple[str, ...], endless: set[int], may_end: set[int]) -> bool:
    failed = wiring.targets(index, FAILURE)
    if failed and endless.isdisjoint(failed):
        return False
    followed = [wiring.targets(index, result) for result in results]
    if any(endless.isdisjoint(targets) for targets in followed):
        return False
    # An edge beside the endless one, or a loop's `item` path, may end the whole run first.
    beside = [*wiring.targets(index, ITEM), *(target for targets in followed for target in targets)]
    return all(target in endless or target not in may_end for target in beside)


def _may_end(wiring: Wiring, leaving: list[int]) -> set[int]:
    """Components from which a `flow.end`, choosing code or a fault may be reached."""
    backward: dict[int, list[int]] = {}
    for component in wiring.components:
        for target in wiring.all_targets(component.index):
            backward.setdefault(target, []).append(component.index)
    return _reached([NOWHERE, *leaving], lambda index: backward.get(index, ()))


def _targets(wiring: Wiring, index: int) -> list[int]:
    is_loop = wiring.component(index).type == LOOP
    routes = (route for route in wiring.results_with_edges(index) if not (is_loop and route == ITEM))
    return [target for route in routes for target in wiring.targets(index, route)]


def _reached(start: Iterable[int], onward: Callable[[int], Iterable[int]]) -> set[int]:
    """`start` and all that it leads to."""
    reached = set(start)
    todo = list(reached)
    while todo:
        for index in onward(todo.pop()):
            if index not in reached:
                reached.add(index)
                todo.append(index)
    return reached
