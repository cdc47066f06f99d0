"""Review operations as a test calls them: verbs with defaults, so that a test shows only what matters."""

from typing import Any

import msgspec

from tests.store.calls import Store, raw
from turnbuckle.operations import review, review_effects, review_list
from turnbuckle.operations.caller import Caller
from turnbuckle.store.database import read, write
from turnbuckle.wire.review import (
    ReviewAnswerBatchRequest,
    ReviewAnswerBatchResponse,
    ReviewAnswerRequest,
    ReviewCommentRequest,
    ReviewCreateRequest,
    ReviewItem,
    ReviewPatternsQuery,
    ReviewPatternsResponse,
    ReviewQuery,
    ReviewsQuery,
    ReviewsResponse,
    ReviewWithdrawRequest,
)

OPTIONS = [{"id": "parquet", "label": "Parquet"}, {"id": "tiles", "label": "Tiles"}]
WAIT = {"identity": "a", "turn": 1, "signal": ""}


def person(key: str | None = None, by: str = "key:ab12cd34") -> Caller:
    return Caller("test", "main", by=by, role="review", scope="user", idempotency_key=key)


def ask(store: Store, **fields: Any) -> ReviewItem:
    """File a choice between two floors, with `fields` as the request's JSON has them."""
    body: dict[str, Any] = {
        "kind": "choice",
        "key": "floor:hall",
        "title": "Which floor covering does the hall have?",
        "question": {"options": OPTIONS},
        "origin": {"kind": "agent"},
        **fields,
    }
    request = msgspec.json.decode(msgspec.json.encode(body), type=ReviewCreateRequest)
    item: ReviewItem = store.do(review.create, request, person())
    return item


def ask_value(store: Store, **fields: Any) -> ReviewItem:
    """File a proposed value of the property `price`."""
    question = {"property": "price", "value": 12, "unit": "EUR"}
    return ask(store, **{"kind": "value", "key": "price:1", "question": question, **fields})


def reply(
    store: Store, item: ReviewItem | str, decision: str = "choose", *, key: str | None = None, by: str = "key:ab12cd34",
    revision: int | None = None, comment: str | None = None, **said: Any,
) -> ReviewItem:  # fmt: skip
    """Record an answer, without what it does. A choice is `parquet` unless said otherwise."""
    if decision == "choose":
        said.setdefault("option", "parquet")
    if "value" in said:
        said["value"] = raw(said["value"])
    body = {"answer": {"decision": decision, **said}, "revision": revision, "comment": comment}
    request = msgspec.json.decode(msgspec.json.encode(body), type=ReviewAnswerRequest)
    query = ReviewQuery(id=item if isinstance(item, str) else item.id)
    answered: ReviewItem = store.do(review.answer, query, request, person(key, by))
    return answered


def act(store: Store, item: ReviewItem) -> ReviewItem:
    """Do what the answer does, as the request that answers and upkeep do it, until all is done or has to wait."""
    goes_on = True
    while goes_on:
        try:
            goes_on = write(store.database, lambda tx: review_effects.advance(tx, store.graph_id, item.id))
        except Exception as exc:  # `note` is what tells the kinds of failures apart
            goes_on = _note(store, item, exc)
    return look(store, item)


def _note(store: Store, item: ReviewItem, failure: Exception) -> bool:
    return write(store.database, lambda tx: review_effects.note(tx, store.graph_id, item.id, failure))


def act_on_due(store: Store) -> int:
    """What upkeep does now; how many items were due."""
    found = write(store.database, review_effects.due)
    for _, review_id in found:
        act(store, look(store, review_id))
    return len(found)


def look(store: Store, item: ReviewItem | str) -> ReviewItem:
    query = ReviewQuery(id=item if isinstance(item, str) else item.id)
    found: ReviewItem = store.look(review.get, query)
    return found


def listed(store: Store, **query: Any) -> ReviewsResponse:
    found: ReviewsResponse = store.look(review_list.list_page, msgspec.convert(query, ReviewsQuery))
    return found


def patterns(store: Store, **query: Any) -> ReviewPatternsResponse:
    found: ReviewPatternsResponse = store.look(review_list.patterns, msgspec.convert(query, ReviewPatternsQuery))
    return found


def withdraw(store: Store, item: ReviewItem, reason: str = "asked in error", key: str | None = None) -> ReviewItem:
    query = ReviewQuery(id=item.id)
    answer: ReviewItem = store.do(review.withdraw, query, ReviewWithdrawRequest(reason=reason), person(key))
    return answer


def remark(store: Store, item: ReviewItem, text: str = "see page 3", key: str | None = None, **more: Any) -> ReviewItem:
    query = ReviewQuery(id=item.id)
    answer: ReviewItem = store.do(review.comment, query, ReviewCommentRequest(text=text, **more), person(key))
    return answer


def reply_to_all(store: Store, ids: list[str], key: str | None = None, **fields: Any) -> ReviewAnswerBatchResponse:
    body = {"ids": ids, "answer": {"decision": "choose", "option": "tiles"}, **fields}
    request = msgspec.convert(body, ReviewAnswerBatchRequest)
    answer: ReviewAnswerBatchResponse = store.do(review.answer_batch, request, person(key))
    return answer


def due_count(store: Store) -> int:
    return len(read(store.database, review_effects.due))
