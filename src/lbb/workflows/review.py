"""Asking a person from a turn (lbb-graph 4.5, 4.6)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pydantic import ValidationError

from lbb import models
from lbb.wire_json import dump_body, wire_value
from lbb.workflows import limits
from lbb.workflows.context import WorkflowContext
from lbb.workflows.errors import WorkflowError
from lbb.workflows.inputs import input_of_review, report, turn_of_review

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient

KINDS = ("value", "choice", "grade", "answer")
KEYS_PER_PAGE = 100
KEYS_BYTES_PER_PAGE = 16 * limits.KIB  # as the address of a request has them
ITEM_BYTES = 48 * limits.KIB  # of a step's output; the rest is for the run results that are saved with it

_PATH = "/v1/reviews"

Request = Mapping[str, Any] | models.ReviewCreateRequest


@dataclass(frozen=True)
class ReviewWaitResult:
    """`answer` is None unless a person answered in time; `item` is the question as last seen, without its facts.

    An item of more than 48 KiB also lacks its evidence and comments, and then the long parts of its question.
    """

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
    named = {"name": workflow} if isinstance(workflow, str) else dict(wire_value(workflow))
    if not named.get("name"):
        raise ValueError(f"a review item's workflow has a name, got {named!r:.100}")
    return named


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
        return kept_item(await file_review(client, request, workflow, ctx))

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
        return kept_item(found.model(models.ReviewItem))

    item = await ctx.step(f"{key}.read", read, model=models.ReviewItem)
    is_answered = item.status == "answered" and item.answer is not None
    return ReviewWaitResult(is_answered, item.answer if is_answered else None, item)


def kept_item(item: models.ReviewItem) -> models.ReviewItem:
    """The item as a step saves it: what it takes to go on, and as much of what was asked as a step's output holds.

    The person has the whole item; failing here would leave them a question that nobody waits for.
    """
    kept = item.model_copy(update={"facts": None})
    if len(dump_body(kept)) > ITEM_BYTES:
        kept = kept.model_copy(update=dict.fromkeys(("evidence", "comments", "rationale", "previous_answer", "eval")))
    if len(dump_body(kept)) > ITEM_BYTES:
        question = kept.question.model_copy(update=dict.fromkeys(("output", "options", "prompt", "value")))
        kept = kept.model_copy(update={"question": question})
    return kept


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


async def read_reviews(client: "AsyncLbbClient", keys: Iterable[str]) -> list[models.ReviewItem]:
    """The items of these keys, of every status and kind. TypeError for one plain string."""
    if isinstance(keys, str):
        raise TypeError('review_items takes a list of keys, got one string; write ["..."]')
    items: list[models.ReviewItem] = []
    for page in _pages([key for key in dict.fromkeys(keys) if "," not in key]):  # no item has a key with a comma
        items += (await list_reviews(client, key=",".join(page), limit=len(page))).data
    return items


def _pages(keys: list[str]) -> Iterator[list[str]]:
    """Keys that one request can name: it takes 100, and an address of limited length."""
    page: list[str] = []
    length = 0
    for key in keys:
        more = len(quote(key, safe="")) + len("%2C")
        if page and (len(page) == KEYS_PER_PAGE or length + more > KEYS_BYTES_PER_PAGE):
            yield page
            page, length = [], 0
        page.append(key)
        length += more
    if page:
        yield page


async def list_reviews(client: "AsyncLbbClient", **params: Any) -> models.ReviewsResponse:
    return (await client.raw_request("GET", _PATH, params=params)).model(models.ReviewsResponse)
