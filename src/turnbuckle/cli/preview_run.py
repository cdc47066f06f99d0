"""One run of a triggered workflow on live instances, over activities that write nothing and an instance of its own."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lbb import AsyncLbbClient, LbbError, entity_id_from_iri, models
from lbb.graph_namespace import AsyncGraphMethods as Graph
from lbb.workflows import (
    ENTITY_IRI_NAMESPACE,
    ActivityCaptureResult,
    TriggeredWorkflowDefinition,
    WorkflowHandle,
    WorkflowWorker,
    capture_activities,
    lbb_activities,
)
from turnbuckle.cli.factory import Factory
from turnbuckle.cli.failure import Failure
from turnbuckle.cli.preview_diff import Present, RecordDiff, diff, iri_of, present_of, records_of

TURNS_MAX = 50  # also what one page of runs, and of finished turns, holds
INSTANCES_MAX = 64  # what a message of a watch holds
USAGE = ("calls", "errors", "tokens_in", "tokens_out", "cost_micro_usd")

_PRESENT = """SELECT ?s ?p ?o ?label WHERE {{
  VALUES ?s {{ {iris} }}
  ?s ?p ?o .
  OPTIONAL {{ ?o <http://www.w3.org/2000/01/rdf-schema#label> ?label }} }}"""
_CHUNK = 100  # records asked for at once


@dataclass(frozen=True)
class Preview:
    workflow: str
    graph: str
    as_of_commit_seq: int
    instances: list[str]
    captured: ActivityCaptureResult
    diffs: list[list[RecordDiff]]  # of each captured write
    result: Any = None  # of the last turn
    error: str | None = None  # why the turn did not come to its end
    usage: dict[str, int] = field(default_factory=dict)

    @property
    def refusals(self) -> list[str]:
        """Why the live run would not do what is shown, or not come to its end."""
        writes = [f"step {write.step_key}: {error}" for write in self.captured.writes for error in write.errors]
        waits = [one for one in self.captured.reviews if "wait" in one.request]
        waiting = [
            f"review {one.request.get('key') or one.request.get('title')}: wait_for_review fails on a live trigger, "
            "whose instance serves many inputs; file it with lbb.review"
            for one in waits
        ]
        return [*writes, *waiting, *([self.error] if self.error is not None else [])]


async def preview(
    client: AsyncLbbClient, factory: Factory, instances: Sequence[str], query: str | None, workflow: str | None
) -> Preview:
    """Run the workflow on these instances, and on those that `query` selects by its first variable.

    `workflow` is the name the message carries, by default that of the workflow's type. Failure when there is nothing
    to run on. The engine's instance is removed afterwards; the model calls stay in the call log.
    """
    head = (await client.graph(_graph(client)).publication_status())["published_seq"]
    iris = await _chosen(client, instances, query, head)
    mark = uuid.uuid4().hex[:12]
    capture = capture_activities(lbb_activities(client), workflow=workflow or "preview")
    definition = factory(capture.activities, f"preview-{mark}")
    name = workflow or definition.name
    handle = await definition.start(client, f"preview-{mark}", max_attempts=1)
    try:
        await handle.send(_message(name, _graph(client), head, iris), id=f"preview-{mark}")
        result, error = await _run(client, definition, handle)
        usage = await _usage(client, handle.id)
    finally:
        await client.workflow_delete_instance(handle.id)
    captured = capture.result()
    diffs = [await _diff(client, write.graph, write.body) for write in captured.writes]
    return Preview(name, _graph(client), head, iris, captured, diffs, result, error, usage)


def _graph(client: AsyncLbbClient) -> str:
    return client.graph_name or "main"


async def _chosen(client: AsyncLbbClient, instances: Sequence[str], query: str | None, head: int) -> list[str]:
    iris = list(instances)
    if query is not None:
        rows = await client.sparql(query, as_of_commit_seq=head)
        iris += [text for row in rows.rows() if (text := row.get(rows.vars[0])) is not None]
    chosen = list(dict.fromkeys(iris))
    if not chosen:
        raise Failure("there is nothing to run on: the query selects no record")
    if len(chosen) > INSTANCES_MAX:
        raise Failure(f"{len(chosen)} instances are more than the {INSTANCES_MAX} of a message: choose some")
    try:
        for iri in chosen:
            entity_id_from_iri(iri)
    except ValueError as exc:
        raise Failure(f"that is no record: {exc}") from exc
    unknown = set(chosen) - set(await _read(client, chosen, head))
    if unknown:
        raise Failure(f"graph {_graph(client)} has no record {', '.join(sorted(unknown))}")
    return chosen


def _message(workflow: str, graph: str, head: int, iris: list[str]) -> dict[str, Any]:
    return {
        "type": "instances",
        "workflow": workflow,
        "graph": graph,
        "as_of_commit_seq": head,
        "reason": "refresh",
        "instances": iris,
        "removed": [],
    }


async def _run(
    client: AsyncLbbClient, definition: TriggeredWorkflowDefinition, handle: WorkflowHandle
) -> tuple[Any, str | None]:
    """The last turn's result, and why it did not come to one. A continuation is a further turn."""
    worker = WorkflowWorker(client, [definition], worker="turnbuckle preview")
    for _ in range(TURNS_MAX):
        if not await worker.run_once():
            break
    else:
        return None, f"it continues for ever: {TURNS_MAX} turns were run"
    unfinished = (await handle.status()).current_turn
    if unfinished is not None:
        return None, _stuck(unfinished)
    finished = (await handle.history(limit=TURNS_MAX)).turns
    return finished[-1].result, None


def _stuck(turn: models.WorkflowTurn) -> str:
    if turn.status == "failed":
        return f"turn {turn.number} failed: {turn.error or 'no reason given'}"
    step = turn.steps[-1].key if turn.steps else None
    what = f'at "{step}"' if step is not None else "before its first step"
    return f"turn {turn.number} waits {what}, {turn.error or 'for a time or a signal'}: the preview ends there"


async def _usage(client: AsyncLbbClient, workflow_id: str) -> dict[str, int]:
    """What the model calls of all turns cost, `{calls, errors, tokens_in, tokens_out, cost_micro_usd}`."""
    answer = await client.raw_request(
        "GET", "/v1/workflows/instances/runs", params={"id": workflow_id, "limit": TURNS_MAX}
    )
    usages = [run.get("usage") or {} for run in answer.data["runs"]]
    return {name: sum(usage.get(name, 0) for usage in usages) for name in USAGE}


async def _diff(client: AsyncLbbClient, graph: str | None, body: dict[str, Any] | None) -> list[RecordDiff]:
    if body is None:
        return []
    where = client if graph is None else client.graph(graph)
    iris = {identity: await _iri(where, reference) for identity, reference in records_of(body).items()}
    present = await _read(where, sorted({iri for iri in iris.values() if iri is not None}))
    return diff(body, {identity: present[iri] for identity, iri in iris.items() if iri in present})


async def _iri(where: Graph, reference: Mapping[str, Any]) -> str | None:
    """Of a record that the write names by its key or name, as the graph knows it; None when it does not."""
    named = iri_of(reference)
    if named is not None:
        return named
    key = reference.get("key")
    identity = {"key": key} if key is not None else {"name": reference["name"]}
    try:
        found = await where.entities.detail(type=reference["type"], **identity)
    except LbbError as exc:
        if exc.status_code == 404:
            return None
        raise
    return f"{ENTITY_IRI_NAMESPACE}{found['entity']['id']}"


async def _read(where: Graph, iris: list[str], as_of_commit_seq: int | None = None) -> dict[str, Present]:
    """What the graph holds of these records now, or as of that commit; nothing of one that it does not have."""
    found: dict[str, Present] = {}
    for start in range(0, len(iris), _CHUNK):
        chunk = " ".join(f"<{iri}>" for iri in iris[start : start + _CHUNK])
        rows = await where.sparql(_PRESENT.format(iris=chunk), as_of_commit_seq=as_of_commit_seq)
        found |= present_of(rows.rows())
    return found
