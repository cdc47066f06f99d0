"""What the data components of a run hold at its end: kept for readers and for the run that started it (blobhub 5.4)."""

from typing import Any, Final

from turnbuckle.hub.data_flow import alias_of, persistence_of
from turnbuckle.hub.walk import Walk

END_KEY: Final = "end"  # the component key under which they are kept


def final_values(walk: Walk) -> dict[str, Any]:
    """Alias -> value for persistence `execution`; of two with one alias the one written last."""
    held = [
        (walk.at.data[component.index], alias)
        for component in walk.wiring.components
        if component.is_data and persistence_of(component) == "execution" and component.index in walk.at.data
        if (alias := alias_of(component)) is not None
    ]
    return {alias: one.value for one, alias in sorted(held, key=lambda pair: pair[0].at)}
