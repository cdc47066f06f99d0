"""The hub's request bodies are closed, and its error table has the statuses that clients choose exceptions by."""

import json
from typing import Any

import msgspec
import pytest

from turnbuckle.wire.hub_channel import COMMANDS, SCHEDULER_BLOB, WORKFLOW_BLOB
from turnbuckle.wire.hub_errors import HUB_ERRORS, HubRefused, failure_body
from turnbuckle.wire.hub_execution import HubCreateExecutionRequest
from turnbuckle.wire.hub_session import HubCreateSessionRequest, HubListSessionsRequest

ALL = [
    (name, kind) for channels in COMMANDS.values() for commands in channels.values() for name, kind in commands.items()
]
EXECUTE: dict[str, Any] = {"command": "create_execution", "target": {"session": "s"}, "workflow": {"definition": "d"}}


def decode(kind: Any, body: Any) -> Any:
    return msgspec.json.decode(json.dumps(body), type=kind)


def optional(kind: Any) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(kind) if not field.required]


@pytest.mark.parametrize(("name", "kind"), ALL)
def test_a_key_nobody_knows_is_refused(name: str, kind: Any) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"unknown field `colour`|required field"):
        decode(kind, {"command": name, "colour": 1})


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for _, kind in ALL for key in optional(kind)])
def test_no_optional_key_may_be_null(kind: Any, key: str) -> None:
    """An absent argument is left out; null is a 400 (blobhub 2.1)."""
    annotation = next(f.type for f in msgspec.structs.fields(kind) if f.encode_name == key)

    with pytest.raises(msgspec.ValidationError, match="got `null`"):
        msgspec.convert(None, annotation)


def test_the_body_of_one_command_is_no_other_command() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(HubCreateSessionRequest, {"command": "get_session"})


def test_a_command_is_a_query_or_a_command_never_both() -> None:
    for channels in COMMANDS.values():
        assert not set(channels["query"]) & set(channels["command"])
    assert "list_executions" in COMMANDS[WORKFLOW_BLOB]["query"].keys() & COMMANDS[SCHEDULER_BLOB]["query"].keys()


def test_the_older_engine_key_is_taken_and_ignored() -> None:
    assert decode(HubCreateSessionRequest, {"command": "create_session", "engine": "workflow_blobhub"})


def test_ten_rows_when_the_limit_is_left_out() -> None:
    assert decode(HubListSessionsRequest, {"command": "list_sessions"}).rows == 10
    assert decode(HubListSessionsRequest, {"command": "list_sessions", "limit": 1000}).rows == 1000


@pytest.mark.parametrize(
    "change",
    [
        {"input_data": None},
        {"input_data": [{"alias": "a"}]},
        {"input_data": [{"alias": 1, "value": {}}]},
        {"input_data": {"a": {}}},
        {"target": {"session": ""}},
        {"target": {"session": "s", "org": "o"}},
        {"workflow": {}},
        {"workflow": {"definition": " "}},
        {"workflow": {"definition": "d" * 65}},
        {"workflow": {"definition": "d", "revision": None}},
        {"workflow": {"definition": "d", "name": "n"}},
        {"pause_before": [1]},
        {"dry_run": "yes"},
    ],
)
def test_a_malformed_execution_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(HubCreateExecutionRequest, EXECUTE | change)


def test_input_values_keep_their_bytes() -> None:
    body = json.dumps(EXECUTE)[:-1] + ', "input_data": [{"alias": "a", "value": {"type":"float","float":1.10}}]}'

    made = msgspec.json.decode(body, type=HubCreateExecutionRequest)

    assert bytes(made.input_data[0].value) == b'{"type":"float","float":1.10}'  # type: ignore[index]


def test_statuses_lead_clients_to_the_documented_exceptions() -> None:
    """400 is CommandError, 403 PermissionDenied, 404 NotFound, 409 Conflict (blobhub 4.11, 9.1)."""
    expected = {
        400: "alias_in_use limit_exceeded invalid_definition_category invalid_execution_status invalid_request_body",
        403: "access_denied",
        404: "revision_not_found not_found",
        409: "session_not_open revision_not_writable revision_not_ready graph_mutation_conflict",
    }

    wrong = [code for status, codes in expected.items() for code in codes.split() if HUB_ERRORS[code].status != status]

    assert wrong == []


def test_a_refusal_tells_its_limit() -> None:
    limit = {"id": "workflow.executions_per_session", "value": 3, "held": 3}

    assert failure_body(HubRefused("limit_exceeded", "full", limit=limit)) == {
        "status": "failure",
        "error": "limit_exceeded",
        "message": "full",
        "limit": limit,
    }
