"""Values as they are kept beside an execution: large ones as the blobs that hold them (decision 11)."""

from typing import Any, Final

from turnbuckle.flow.turn_steps import TurnSteps
from turnbuckle.hub.value import size_bytes
from turnbuckle.wire.hub_limits import INLINE_VALUE_BYTES

_BLOB: Final = "turnbuckle.blob"  # the type of what stands for a large value


async def closed(steps: TurnSteps, values: Any) -> dict[str, Any]:
    """The values by their routes, each large one as the blob that holds it (decision 11)."""
    return {route: await _closed(steps, value) for route, value in values.items()}


async def _closed(steps: TurnSteps, value: Any) -> Any:
    if value is None or size_bytes(value) <= INLINE_VALUE_BYTES:
        return value
    return {"type": _BLOB, "blob": await steps.keep(value), "of": value.get("type")}


async def opened(steps: TurnSteps, kept: dict[str, Any]) -> dict[str, Any]:
    """Kept data with the outputs as they were."""
    outputs = {route: await _opened(steps, value) for route, value in (kept.get("outputs") or {}).items()}
    return {**kept, "outputs": outputs}


async def _opened(steps: TurnSteps, value: Any) -> Any:
    is_blob = isinstance(value, dict) and value.get("type") == _BLOB
    return await steps.fetch(value["blob"]) if is_blob else value
