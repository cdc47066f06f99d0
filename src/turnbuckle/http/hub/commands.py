"""The data channel: one row for each query and command (blobhub 3). Dispatch, docs and tests loop over it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from turnbuckle.operations import (
    hub_check,
    hub_definition,
    hub_execution,
    hub_graph,
    hub_object,
    hub_schedule,
    hub_session,
    hub_thread,
)
from turnbuckle.wire.hub_base import HubChannelRequest
from turnbuckle.wire.hub_channel import COMMANDS, SCHEDULER_BLOB, WORKFLOW_BLOB, Channel


@dataclass(frozen=True)
class Command:
    """One query or command. `run` gets (transaction, place, request), and the bytes that came where it takes some."""

    name: str
    channel: Channel
    blob_type: str
    request: type[HubChannelRequest]
    run: Callable[..., Any]  # its answer's keys; with bytes: (keys, bytes)
    takes_bytes: bool = False
    gives_bytes: bool = False


_RUNS: dict[str, dict[str, Callable[..., Any]]] = {
    WORKFLOW_BLOB: {
        "list_definitions": hub_definition.list_all,
        "create_definition": hub_definition.create,
        "upload_definition": hub_definition.upload,
        "download_definition": hub_definition.download,
        "delete_definition": hub_definition.delete,
        "check_definition": hub_check.check,
        "create_session": hub_session.create,
        "get_session": hub_session.get,
        "list_sessions": hub_session.list_page,
        "update_session": hub_session.update,
        "close_session": hub_session.close,
        "open_session": hub_session.reopen,
        "delete_session": hub_session.delete,
        "list_session_events": hub_session.list_events,
        "create_execution": hub_execution.create,
        "get_execution": hub_execution.get,
        "list_executions": hub_execution.list_page,
        "stop_execution": hub_execution.stop,
        "fork_execution": hub_execution.fork,
        "continue_execution": hub_execution.go_on,
        "list_execution_events": hub_execution.list_events,
        "get_execution_data": hub_execution.get_data,
        "get_execution_definition": hub_execution.get_definition,
        "upload_session_object": hub_object.upload,
        "download_session_object": hub_object.download,
        "list_session_objects": hub_object.list_page,
        "delete_session_object": hub_object.delete,
        "upload_session_file": hub_object.upload_file,
        "download_session_file": hub_object.download_file,
        "post_session_thread_item": hub_thread.post,
        "list_session_thread_items": hub_thread.list_page,
        "get_session_thread_item": hub_thread.get,
        "apply_session_graph_mutations": hub_graph.apply,
        "query_session_graph": hub_graph.query,
        "list_session_graph_elements": hub_graph.list_elements,
        "get_session_graph_element": hub_graph.get_element,
        "get_session_graph_elements": hub_graph.get_elements,
        "list_session_graph_neighbors": hub_graph.list_neighbors,
    },
    SCHEDULER_BLOB: {
        "create_schedule": hub_schedule.create,
        "update_schedule": hub_schedule.update,
        "delete_schedule": hub_schedule.delete,
        "get_schedule": hub_schedule.get,
        "list_schedules": hub_schedule.list_page,
        "list_executions": hub_schedule.list_executions,
    },
}
_TAKES_BYTES = {"upload_session_file"}
_GIVES_BYTES = {"download_session_file"}

TABLE: tuple[Command, ...] = tuple(
    Command(name, channel, blob_type, request, _RUNS[blob_type][name], name in _TAKES_BYTES, name in _GIVES_BYTES)
    for blob_type, channels in COMMANDS.items()
    for channel, requests in channels.items()
    for name, request in requests.items()
    if name in _RUNS.get(blob_type, {})
)
_BY_NAME = {(command.blob_type, command.channel, command.name): command for command in TABLE}


def find(blob_type: str, channel: Channel, name: str) -> Command | None:
    return _BY_NAME.get((blob_type, channel, name))
