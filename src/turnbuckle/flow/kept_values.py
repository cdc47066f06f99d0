"""Values as they are kept beside an execution: large ones as the blobs that hold them (decision 11)."""

from typing import Any, Final

from turnbuckle.flow.turn_steps import TurnSteps
from turnbuckle.hub.value import size_bytes
from turnbuckle.wire.hub_limits import INLINE_VALUE_BYTES

_BLOB: Final = "turnbuckle.blob"  # the type of what stands for a large value
_TOGETHER_BYTES: Final = 256 * 1024  # of values that go inline in one event
_SMALL_BYTES: Final = 1_024  # what still does when there are many


async def closed(steps: TurnSteps, values: Any) -> dict[str, Any]:
    """The values by their routes, each large one as the blob that holds it (decision 11)."""
    most = INLINE_VALUE_BYTES
    if sum(min(size_bytes(value), most) for value in values.values()) > _TOGETHER_BYTES:
        most = _SMALL_BYTES
    return {route: await _closed(steps, value, most) for route, value in values.items()}


async def _closed(steps: TurnSteps, value: Any, most: int) -> Any:
    if value is None or size_bytes(value) <= most:
        return value
    return {"type": _BLOB, "blob": await steps.keep(value), "of": value.get("type")}


async def opened(steps: TurnSteps, kept: dict[str, Any]) -> dict[str, Any]:
    """Kept data with the outputs as they were."""
    outputs = {route: await _opened(steps, value) for route, value in (kept.get("outputs") or {}).items()}
    return {**kept, "outputs": outputs}


async def _opened(steps: TurnSteps, value: Any) -> Any:
    is_blob = isinstance(value, dict) and value.get("type") == _BLOB
    return await steps.fetch(value["blob"]) if is_blob else value
