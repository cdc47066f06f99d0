"""Definitions, identities and the public names (lbb-engine 8.1)."""

import functools
from collections.abc import AsyncIterator
from typing import Any

import pytest

import lbb.workflows
from lbb.workflows import (
    WorkflowDefinition,
    WorkflowError,
    WorkflowResult,
    WorkflowSignalResult,
    WorkflowTurnFailed,
    WorkflowWait,
    fan_in_identity,
    is_fan_in_identity,
    triggered_workflow,
    workflow,
    workflow_of_identity,
)

ENGINE_NAMES = {
    "workflow",
    "WorkflowDefinition",
    "WorkflowResult",
    "WorkflowSignalResult",
    "WorkflowContext",
    "WorkflowStepContext",
    "WorkflowError",
    "WorkflowWait",
    "WorkflowWorker",
    "WorkflowHandle",
    "WorkflowNamespace",
    "WorkflowBlobsNamespace",
    "workflow_of_identity",
    "fan_in_identity",
    "is_fan_in_identity",
}
NEIGHBOURS = {
    "ActivityCapture", "ActivityCaptureResult", "CapturedReview", "CapturedWrite", "ENTITY_ID_KEY_SENTINEL",
    "ENTITY_IRI_NAMESPACE", "FailedInstance", "LbbActivities", "OwnedWrite", "OwnedWriteResult", "ReviewWaitResult",
    "TRIGGER_MESSAGE_TYPE", "TriggeredWorkflowDefinition", "capture_activities", "entity_id_from_iri", "entity_ref",
    "is_activity_refused", "lbb_activities", "owned_commit_body", "parse_trigger_message", "requeue_failed",
    "split_in_halves", "triggered_workflow", "triggered_workflow_state", "write_owned",
}  # fmt: skip
OURS = {"WorkflowTurnFailed"}


async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
    return WorkflowResult(state=[state, message])


def sync_handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
    return WorkflowResult(state=state)


async def yielding_handler(ctx: Any, state: Any, message: Any) -> AsyncIterator[int]:
    yield 1


async def short_handler(state: Any, message: Any) -> WorkflowResult[Any]:
    return WorkflowResult(state=state)


@functools.wraps(handler)
def wrapped_handler(ctx: Any, state: Any, message: Any) -> Any:
    return handler(ctx, state, message)


def test_the_package_exports_the_protocols_forty_names_and_ours() -> None:
    assert len(ENGINE_NAMES | NEIGHBOURS) == 40
    assert set(lbb.workflows.__all__) == ENGINE_NAMES | NEIGHBOURS | OURS
    assert all(hasattr(lbb.workflows, name) for name in lbb.workflows.__all__)


def test_workflow_is_a_decorator() -> None:
    defined = workflow(name="counter", version="v1", initial_state={"count": 0})(handler)

    assert isinstance(defined, WorkflowDefinition)
    assert (defined.name, defined.version, defined.initial_state) == ("counter", "v1", {"count": 0})


@pytest.mark.parametrize("decorator", [workflow, triggered_workflow])
def test_a_decorator_without_its_arguments_says_which_are_missing(decorator: Any) -> None:
    with pytest.raises(TypeError, match=r"missing \d required keyword-only arguments: 'name'"):
        decorator(handler)


@pytest.mark.parametrize("decorator", [workflow, triggered_workflow])
def test_a_handler_by_position_is_refused(decorator: Any) -> None:
    with pytest.raises(TypeError, match=r"takes names: `@\w*workflow\(name="):
        decorator(handler, name="a", version="v1", **({"initial_state": None} if decorator is workflow else {}))


@pytest.mark.parametrize("on_message", [wrapped_handler, functools.partial(handler), lambda c, s, m: handler(c, s, m)])
async def test_what_gives_an_awaitable_is_a_handler(on_message: Any) -> None:
    ctx: Any = None

    assert (await WorkflowDefinition("a", "v1", None, on_message).execute(ctx, 1, 2)).state == [1, 2]


