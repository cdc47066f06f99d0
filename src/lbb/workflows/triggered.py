"""A workflow that a trigger sends messages to: changed instances, slots, events, answers (lbb-graph 5.4, 5.7)."""

import copy
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, overload

from lbb import models
from lbb.workflows.context import WorkflowContext
from lbb.workflows.definition import WorkflowDefinition, WorkflowResult, accepted, check_handler, refuse_bare
from lbb.workflows.errors import WorkflowError
from lbb.workflows.identity import is_fan_in_identity
from lbb.workflows.trigger_message import (
    EVENTS_MESSAGE_TYPE,
    REVIEW_MESSAGE_TYPE,
    SCHEDULE_MESSAGE_TYPE,
    message_type,
    parse_message,
    parse_trigger_message,
)

Handler = Callable[..., Awaitable[Any]]  # (ctx, message, state), for events (ctx, events, message, state)
Registered = Callable[[Handler], Handler]


class TriggeredWorkflowDefinition(WorkflowDefinition):
    """Its handlers get `(ctx, message, state)`, message before state, and may return None to keep the state.

    The state is `initial_state` with what was saved over it. A message without its handler fails the turn for good.
    """

    def __init__(
        self,
        name: str,
        version: str,
        initial_state: Any = None,
        *,
        on_instances: Handler | None = None,
        on_fan_in: Handler | None = None,
        on_schedule: Handler | None = None,
        on_events: Handler | None = None,
        on_review: Handler | None = None,
    ) -> None:
        super().__init__(name, version, {} if initial_state is None else initial_state, self._dispatch)
        self._on_instances = self._checked("on_instances", on_instances)
        self._on_fan_in = self._checked("on_fan_in", on_fan_in)
        self._on_schedule = self._checked("on_schedule", on_schedule)
        self._on_events = self._checked("on_events", on_events)
        self._on_review = self._checked("on_review", on_review)

    def on_fan_in(self, handler: Handler) -> Handler:
        """Register `async (ctx, message, state)` for messages to the fan-in instance; they are not checked."""
        self._on_fan_in = self._checked("on_fan_in", handler)
        return handler

    def on_schedule(self, handler: Handler) -> Handler:
        """Register `async (ctx, message, state)` for the slots of a schedule."""
        self._on_schedule = self._checked("on_schedule", handler)
        return handler

    def on_events(self, handler: Handler) -> Handler:
        """Register `async (ctx, events, message, state)` for a stream's batches; `events` is their list."""
        self._on_events = self._checked("on_events", handler)
        return handler

    def on_review(self, handler: Handler) -> Handler:
        """Register `async (ctx, message, state)` for a person's answers (ours); the message is a mapping."""
        self._on_review = self._checked("on_review", handler)
        return handler

    def _checked(self, name: str, handler: Handler | None) -> Handler | None:
        if handler is not None:
            takes = ("ctx", "events", "message", "state") if name == "on_events" else ("ctx", "message", "state")
            check_handler(handler, f'the {name} handler of workflow "{self.name}"', takes)
        return handler

    async def _dispatch(self, ctx: WorkflowContext, saved: Any, message: Any) -> WorkflowResult[Any]:
        state = triggered_workflow_state(self.initial_state, saved)
        if is_fan_in_identity(ctx.workflow_id):
            return await self._run("on_fan_in", self._on_fan_in, state, ctx, message, state)
        kind = message_type(message)
        if kind == SCHEDULE_MESSAGE_TYPE:
            slot = parse_message(models.WorkflowScheduleMessage, message, "message")
            return await self._run("on_schedule", self._on_schedule, state, ctx, slot, state)
        if kind == EVENTS_MESSAGE_TYPE:
            return await self._run_events(ctx, message, state)
        if kind == REVIEW_MESSAGE_TYPE:
            return await self._run("on_review", self._on_review, state, ctx, message, state)
        return await self._run_instances(ctx, message, state)

    async def _run_instances(self, ctx: WorkflowContext, message: Any, state: Any) -> WorkflowResult[Any]:
        parsed = parse_trigger_message(message)
        result = await self._called("on_instances", self._on_instances, state, ctx, parsed, state)
        if result.continuation is not None:
            parse_trigger_message(result.continuation["message"], "the message of the continuation")
        return result

    async def _run_events(self, ctx: WorkflowContext, message: Any, state: Any) -> WorkflowResult[Any]:
        parsed = parse_message(models.WorkflowEventsMessage, message, "message")
        self._registered("on_events", self._on_events)
        events = await ctx.blob_json(parsed.blob)
        if not isinstance(events, list):
            raise WorkflowError(f"blob {parsed.blob!r} of the message holds no list of events")
        return await self._run("on_events", self._on_events, state, ctx, events, parsed, state)

    async def _run(self, name: str, handler: Handler | None, state: Any, *args: Any) -> WorkflowResult[Any]:
        """WorkflowError for a continuation: the trigger of this kind would not know its message."""
        result = await self._called(name, handler, state, *args)
        if result.continuation is not None:
            raise WorkflowError(
                f'the {name} handler of "{self.name}" returned a continuation, which only on_instances can'
            )
        return result

    async def _called(self, name: str, handler: Handler | None, state: Any, *args: Any) -> WorkflowResult[Any]:
        returned = self._registered(name, handler)(*args)
        if not inspect.isawaitable(returned):
            raise WorkflowError(f'the {name} handler of workflow "{self.name}" must be an async function')
        result = await returned
        return WorkflowResult(state=state) if result is None else accepted(result)

    def _registered(self, name: str, handler: Handler | None) -> Handler:
        if handler is None:
            raise WorkflowError(
                f'workflow "{self.name}" version "{self.version}" got a message for {name}, and has none'
            )
        return handler


