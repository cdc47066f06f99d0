"""Triggered workflows: which handler gets which message, and what it may return (lbb-graph 5.4, 5.7)."""

from collections.abc import Iterable
from typing import Any

import pytest

from lbb import models
from lbb.workflows import (
    TRIGGER_MESSAGE_TYPE,
    TriggeredWorkflowDefinition,
    WorkflowError,
    WorkflowResult,
    parse_trigger_message,
    triggered_workflow,
    triggered_workflow_state,
)
from tests.unit.workflow_server import Engine, Json, ended, failure, make_task, run_turn

INSTANCES = {
    "type": "instances",
    "workflow": "notes",
    "graph": "main",
    "as_of_commit_seq": 4,
    "reason": "changed",
    "instances": ["e/1", "e/2"],
    "removed": [],
}
SCHEDULE = {
    "type": "schedule",
    "workflow": "notes",
    "trigger": "nightly",
    "graph": "main",
    "due_at": 5,
    "previous_due_at": None,
    "missed": 0,
    "since_commit_seq": 1,
    "as_of_commit_seq": 2,
    "changed": True,
    "manual": False,
}
EVENTS = {
    "type": "events",
    "workflow": "notes",
    "trigger": "clicks",
    "graph": "main",
    "shard": 0,
    "blob": "b" * 64,
    "count": 2,
    "bytes": 9,
    "first_received_at": 1,
    "last_received_at": 2,
}
REVIEWED = {"type": "review.answered", "workflow": "notes", "review_item": {"id": "rev_1"}}
BLOBS = "/v1/workflows/blobs"


def task_of(message: Json, identity: str = "starter.notes", state: Json = None) -> Json:
    return make_task(turn={"workflow_id": identity, "message": message}, state={} if state is None else state)


class Seen:
    """Handlers that keep what they got, and return `answer`."""

    def __init__(self, answer: Any = None) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._answer = answer

    def handler(self, name: str) -> Any:
        async def handle(ctx: Any, *args: Any) -> Any:
            self.calls.append((name, *args))
            return self._answer

        return handle

    def definition(self, names: Iterable[str] = ("instances", "fan_in", "schedule", "events", "review")) -> Any:
        handlers = {f"on_{name}": self.handler(name) for name in names}
        return TriggeredWorkflowDefinition("job", "v1", {"n": 0}, **handlers)

    @property
    def call(self) -> tuple[Any, ...]:
        (call,) = self.calls
        return call


async def test_an_instances_message_comes_parsed_and_before_the_state() -> None:
    seen = Seen()

    await run_turn(seen.definition(), task_of(INSTANCES, state={"m": 1}))

    name, message, state = seen.call
    assert name == "instances"
    assert isinstance(message, models.WorkflowTriggerMessage)
    assert (message.instances, message.as_of_commit_seq, message.graph) == (["e/1", "e/2"], 4, "main")
    assert state == {"n": 0, "m": 1}


@pytest.mark.parametrize(
    ("message", "name", "model"),
    [
        (SCHEDULE, "schedule", models.WorkflowScheduleMessage),
        (REVIEWED, "review", dict),
        (INSTANCES, "instances", models.WorkflowTriggerMessage),
    ],
)
async def test_each_kind_of_message_has_its_handler(message: Json, name: str, model: type) -> None:
    seen = Seen()

    engine = await run_turn(seen.definition(), task_of(message))

    assert seen.call[0] == name
    assert isinstance(seen.call[1], model)
    assert ended(engine)["state"] == {"n": 0}


async def test_the_events_handler_gets_the_events_of_the_blob_first() -> None:
    seen, engine = Seen(), Engine()
    engine.answer(BLOBS, [{"id": "1"}, {"id": "2"}])

    await run_turn(seen.definition(), task_of(EVENTS), engine=engine)

    name, events, message, state = seen.call
    assert (name, events, state) == ("events", [{"id": "1"}, {"id": "2"}], {"n": 0})
    assert isinstance(message, models.WorkflowEventsMessage)
    assert engine.sent[1].params["key"] == "b" * 64


async def test_a_blob_that_is_no_list_of_events_fails_the_turn_for_good() -> None:
    engine = Engine()
    engine.answer(BLOBS, {"id": "1"})

    await run_turn(Seen().definition(), task_of(EVENTS), engine=engine)

    assert "no list of events" in failure(engine, is_permanent=True)


@pytest.mark.parametrize("message", [INSTANCES, SCHEDULE, "anything", None])
async def test_a_fan_in_instance_hands_every_message_on_unchecked(message: Json) -> None:
    seen = Seen()

    await run_turn(seen.definition(), task_of(message, identity="starter.notes.sum"))

    assert seen.call == ("fan_in", message, {"n": 0})