async def test_workflow_with_on_message_gives_the_definition() -> None:
    defined = workflow(name="counter", version="v1", initial_state=None, on_message=handler)
    ctx: Any = None

    assert (await defined.execute(ctx, 1, 2)).state == [1, 2]


def test_the_initial_state_is_a_deep_copy() -> None:
    state: dict[str, Any] = {"rows": (1, 2)}
    defined = WorkflowDefinition("a", "v1", state, handler)
    state["rows"] = ()

    assert defined.initial_state == {"rows": [1, 2]}


@pytest.mark.parametrize(
    ("name", "version", "state", "on_message", "says"),
    [
        ("", "v1", None, handler, "name is 1 to 128 of"),
        (None, "v1", None, handler, "name is 1 to 128 of"),
        ("my boxes", "v1", None, handler, "not 'my boxes'"),
        ("x" * 129, "v1", None, handler, "name is 1 to 128 of"),
        ("a", "", None, handler, "version is 1 to 128 of"),
        ("a", 1, None, handler, "version is 1 to 128 of"),
        ("a", "v1\n", None, handler, "version is 1 to 128 of"),
        ("a", "v1", {"a": {1}}, handler, "initial_state.a is of type set"),
        ("a", "v1", None, "no function", "is a str, no function"),
        ("a", "v1", None, sync_handler, 'workflow "a" must be an async function: write `async def sync_handler`'),
        ("a", "v1", None, yielding_handler, "must be an async function"),
        (
            "a",
            "v1",
            None,
            short_handler,
            r"is called with \(ctx, state, message\), and it takes \(state: Any, message: Any\)",
        ),
    ],
)
def test_a_definition_that_cannot_work_is_refused(
    name: Any, version: Any, state: Any, on_message: Any, says: str
) -> None:
    with pytest.raises(WorkflowError, match=says):
        WorkflowDefinition(name, version, state, on_message)


def test_results_are_frozen_with_defaults() -> None:
    result = WorkflowResult(state=1)

    assert (result.result, result.continuation) == (None, None)
    for frozen, field in ((result, "state"), (WorkflowSignalResult(True, 1), "value")):
        with pytest.raises(AttributeError):
            setattr(frozen, field, 2)


def test_only_suspension_and_stop_are_base_exceptions() -> None:
    from lbb.workflows.errors import Suspended, TurnStopped

    assert all(issubclass(error, Exception) for error in (WorkflowError, WorkflowWait, WorkflowTurnFailed))
    assert not any(issubclass(error, Exception) for error in (Suspended, TurnStopped))


def test_a_wait_has_a_short_default_text() -> None:
    assert str(WorkflowWait(5)) == "the turn waits"
    assert WorkflowWait(5, message="later").args == ("later",)


@pytest.mark.parametrize(
    ("identity", "name", "is_fan_in"),
    [
        ("starter.notes", "notes", False),
        ("starter.notes.1", "notes", False),
        ("starter.notes.27", "notes", False),
        ("starter.notes.sum", "notes", True),
        ("starter.notes.a-1" + "x" * 28, "notes", True),
        ("starter.notes.a-1" + "x" * 29, None, False),
        ("starter.notes.0", None, False),
        ("starter.notes.01", None, False),
        ("starter.notes.Sum", None, False),
        ("starter.notes.sum.1", None, False),
        ("starter.", None, False),
        ("starter", None, False),
        ("my.starter.notes", None, False),
        ("notes", None, False),
        ("starter.notes.sum\n", None, False),
    ],
)
def test_the_workflow_of_an_identity(identity: str, name: str | None, is_fan_in: bool) -> None:
    assert workflow_of_identity(identity) == name
    assert is_fan_in_identity(identity) is is_fan_in


def test_a_fan_in_identity_is_made_of_the_name_and_the_word() -> None:
    assert fan_in_identity("notes", "sum-2") == "starter.notes.sum-2"


@pytest.mark.parametrize("word", ["", "Sum", "1a", "a_b", "a" * 32, "a.b", "ä"])
def test_a_fan_in_word_that_is_none_is_a_value_error(word: str) -> None:
    with pytest.raises(ValueError, match="fan_in must be a lower-case letter"):
        fan_in_identity("notes", word)
