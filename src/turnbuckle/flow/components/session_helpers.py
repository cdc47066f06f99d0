"""The helpers of code that reach the session: which command of the data channel each is (blobhub 5.6)."""

from typing import Any, Final

from turnbuckle.flow.components.session import download_object
from turnbuckle.flow.context import ComponentContext
from turnbuckle.flow.hub_calls import HubRefusal

# helper -> (channel, the names of its positional arguments, the key of the answer that it gives; "": all of it)
_HELPERS: Final[dict[str, tuple[str, tuple[str, ...], str | None]]] = {
    "upload_session_object": ("command", ("alias", "value"), None),
    "delete_session_object": ("command", ("alias",), None),
    "list_session_objects": ("query", (), ""),
    "post_session_thread_item": ("command", ("alias", "content"), "item"),
    "list_session_thread_items": ("query", ("alias",), ""),
    "get_session_thread_item": ("query", ("alias", "item_id"), "item"),
    "apply_session_graph_mutations": ("command", ("alias", "operations"), ""),
    "query_session_graph": ("query", ("alias", "query"), ""),
    "list_session_graph_elements": ("query", ("alias",), ""),
    "get_session_graph_element": ("query", ("alias", "element_id"), "element"),
    "get_session_graph_elements": ("query", ("alias", "element_ids"), ""),
    "list_session_graph_neighbors": ("query", ("alias", "from"), ""),
}
# error code -> the exception that the code can catch
_EXCEPTIONS: Final = {
    "limit_exceeded": "LimitExceeded",
    "invalid_session_object_alias": "InvalidSessionObjectAlias",
    "invalid_thread_envelope": "InvalidThreadEnvelope",
    "invalid_graph_envelope": "InvalidGraphEnvelope",
    "invalid_graph_query": "InvalidGraphQuery",
    "graph_traversal_limit_exceeded": "GraphTraversalLimitExceeded",
    "graph_mutation_conflict": "GraphMutationConflict",
}


async def answer_helper(c: ComponentContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """`{"value"}`, or `{"refused": [exception, message]}`. An object, item or element that is absent is None."""
    try:
        return {"value": await _value(c, name, args, kwargs)}
    except HubRefusal as refusal:
        if refusal.code == "not_found" and name.startswith(("get_", "download_")):
            return {"value": None}
        return {"refused": [_EXCEPTIONS.get(refusal.code, "ValueError"), refusal.message]}


async def _value(c: ComponentContext, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if name == "download_session_object":
        return await download_object(c, *args)
    channel, names, key = _HELPERS[name]
    arguments = dict(zip(names, args, strict=False)) | kwargs
    if channel == "command" and c.is_dry_run:
        c.captured(f"would call {name}", alias=arguments.get("alias"))
        return _DRY.get(name)
    answer = await (c.query if channel == "query" else c.command)(name, **arguments)
    if key is None:
        return None
    shown = {name: value for name, value in answer.items() if name != "status"}
    return shown if key == "" else answer[key]


_DRY: Final[dict[str, Any]] = {
    "post_session_thread_item": {"id": "00000000-0000-0000-0000-000000000000"},
    "apply_session_graph_mutations": {"results": []},
}