async def test_a_shard_is_no_fan_in() -> None:
    seen = Seen()

    await run_turn(seen.definition(), task_of(INSTANCES, identity="starter.notes.2"))

    assert seen.call[0] == "instances"


@pytest.mark.parametrize(
    ("message", "identity", "needed"),
    [
        (INSTANCES, "starter.notes", "on_instances"),
        (SCHEDULE, "starter.notes", "on_schedule"),
        (EVENTS, "starter.notes", "on_events"),
        (REVIEWED, "starter.notes", "on_review"),
        (INSTANCES, "starter.notes.sum", "on_fan_in"),
    ],
)
async def test_a_message_without_its_handler_fails_the_turn_for_good(message: Json, identity: str, needed: str) -> None:
    engine = await run_turn(Seen().definition(()), task_of(message, identity))

    assert needed in failure(engine, is_permanent=True)
    assert BLOBS not in engine.routes()


@pytest.mark.parametrize(
    "message",
    [
        None,
        "text",
        {"type": "other"},
        {**INSTANCES, "instances": "e/1"},
        {**INSTANCES, "instances": [1]},
        {**INSTANCES, "as_of_commit_seq": -1},
        {**INSTANCES, "as_of_commit_seq": "4"},
        {name: value for name, value in INSTANCES.items() if name != "graph"},
        {**SCHEDULE, "due_at": "soon"},
        {**EVENTS, "blob": None},
    ],
)
async def test_a_message_that_does_not_parse_fails_the_turn_for_good(message: Json) -> None:
    seen = Seen()

    engine = await run_turn(seen.definition(), task_of(message))

    assert "message" in failure(engine, is_permanent=True)
    assert seen.calls == []


async def test_none_keeps_the_state_over_the_initial_one() -> None:
    engine = await run_turn(Seen(None).definition(), task_of(INSTANCES, state={"m": 1}))

    assert ended(engine)["state"] == {"n": 0, "m": 1}


async def test_a_result_is_saved_as_that_of_any_workflow() -> None:
    engine = await run_turn(Seen({"state": {"n": 5}, "result": "r"}).definition(), task_of(INSTANCES))

    assert (ended(engine)["state"], ended(engine)["result"]) == ({"n": 5}, "r")


async def test_on_instances_may_go_on_with_a_trigger_message() -> None:
    rest = {**INSTANCES, "instances": ["e/2"]}
    engine = await run_turn(Seen(WorkflowResult(1, continuation={"message": rest})).definition(), task_of(INSTANCES))

    assert ended(engine)["continuation"] == {"message": rest}


async def test_on_instances_may_not_go_on_with_another_message() -> None:
    going_on = WorkflowResult(1, continuation={"message": {"pages": []}})
    engine = await run_turn(Seen(going_on).definition(), task_of(INSTANCES))

    assert "continuation" in failure(engine, is_permanent=True)


@pytest.mark.parametrize(
    ("message", "identity"),
    [
        (SCHEDULE, "starter.notes"),
        (EVENTS, "starter.notes"),
        (REVIEWED, "starter.notes"),
        ("any", "starter.notes.sum"),
    ],
)
async def test_the_other_handlers_may_not_go_on(message: Json, identity: str) -> None:
    """It would be dropped in silence, or come back as a message the trigger never sent."""
    engine = Engine()
    engine.answer(BLOBS, [])
    going_on = WorkflowResult(1, continuation={"message": INSTANCES})

    await run_turn(Seen(going_on).definition(), task_of(message, identity), engine=engine)

    assert "continuation" in failure(engine, is_permanent=True)


async def test_a_handler_that_is_not_async_fails_the_turn_for_good() -> None:
    definition = TriggeredWorkflowDefinition("job", "v1", on_instances=lambda ctx, message, state: None)  # type: ignore[arg-type,return-value]

    engine = await run_turn(definition, task_of(INSTANCES))

    assert "async" in failure(engine, is_permanent=True)


# Definitions


async def handle(ctx: Any, message: Any, state: Any) -> None:
    return None


def test_it_decorates_the_handler_of_instances() -> None:
    defined = triggered_workflow(name="word-count", version="v1")(handle)

    assert isinstance(defined, TriggeredWorkflowDefinition)
    assert (defined.name, defined.version, defined.initial_state) == ("word-count", "v1", {})


