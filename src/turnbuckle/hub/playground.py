"""Playground documents: screens of widgets with a layout that is fixed when the definition is made (blobhub 5.9)."""

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from turnbuckle.wire.hub_errors import HubRefused

FREE_FORM: Final = {"type": "free_form"}
_COLUMNS: Final = (1, 1_000)
_SIDES: Final = ("x", "y", "w", "h")


def check_layout(layout: Mapping[str, Any]) -> dict[str, Any]:
    """The layout as it is kept. HubRefused(invalid_layout) unless free_form, or a grid with its columns."""
    if layout.get("type") == "free_form" and set(layout) == {"type"}:
        return dict(FREE_FORM)
    columns = layout.get("columns")
    if layout.get("type") == "grid" and set(layout) == {"type", "columns"} and _is_whole(columns, *_COLUMNS):
        return {"type": "grid", "columns": columns}
    raise HubRefused(
        "invalid_layout", 'layout: expected {"type": "free_form"} or {"type": "grid", "columns": 1 to 1000}'
    )


def check_document(document: Any, layout: Mapping[str, Any]) -> None:
    """At upload. HubRefused(invalid_layout) when it is another than `layout`, (invalid_component_position) in it."""
    named = document.get("layout") if isinstance(document, Mapping) else None
    if (FREE_FORM if named is None else named) != layout:
        raise HubRefused("invalid_layout", f"layout: got {named!r}, expected {dict(layout)!r}"[:500])
    if layout["type"] == "grid":
        _check_grid(document.get("components"), layout["columns"])


def _check_grid(components: Any, columns: int) -> None:
    taken: list[tuple[str, tuple[int, int, int, int]]] = []
    for component in components if isinstance(components, list) else []:
        name = str(component.get("id")) if isinstance(component, Mapping) else "?"
        box = _box(component, name)
        if box[0] + box[2] > columns:
            raise _refused(name, f"ends at column {box[0] + box[2]}, the grid has {columns}")
        for other, cells in taken:
            if _overlap(box, cells):
                raise _refused(name, f"lies over {other!r}")
        taken.append((name, box))


def _box(component: Any, name: str) -> tuple[int, int, int, int]:
    position = component.get("position") if isinstance(component, Mapping) else None
    x, y, w, h = (position.get(side) if isinstance(position, Mapping) else None for side in _SIDES)
    if _is_whole(x, 0) and _is_whole(y, 0) and _is_whole(w, 1) and _is_whole(h, 1):
        return x, y, w, h
    raise _refused(name, "expected position {x, y, w, h} in whole cells")


def _overlap(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> bool:
    return all(one[i] < other[i] + other[i + 2] and other[i] < one[i] + one[i + 2] for i in (0, 1))


def _is_whole(number: Any, least: int, most: int = 10**6) -> TypeGuard[int]:
    return isinstance(number, int) and not isinstance(number, bool) and least <= number <= most


def _refused(name: str, what: str) -> HubRefused:
    return HubRefused("invalid_component_position", f"component {name!r}: {what}"[:500])
