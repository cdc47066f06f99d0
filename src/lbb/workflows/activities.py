"""What a step may ask LBB for: models, the graph, people (lbb-graph 3, 4; names of 8.3)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lbb import models
from lbb.activity_calls import decide_body, embed_body, reason_body
from lbb.sparql_results import SparqlResults
from lbb.workflows import review as reviews
from lbb.workflows.context import WorkflowContext, noted_step
from lbb.workflows.model_calls import ask_model
from lbb.workflows.owned_write import EdgeIdempotency, Kind, OwnedWriteResult, Write, write_owned
from lbb.workflows.requeue import FailedInstance, requeue_failed
from lbb.workflows.review import ReviewWaitResult

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient

Test = str | Mapping[str, str] | None
Workflow = str | Mapping[str, Any] | None


class LbbActivities:
    """Bound to one client and its graph. Call it from steps; `lambda s: lbb.reason(...)` does too.

    A model call names the turn and the step that make it, and its cost goes with the turn's end. Give it the step's
    `effect_id`: a repeat is then answered from the first answer, at no cost. Several calls of one kind in a step need
    ids of their own, such as `f"{s.effect_id}.2"`.
    """

    def __init__(self, client: "AsyncLbbClient") -> None:
        self._client = client

    async def reason(
        self,
        prompt: str,
        schema: Any,
        *,
        system: str | None = None,
        max_tokens: int | None = None,
        effect_id: str | None = None,
        label: str | None = None,
        instance: str | None = None,
        test: Test = None,
    ) -> models.ReasonActivityResponse:
        """An answer that follows the JSON schema, in `value`. `label` and `instance` are shown in the call log."""
        body = reason_body(prompt, schema, system, max_tokens, effect_id, label)
        return await ask_model(
            self._client, "reason", body, models.ReasonActivityResponse, instance=instance, test=test
        )

    async def decide(
        self,
        state: Any,
        questions: Mapping[str, Any],
        *,
        effect_id: str | None = None,
        label: str | None = None,
        instance: str | None = None,
        test: Test = None,
    ) -> models.DecideActivityResponse:
        """How likely each option of each question is, given `state`: `{id: {"instructions", "criteria": {option:
        meaning}}}`. A question the model skipped is missing in `answers`."""
        body = decide_body(state, questions, effect_id, label)
        return await ask_model(
            self._client, "decide", body, models.DecideActivityResponse, instance=instance, test=test
        )

    async def embed(
        self,
        texts: Sequence[str],
        *,
        effect_id: str | None = None,
        label: str | None = None,
        instance: str | None = None,
        test: Test = None,
    ) -> models.EmbedActivityResponse:
        """One vector for each text, in order. TypeError for one plain string."""
        body = embed_body(texts, effect_id, label)
        return await ask_model(self._client, "embed", body, models.EmbedActivityResponse, instance=instance, test=test)

    async def sparql(
        self,
        query: str,
        *,
        as_of_commit_seq: int | None = None,
        consistency: str | None = None,
        limit: int | None = None,
    ) -> SparqlResults:
        """Ask the graph. A triggered turn reads at its message's `as_of_commit_seq`, or later."""
        return await self._client.sparql(query, as_of_commit_seq=as_of_commit_seq, consistency=consistency, limit=limit)

    @noted_step
    async def write_owned(
        self,
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
        """As the function `write_owned`, with this client. Under `capture_activities` it writes nothing."""
        return await write_owned(
            self._client,
            ctx,
            step_key,
            write,
            graph=graph,
            edge_idempotency=edge_idempotency,
            kind=kind,
            timeout_ms=timeout_ms,
            heartbeat_timeout_ms=heartbeat_timeout_ms,
        )

    @noted_step
    async def requeue(
        self, ctx: WorkflowContext, step_key: str, failed: Iterable[FailedInstance], *, graph: str | None = None
    ) -> models.WorkflowRequeueResponse | None:
        """As the function `requeue_failed`, with this client. Under `capture_activities` it sends nothing."""
        return await requeue_failed(self._client, ctx, step_key, failed, graph=graph)

    async def review(self, request: reviews.Request, *, workflow: Workflow = None) -> models.ReviewItem:
        """File a question for a person, or find the one of its `key`, which may be answered already."""
        return await reviews.file_review(self._client, request, workflow)

    @noted_step
    async def wait_for_review(
        self, ctx: WorkflowContext, key: str, request: reviews.Request, *, timeout_ms: int, workflow: Workflow = None
    ) -> ReviewWaitResult:
        """File a question and wait for its answer without holding a worker; up to three steps of the turn.

        WorkflowError on an instance of a named workflow, which serves many inputs.
        """
        return await reviews.wait_for_review(self._client, ctx, key, request, timeout_ms=timeout_ms, workflow=workflow)

    async def review_items(self, keys: Iterable[str]) -> list[models.ReviewItem]:
        """The items of these keys, of every status and kind; a key without an item has none in the list.

        TypeError for one plain string.
        """
        return await reviews.read_reviews(self._client, keys)

    async def review_item(self, key: str) -> models.ReviewItem | None:
        return next(iter(await self.review_items([key])), None)

    async def list_reviews(
        self,
        *,
        status: str | None = None,
        origin_id: str | None = None,
        key: str | None = None,
        limit: int | None = None,
    ) -> models.ReviewsResponse:
        """One page of items, latest update first."""
        return await reviews.list_reviews(self._client, status=status, origin_id=origin_id, key=key, limit=limit)

    async def evolve(self, ops: Sequence[Mapping[str, Any]], *, dry_run: bool = False) -> dict[str, Any]:
        """Apply the operations to the graph's ontology, all or nothing."""
        return await self._client.ontology.evolve({"ops": list(ops)}, dry_run=dry_run)

    async def ontology(self) -> dict[str, Any]:
        """The declared classes, relations and properties."""
        return await self._client.ontology.view()


def lbb_activities(client: "AsyncLbbClient") -> LbbActivities:
    """The activities of the client's graph."""
    return LbbActivities(client)