@pytest.mark.parametrize("given", ["on_instances", "on_fan_in", "on_schedule", "on_events", "on_review"])
def test_a_handler_that_is_surely_not_async_is_refused_at_once(given: str) -> None:
    def no_coroutine(*args: Any) -> Any:
        return None

    with pytest.raises(WorkflowError, match=f'the {given} handler of workflow "a" must be an async function'):
        TriggeredWorkflowDefinition("a", "v1", **{given: no_coroutine})


@pytest.mark.parametrize("given", ["on_fan_in", "on_schedule", "on_events", "on_review"])
def test_such_a_handler_is_refused_also_when_it_is_registered_afterwards(given: str) -> None:
    with pytest.raises(WorkflowError, match=f"the {given} handler"):
        getattr(triggered_workflow(name="a", version="v1")(handle), given)(test_it_decorates_the_handler_of_instances)


def test_a_handler_that_takes_other_arguments_is_refused_at_once() -> None:
    with pytest.raises(WorkflowError, match=r"on_events handler .* called with \(ctx, events, message, state\)"):
        triggered_workflow(name="a", version="v1", on_events=handle)


@pytest.mark.parametrize("given", ["on_instances", "on_schedule", "on_events"])
def test_with_a_main_handler_it_gives_the_definition(given: str) -> None:
    async def handle_any(*args: Any) -> None:
        return None

    handlers: dict[str, Any] = {given: handle_any}

    assert isinstance(triggered_workflow(name="a", version="v1", **handlers), TriggeredWorkflowDefinition)


@pytest.mark.parametrize("given", ["on_fan_in", "on_review"])
def test_with_a_handler_beside_the_main_one_it_still_decorates(given: str) -> None:
    handlers: dict[str, Any] = {given: handle}

    assert isinstance(triggered_workflow(name="a", version="v1", **handlers)(handle), TriggeredWorkflowDefinition)


@pytest.mark.parametrize(
    ("name", "message", "identity"),
    [
        ("on_fan_in", "any", "starter.notes.sum"),
        ("on_schedule", SCHEDULE, "starter.notes"),
        ("on_review", REVIEWED, "starter.notes"),
    ],
)
async def test_handlers_are_registered_afterwards_and_given_back(name: str, message: Json, identity: str) -> None:
    seen, definition = Seen(), triggered_workflow(name="job", version="v1")(handle)
    handler = seen.handler(name)

    assert getattr(definition, name)(handler) is handler
    await run_turn(definition, task_of(message, identity))

    assert seen.call[0] == name


async def test_the_events_handler_is_registered_afterwards() -> None:
    seen, engine = Seen(), Engine()
    engine.answer(BLOBS, [])
    definition = triggered_workflow(name="job", version="v1")(handle)
    definition.on_events(seen.handler("events"))

    await run_turn(definition, task_of(EVENTS), engine=engine)

    assert seen.call[:2] == ("events", [])


# State and message


@pytest.mark.parametrize(
    ("initial", "saved", "state"),
    [
        ({"a": 1}, None, {"a": 1}),
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, {"a": 1, "b": 3, "c": 4}),
        ({"a": 1}, [], []),
        ({"a": 1}, 0, 0),
        ([1], {"a": 1}, {"a": 1}),
        (5, None, 5),
    ],
)
def test_the_saved_state_wins_over_the_initial_one(initial: Json, saved: Json, state: Json) -> None:
    assert triggered_workflow_state(initial, saved) == state


@pytest.mark.parametrize("saved", [None, {"b": 1}])
def test_the_initial_state_is_not_shared(saved: Json) -> None:
    initial: dict[str, Any] = {"rows": []}
    triggered_workflow_state(initial, saved)["rows"].append(1)

    assert initial == {"rows": []}


def test_a_message_without_removed_and_with_the_old_name_of_its_workflow_is_read() -> None:
    old = {name: value for name, value in INSTANCES.items() if name not in ("removed", "workflow")}

    message = parse_trigger_message({**old, "starter": "notes", "reason": "unheard-of", "origin": {"kind": "commit"}})

    assert (message.removed, message.workflow, message.reason) == ([], "notes", "unheard-of")
    assert message.origin is not None
    assert message.origin.kind == "commit"


def test_a_parsed_message_is_given_back() -> None:
    message = parse_trigger_message(INSTANCES)

    assert parse_trigger_message(message) is message
    assert TRIGGER_MESSAGE_TYPE == message.type == "instances"


def test_a_refusal_names_the_place() -> None:
    with pytest.raises(WorkflowError, match=r"^the third message is no"):
        parse_trigger_message({**INSTANCES, "reason": 5}, "the third message")
