"""Activities that write nothing: models and reads run, what would be written is checked and kept (lbb-graph 6.1)."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lbb import graph_calls, models
from lbb.errors import LbbError
from lbb.wire_json import wire_value
from lbb.workflows import review as reviews
from lbb.workflows.activities import LbbActivities, Test, Workflow
from lbb.workflows.capture_check import shape_errors
from lbb.workflows.context import WorkflowContext, noted_step
from lbb.workflows.inputs import input_of_review, inputs_of_failed, inputs_of_write, report, turn_of_review
from lbb.workflows.owned_write import EdgeIdempotency, Kind, OwnedWrite, OwnedWriteResult, Write, in_step
from lbb.workflows.requeue import FailedInstance
from lbb.workflows.results import Input, cut_input
from lbb.workflows.review import ReviewWaitResult
from lbb.workflows.running import current_turn
from lbb.workflows.step_context import WorkflowStepContext

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient


@dataclass(frozen=True)
class CapturedWrite:
    """A write that was not sent. Without `errors` the live one would pass."""

    step_key: str
    graph: str | None
    body: dict[str, Any] | None  # the commit as it would be sent, without its fence; None: there is nothing to send
    check: str  # "shape": refused here, or nothing to ask; "dry_run": the server checked it
    errors: list[str]
    report: models.GraphCommitDryRunResponse | None  # what the server says the commit would do


@dataclass(frozen=True)
class CapturedReview:
    """A review item that was not filed."""

    request: dict[str, Any]


@dataclass(frozen=True)
class ActivityCaptureResult:
    """Everything since the last reset, in call order. `results` are what the turn did with each input."""

    writes: list[CapturedWrite] = field(default_factory=list)
    reviews: list[CapturedReview] = field(default_factory=list)
    results: list[Input] = field(default_factory=list)


class ActivityCapture:
    """Hand `activities` to the workflow, run it, then look at `result()`."""

    def __init__(self, activities: LbbActivities, client: "AsyncLbbClient | None", workflow: str) -> None:
        self._kept = ActivityCaptureResult()
        self._numbers = itertools.count(1)
        self._client = client
        self.activities: LbbActivities = _CapturedActivities(activities, self, workflow)

    def result(self) -> ActivityCaptureResult:
        kept = self._kept
        return ActivityCaptureResult(list(kept.writes), list(kept.reviews), list(kept.results))

    def reset(self) -> None:
        """Forget what was captured. The numbers of captured review items go on."""
        self._kept = ActivityCaptureResult()

    async def keep_write(
        self, step_key: str, graph: str | None, write: OwnedWrite, body: dict[str, Any] | None
    ) -> list[Input]:
        """Check and keep the write. LbbError when the server could not check it now (429, 5xx)."""
        self._kept.writes.append(await self._checked(step_key, graph, body))
        return self.keep_inputs(inputs_of_write(write) if body is not None else [])

    def keep_review(self, body: Mapping[str, Any]) -> models.ReviewItem:
        item = _open_item(body, f"captured_{next(self._numbers)}")
        self._kept.reviews.append(CapturedReview(dict(body)))
        report(turn_of_review(body), self.keep_inputs(input_of_review(body, item)))
        return item

    def keep_inputs(self, inputs: list[Input]) -> list[Input]:
        self._kept.results.extend(map(cut_input, inputs))
        return inputs

    async def _checked(self, step_key: str, graph: str | None, body: dict[str, Any] | None) -> CapturedWrite:
        errors = shape_errors(body) if body is not None else []
        if body is None or errors or self._client is None:
            return CapturedWrite(step_key, graph, body, "shape", errors, None)
        call = graph_calls.commit_dry_run_model(body)
        try:
            answer = await self._client.ask(call if graph is None else call.in_graph(graph))
        except LbbError as error:
            if error.status_code == 429 or error.status_code >= 500:
                raise  # it says nothing about the write: the step fails or waits as the live one
            return CapturedWrite(step_key, graph, body, "dry_run", [str(error)], None)
        return CapturedWrite(step_key, graph, body, "dry_run", [], answer)


def capture_activities(
    activities: LbbActivities, *, client: "AsyncLbbClient | None" = None, workflow: str = "test"
) -> ActivityCapture:
    """Activities that run the models and the reads of `activities`, at their cost, and write and file nothing.

    `client` checks the writes, by default that of `activities`; without one their form alone is checked. `workflow`
    names the test in the call log. Only calls of the captured object are captured: the functions `write_owned` and
    `requeue_failed` still write, so make the workflow a function of its activities.
    """
    return ActivityCapture(activities, client or getattr(activities, "_client", None), workflow)


class _CapturedActivities(LbbActivities):
    """Has no client of its own, so that an activity it does not know of fails instead of writing."""

    def __init__(self, live: LbbActivities, capture: ActivityCapture, workflow: str) -> None:
        self._live = live
        self._capture = capture
        self._test = {"workflow": workflow}

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
        return await self._live.reason(
            prompt,
            schema,
            system=system,
            max_tokens=max_tokens,
            effect_id=effect_id,
            label=label,
            instance=instance,
            test=test or self._test,
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
        return await self._live.decide(
            state, questions, effect_id=effect_id, label=label, instance=instance, test=test or self._test
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
        return await self._live.embed(
            texts, effect_id=effect_id, label=label, instance=instance, test=test or self._test
        )

    async def sparql(self, query: str, **options: Any) -> Any:
        return await self._live.sparql(query, **options)

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
        async def keep(owned: OwnedWrite, body: dict[str, Any] | None, step: WorkflowStepContext) -> OwnedWriteResult:
            report(current_turn.get(), await self._capture.keep_write(step_key, graph, owned, body))
            return OwnedWriteResult(idempotency_key=step.effect_id)

        return await ctx.step(
            step_key,
            in_step(write, edge_idempotency, keep),
            model=OwnedWriteResult,
            kind=kind,
            timeout_ms=timeout_ms,
            heartbeat_timeout_ms=heartbeat_timeout_ms,
        )

    @noted_step
    async def requeue(
        self, ctx: WorkflowContext, step_key: str, failed: Iterable[FailedInstance], *, graph: str | None = None
    ) -> None:
        report(current_turn.get(), self._capture.keep_inputs(inputs_of_failed(failed)))

    async def review(self, request: reviews.Request, *, workflow: Workflow = None) -> models.ReviewItem:
        return self._capture.keep_review(reviews.review_body(request, workflow, None))

    @noted_step
    async def wait_for_review(
        self, ctx: WorkflowContext, key: str, request: reviews.Request, *, timeout_ms: int, workflow: Workflow = None
    ) -> ReviewWaitResult:
        reviews.refuse_in_trigger(ctx)
        item = self._capture.keep_review(reviews.review_body(request, workflow, ctx))
        return ReviewWaitResult(answered=False, answer=None, item=item)

    async def review_items(self, keys: Iterable[str]) -> list[models.ReviewItem]:
        return await self._live.review_items(keys)

    async def review_item(self, key: str) -> models.ReviewItem | None:
        return await self._live.review_item(key)

    async def list_reviews(self, **filters: Any) -> models.ReviewsResponse:
        return await self._live.list_reviews(**filters)

    async def evolve(self, ops: Sequence[Mapping[str, Any]], *, dry_run: bool = False) -> dict[str, Any]:
        return await self._live.evolve(ops, dry_run=True)

    async def ontology(self) -> dict[str, Any]:
        return await self._live.ontology()


def _open_item(body: Mapping[str, Any], id: str) -> models.ReviewItem:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    filed = {
        "id": id,
        "object": "review_item",
        "key": body.get("key") or id,
        "scope": "test",
        "status": "open",
        "revision": 1,
        "created": now,
        "updated": now,
    }
    return models.ReviewItem.model_validate({**wire_value(body), **filed, "wait": None})