@overload
def triggered_workflow(
    *,
    name: str,
    version: str,
    initial_state: Any = ...,
    on_instances: None = ...,
    on_fan_in: Handler | None = ...,
    on_schedule: None = ...,
    on_events: None = ...,
    on_review: Handler | None = ...,
) -> Callable[[Handler], TriggeredWorkflowDefinition]: ...


@overload
def triggered_workflow(
    *,
    name: str,
    version: str,
    initial_state: Any = ...,
    on_instances: Handler | None = ...,
    on_fan_in: Handler | None = ...,
    on_schedule: Handler | None = ...,
    on_events: Handler | None = ...,
    on_review: Handler | None = ...,
) -> TriggeredWorkflowDefinition: ...


def triggered_workflow(
    *bare: Any,
    name: str,
    version: str,
    initial_state: Any = None,
    on_instances: Handler | None = None,
    on_fan_in: Handler | None = None,
    on_schedule: Handler | None = None,
    on_events: Handler | None = None,
    on_review: Handler | None = None,
) -> TriggeredWorkflowDefinition | Callable[[Handler], TriggeredWorkflowDefinition]:
    """Define a triggered workflow. Without `on_instances`, `on_schedule` and `on_events` it decorates the first."""
    refuse_bare(bare, "triggered_workflow")

    def define(handler: Handler | None) -> TriggeredWorkflowDefinition:
        return TriggeredWorkflowDefinition(
            name,
            version,
            initial_state,
            on_instances=handler,
            on_fan_in=on_fan_in,
            on_schedule=on_schedule,
            on_events=on_events,
            on_review=on_review,
        )

    is_decorator = on_instances is None and on_schedule is None and on_events is None
    return define if is_decorator else define(on_instances)


def triggered_workflow_state(initial_state: Any, saved: Any) -> Any:
    """The saved state over the initial one: saved keys win; nothing saved, or `{}`, gives a copy of the initial state.

    A saved state that is no object wins whole.
    """
    if saved is None or saved == {}:
        return copy.deepcopy(initial_state)
    if isinstance(saved, Mapping) and isinstance(initial_state, Mapping):
        return {**copy.deepcopy(dict(initial_state)), **saved}
    return saved
