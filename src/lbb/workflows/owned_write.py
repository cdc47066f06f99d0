"""Writing what a workflow owns on its instances: one fenced commit in one step (lbb-graph 5.10)."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from lbb import graph_calls, models
from lbb.wire_json import wire_value
from lbb.wire_model import WireModel
from lbb.workflows.context import WorkflowContext, noted_step
from lbb.workflows.errors import WorkflowError
from lbb.workflows.inputs import inputs_of_write, report
from lbb.workflows.running import turn_of_call
from lbb.workflows.step_context import WorkflowStepContext

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient

Reference = Mapping[str, Any]
EdgeIdempotency = Literal["append", "skip_unchanged"]
Kind = Literal["step", "model", "tool"]


@dataclass
class OwnedWrite:
    """Everything the workflow says about `subjects` now. What it said before and does not say again is removed.

    `relations` and `properties` are the names it owns; each subject loses its edges and fields of these names unless
    `triplets` and `entity_properties` set them. `retract_entities` go whole. TypeError where one name or reference
    stands in place of a list: read as a list, a name would be one for each of its letters.
    """

    subjects: Sequence[Reference]
    relations: Sequence[str] = ()
    properties: Sequence[str] = ()
    retract_entities: Sequence[Reference] = ()
    triplets: list[Any] = field(default_factory=list)
    entity_properties: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        for one in fields(self):
            given = getattr(self, one.name)
            if isinstance(given, str | Mapping | BaseModel):
                raise TypeError(f"{one.name} of an OwnedWrite is a list, got {given!r:.100}; write [...]")


class OwnedWriteResult(WireModel):
    """What the commit did. `commit_seq` is None when there was nothing to write."""

    commit_seq: int | None = None
    idempotency_key: str | None = None
    replayed: bool = False
    owned: models.OwnedOutputsOutcome | None = None
    entities_written: int = 0
    edges_written: int = 0


WriteFunction = Callable[[WorkflowStepContext], OwnedWrite | Awaitable[OwnedWrite]]
Write = OwnedWrite | WriteFunction
Send = Callable[[OwnedWrite, dict[str, Any] | None, WorkflowStepContext], Awaitable[OwnedWriteResult]]


def owned_commit_body(
    write: OwnedWrite, edge_idempotency: EdgeIdempotency = "skip_unchanged"
) -> models.TripletCommitFile | None:
    """The commit of the write; None when there is nothing to send. pydantic.ValidationError for other rows."""
    body = owned_commit(write, edge_idempotency)
    return None if body is None else models.TripletCommitFile.model_validate(body)


def owned_commit(write: OwnedWrite, edge_idempotency: EdgeIdempotency) -> dict[str, Any] | None:
    """The same as it is sent: rows as they were given, so that the server sees a misspelled field and refuses it."""
    facts = _filled(triplets=write.triplets, entity_properties=write.entity_properties)
    owns = _filled(relations=write.relations, properties=write.properties, retract_entities=write.retract_entities)
    if write.subjects or write.retract_entities:
        facts["replace_owned"] = {"subjects": wire_value(list(write.subjects)), **owns}
    return {**facts, "edge_idempotency": edge_idempotency} if facts else None


def _filled(**lists: Sequence[Any]) -> dict[str, Any]:
    return {name: wire_value(list(items)) for name, items in lists.items() if items}


@noted_step
async def write_owned(
    client: "AsyncLbbClient",
    ctx: WorkflowContext,
    step_key: str,
    write: Write,
    *,
    graph: str | None = None,
    edge_idempotency: EdgeIdempotency = "skip_unchanged",
    kind: Kind = "step",
    timeout_ms: int = 300_000,
    heartbeat_timeout_ms: int | None = None,
) -> OwnedWriteResult:
    """Commit the write in the step `step_key`, with its effect id as the idempotency key and the turn's fence.

    `write` may be a function of the step context that returns it; it runs in the step, a sync one in a thread. A turn
    that runs again sends the same key and gets the first commit. A turn that is no longer held writes nothing. A write
    to another graph carries no fence.
    """

    async def commit(owned: OwnedWrite, body: dict[str, Any] | None, step: WorkflowStepContext) -> OwnedWriteResult:
        if body is None:
            return OwnedWriteResult(idempotency_key=step.effect_id)
        if _is_own_graph(step.graph, graph or client.graph_name):
            body["workflow_fence"] = step.fence
        call = graph_calls.commit(body, idempotency_key=step.effect_id)
        if graph is not None:
            call = call.in_graph(graph)
        result = OwnedWriteResult.model_validate(await client.ask(call))
        report(turn_of_call(step.effect_id), inputs_of_write(owned))
        return result

    run = in_step(write, edge_idempotency, commit)
    return await ctx.step(
        step_key,
        run,
        model=OwnedWriteResult,
        kind=kind,
        timeout_ms=timeout_ms,
        heartbeat_timeout_ms=heartbeat_timeout_ms,
    )


def in_step(write: Write, edge_idempotency: EdgeIdempotency, send: Send) -> Callable[[WorkflowStepContext], Any]:
    """The step's function: make the write, build its body, send it."""

    async def finish(made: Any, step: WorkflowStepContext) -> OwnedWriteResult:
        owned = await made if inspect.isawaitable(made) else made
        if not isinstance(owned, OwnedWrite):
            raise WorkflowError(f"write_owned takes an OwnedWrite or a function that returns one, got {owned!r:.100}")
        return await send(owned, owned_commit(owned, edge_idempotency), step)

    if callable(write) and not inspect.iscoroutinefunction(write):
        # A sync function of a step: called in the step's thread, and what it returns is awaited on the loop.
        return lambda step: finish(write(step), step)

    async def run(step: WorkflowStepContext) -> OwnedWriteResult:
        return await finish(write(step) if callable(write) else write, step)

    return run


def _is_own_graph(turns_graph: str | None, target: str | None) -> bool:
    """Whether the write goes where the turn lives. Unless both are named it does: the server chooses alike for both."""
    return turns_graph is None or target is None or turns_graph == target
