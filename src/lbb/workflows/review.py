"""Asking a person from a turn (lbb-graph 4.5, 4.6)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from lbb import models
from lbb.wire_json import wire_value
from lbb.workflows.context import WorkflowContext
from lbb.workflows.errors import WorkflowError
from lbb.workflows.inputs import input_of_review, report, turn_of_review

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient

KINDS = ("value", "choice", "grade", "answer")
KEYS_PER_PAGE = 100

_PATH = "/v1/reviews"

Request = Mapping[str, Any] | models.ReviewCreateRequest


@dataclass(frozen=True)
class ReviewWaitResult:
    """`answer` is None unless a person answered in time; `item` is the question as last seen, without its facts."""

    answered: bool
    answer: models.ReviewAnswer | None
    item: models.ReviewItem


def review_body(
    request: Request, workflow: str | Mapping[str, Any] | None, waiting: WorkflowContext | None
) -> dict[str, Any]:
    """The request as it is sent, with who asks and which turn waits. ValueError for another kind."""
    body: dict[str, Any] = {name: value for name, value in wire_value(request).items() if value is not None}
    if body.get("kind") not in KINDS:
        raise ValueError(f"the kind of a review item is one of {', '.join(KINDS)}, got {body.get('kind')!r:.100}")
    named = _named(body.pop("workflow", None) or workflow)
    if waiting is not None and named is not None:
        named |= {"identity": waiting.workflow_id, "turn": waiting.turn}
    body.setdefault("origin", _origin(named, waiting))
    if named is not None:
        body["workflow"] = named
    if waiting is not None:
        body["wait"] = {"identity": waiting.workflow_id, "turn": waiting.turn, "signal": ""}
    return body


def _named(workflow: Any) -> dict[str, Any] | None:
    if workflow is None:
        return None
    return {"name": workflow} if isinstance(workflow, str) else dict(wire_value(workflow))


def _origin(named: Mapping[str, Any] | None, waiting: WorkflowContext | None) -> dict[str, str]:
    if named is not None:
        return {"kind": "agent", "id": f"starter:{named['name']}"}
    return {"kind": "agent"} | ({"id": waiting.workflow_id} if waiting is not None else {})


async def file_review(
    client: "AsyncLbbClient",
    request: Request,
    workflow: str | Mapping[str, Any] | None,
    waiting: WorkflowContext | None = None,
) -> models.ReviewItem:
    """File the item, or find the one of its key, which may be answered. Sent again when it fails: the key names it."""
    body = review_body(request, workflow, waiting)
    answer = await client.raw_request("POST", _PATH, body=body, options={"retry": True})
    item = answer.model(models.ReviewItem)
    report(turn_of_review(body), input_of_review(body, item))
    return item


async def wait_for_review(
    client: "AsyncLbbClient",
    ctx: WorkflowContext,
    key: str,
    request: Request,
    *,
    timeout_ms: int,
    workflow: str | Mapping[str, Any] | None,
) -> ReviewWaitResult:
    """The steps `<key>.ask`, `<key>.answer` and, after a timeout, `<key>.read`."""
    refuse_in_trigger(ctx)

    async def ask() -> models.ReviewItem:
        filed = await file_review(client, request, workflow, ctx)
        return filed.model_copy(update={"facts": None})  # up to 64 KiB that nobody reads again

    item = await ctx.step(f"{key}.ask", ask, model=models.ReviewItem)
    if item.status != "open" and item.answer is not None:
        return ReviewWaitResult(True, item.answer, item)
    if item.wait is None or not item.wait.signal:
        raise WorkflowError(f'review item {item.id} names no signal to wait for, so "{key}" would wait in vain')
    signal = await ctx.wait_for_signal(f"{key}.answer", name=item.wait.signal, timeout_ms=timeout_ms)
    if signal.received:
        return ReviewWaitResult(True, _answer(signal.value, item), item)
    return await _late_answer(client, ctx, key, item)


async def _late_answer(
    client: "AsyncLbbClient", ctx: WorkflowContext, key: str, asked: models.ReviewItem
) -> ReviewWaitResult:
    """An answer whose signal did not arrive still counts."""

    async def read() -> models.ReviewItem:
        found = await client.raw_request("GET", _PATH + "/get", params={"id": asked.id})
        return found.model(models.ReviewItem).model_copy(update={"facts": None})

    item = await ctx.step(f"{key}.read", read, model=models.ReviewItem)
    is_answered = item.status == "answered" and item.answer is not None
    return ReviewWaitResult(is_answered, item.answer if is_answered else None, item)


def refuse_in_trigger(ctx: WorkflowContext) -> None:
    """WorkflowError on an instance of a named workflow."""
    if ctx.workflow_id.startswith("starter."):
        raise WorkflowError(
            f"{ctx.workflow_id} serves many inputs, and a wait would hold them all: "
            "file the item with lbb.review and take the answer with a review trigger"
        )


def _answer(value: Any, item: models.ReviewItem) -> models.ReviewAnswer:
    try:
        return models.ReviewAnswer.model_validate(value)
    except ValidationError as exc:
        raise WorkflowError(f"the signal of review item {item.id} carries no answer but {value!r:.200}") from exc


async def read_reviews(client: "AsyncLbbClient", keys: list[str]) -> list[models.ReviewItem]:
    """The items of these keys, of every status and kind."""
    wanted = list(dict.fromkeys(keys))
    items: list[models.ReviewItem] = []
    for start in range(0, len(wanted), KEYS_PER_PAGE):
        page = wanted[start : start + KEYS_PER_PAGE]
        items += (await list_reviews(client, key=",".join(page), limit=len(page))).data
    return items


async def list_reviews(client: "AsyncLbbClient", **params: Any) -> models.ReviewsResponse:
    return (await client.raw_request("GET", _PATH, params=params)).model(models.ReviewsResponse)
