"""`client.reviews`: questions to a person, and their answers (lbb-graph 4). Everything is a dict, as the wire has it.

A turn asks with `lbb.review` and `lbb.wait_for_review`; here are the calls of those who answer.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from lbb.call import Asks, AsksAsync, Asynchronous, Blocking, Call, as_mapping, given
from lbb.idempotency import new_key
from lbb.request import RequestArguments

Item = dict[str, Any]
Words = str | Sequence[str]  # one word, or several of which each will do
_REVIEWS = "/v1/reviews"


class ReviewFilter(TypedDict, total=False):
    """What a list looks for; see `list_reviews`."""

    status: Words | None
    kind: Words | None
    scope: str | None
    origin_id: str | None
    workflow: str | None
    run: str | None
    key: Words | None
    eval_id: str | None
    limit: int | None


def create(body: Mapping[str, Any]) -> Call[Item]:
    """File an item, or get the one that has its key. `origin` is this program's (`{"kind": "agent"}`) unless given."""
    filed = {"origin": {"kind": "agent"}, **body}
    return Call("POST", _REVIEWS, {"body": filed, "options": {"retry": True}}, as_mapping)


def list_reviews(
    *,
    status: Words | None = None,
    kind: Words | None = None,
    scope: str | None = None,
    origin_id: str | None = None,
    workflow: str | None = None,
    run: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    key: Words | None = None,
    eval_id: str | None = None,
) -> Call[dict[str, Any]]:
    """One page `{data, has_more, next_cursor?}`, latest update first; texts are cut, facts and comments left out.

    `status`, `kind` and `key` take several words as a list or with commas; at most 100 keys.
    """
    params = {
        "status": _listed(status),
        "kind": _listed(kind),
        "scope": scope,
        "origin_id": origin_id,
        "workflow": workflow,
        "run": run,
        "limit": limit,
        "cursor": cursor,
        "key": _listed(key),
        "eval_id": eval_id,
    }
    return Call("GET", _REVIEWS, {"params": params}, as_mapping)


def get(id: str) -> Call[Item]:
    """The whole item. LbbError 404 when there is none."""
    return Call("GET", _REVIEWS + "/get", {"params": {"id": id}}, as_mapping)


def answer(
    id: str,
    *,
    answer: Mapping[str, Any],
    revision: int | None = None,
    edits: Any = None,
    comment: str | None = None,
    idempotency_key: str | None = None,
) -> Call[Item]:
    """Answer an open item: `{"decision", "value"?, "option"?, "note"?}`; the item tells what the answer has done.

    With `revision` the answer is refused (409 `review_stale`) when the question has changed since. LbbError 409
    `conflict` when the item is answered or withdrawn.
    """
    body = {"answer": answer} | given(revision=revision, edits=edits, comment=comment)
    return _once("answer", {"id": id}, body, idempotency_key)


def answer_batch(
    ids: Sequence[str],
    *,
    answer: Mapping[str, Any],
    shown: Mapping[str, int] | None = None,
    pattern: str | None = None,
    idempotency_key: str | None = None,
) -> Call[dict[str, Any]]:
    """Give up to 500 items one answer: `{batch_id, answered, skipped, results: [{id, answered, status?, reason?}]}`.

    `shown` is the revision at which each item was read, `pattern` the group that all must be of.
    """
    body = {"ids": list(ids), "answer": answer} | given(shown=shown, pattern=pattern)
    return _once("answer-batch", {}, body, idempotency_key)


def withdraw(id: str, reason: str, *, idempotency_key: str | None = None) -> Call[Item]:
    """Take an open item back. Turns that wait for it wait until their timeout."""
    return _once("withdraw", {"id": id}, {"reason": reason}, idempotency_key)


def comment(id: str, *, text: str, author: str | None = None, idempotency_key: str | None = None) -> Call[Item]:
    """Add a remark to an item, open or not."""
    return _once("comment", {"id": id}, {"text": text} | given(author=author), idempotency_key)


def patterns(
    *, status: str | None = None, origin_id: str | None = None, type: str | None = None, eval_id: str | None = None
) -> Call[dict[str, Any]]:
    """Groups of items that ask for the same, the largest first: `{data: [{id, kind, type?, property?, count}]}`."""
    params = {"status": status, "origin_id": origin_id, "type": type, "eval_id": eval_id}
    return Call("GET", _REVIEWS + "/patterns", {"params": params}, as_mapping)


def _once(verb: str, params: dict[str, Any], body: dict[str, Any], key: str | None) -> Call[dict[str, Any]]:
    """A call under an idempotency key: sent again, it is done once."""
    sent: RequestArguments = {
        "params": params,
        "body": body,
        "idempotency_key": key or new_key(f"reviews.{verb.replace('-', '_')}"),
    }
    return Call("POST", f"{_REVIEWS}/{verb}", sent, as_mapping)


def _listed(words: Words | None) -> str | None:
    return words if words is None or isinstance(words, str) else ",".join(words)


class ReviewsNamespace:
    def __init__(self, client: Asks) -> None:
        self.ask = client.ask

    create = Blocking(create)
    list = Blocking(list_reviews)
    get = Blocking(get)
    answer = Blocking(answer)
    answer_batch = Blocking(answer_batch)
    withdraw = Blocking(withdraw)
    comment = Blocking(comment)
    patterns = Blocking(patterns)

    def all(self, **filters: Unpack[ReviewFilter]) -> Iterator[Item]:
        """Every item that fits, latest update first, a page at a time. Arguments as for `list`."""
        page = self.list(**filters)
        yield from page["data"]
        while page["has_more"]:
            page = self.list(**filters, cursor=page["next_cursor"])
            yield from page["data"]


class AsyncReviewsNamespace:
    def __init__(self, client: AsksAsync) -> None:
        self.ask = client.ask

    create = Asynchronous(create)
    list = Asynchronous(list_reviews)
    get = Asynchronous(get)
    answer = Asynchronous(answer)
    answer_batch = Asynchronous(answer_batch)
    withdraw = Asynchronous(withdraw)
    comment = Asynchronous(comment)
    patterns = Asynchronous(patterns)

    async def all(self, **filters: Unpack[ReviewFilter]) -> AsyncIterator[Item]:
        """Every item that fits, latest update first, a page at a time. Arguments as for `list`."""
        page = await self.list(**filters)
        for item in page["data"]:
            yield item
        while page["has_more"]:
            page = await self.list(**filters, cursor=page["next_cursor"])
            for item in page["data"]:
                yield item
