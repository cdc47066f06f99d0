"""Lists of review items, and the groups they fall into (lbb-graph 4.3)."""

from collections.abc import Callable, Iterable
from typing import Any, get_args

from turnbuckle.engine import review as rules
from turnbuckle.engine.review import Review
from turnbuckle.operations import review_answers
from turnbuckle.store import review as reviews
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.review import (
    ReviewKind,
    ReviewPattern,
    ReviewPatternsQuery,
    ReviewPatternsResponse,
    ReviewsQuery,
    ReviewsResponse,
    ReviewStatus,
)

_LOOKED_AT = 2_000  # items that one page looks through for those that fit


def list_page(tx: Transaction, graph_id: str, query: ReviewsQuery) -> ReviewsResponse:
    """Latest update first. With rare filters a page may be shorter than its limit and still have a next one."""
    fits, place = _filter(query), _place(query.cursor)
    statuses = _words("status", query.status, get_args(ReviewStatus))
    if query.key is not None:
        candidates: Iterable[Review] = _of_keys(tx, graph_id, query.key, place)
    else:
        status = statuses[0] if statuses is not None and len(statuses) == 1 else None
        candidates = reviews.before(tx, graph_id, place, status, query.workflow, query.limit + 1)
    page: list[Review] = []
    last = None
    for number, item in enumerate(candidates, 1):
        if len(page) == query.limit or number > _LOOKED_AT:
            return _page(page, last)
        last = item
        if fits(item):
            page.append(item)
    return _page(page, None)


def _page(page: list[Review], last: Review | None) -> ReviewsResponse:
    """`last` is the item that the next page begins after; None at the end."""
    return ReviewsResponse(
        object="list",
        data=[review_answers.in_list(item) for item in page],
        has_more=last is not None,
        next_cursor=None if last is None else f"{last.updated_at_ms}:{last.review_id}",
    )


def _of_keys(tx: Transaction, graph_id: str, listed: str, place: reviews.Place) -> list[Review]:
    keys = list(dict.fromkeys(key for key in listed.split(",") if key))
    if len(keys) > limits.REVIEW_KEYS:
        what = f"key: got {len(keys)} keys, expected at most {limits.REVIEW_KEYS}"
        raise Refused("invalid_param", what, param="key")
    found = [item for key in keys if (item := reviews.by_key(tx, graph_id, key.encode())) is not None]
    after = [item for item in found if (item.updated_at_ms, item.review_id) < place]
    return sorted(after, key=lambda item: (item.updated_at_ms, item.review_id), reverse=True)


def _filter(query: ReviewsQuery) -> Callable[[Review], bool]:
    statuses = _words("status", query.status, get_args(ReviewStatus))
    kinds = _words("kind", query.kind, get_args(ReviewKind))

    def fits(item: Review) -> bool:
        return (
            (statuses is None or item.status in statuses)
            and (kinds is None or item.kind in kinds)
            and query.scope in (None, item.scope)
            and _is(query.origin_id, item.origin_id)
            and _is(query.run, item.run)
            and _is(query.eval_id, item.eval_id)
            and _is(query.workflow, item.workflow_name)
        )

    return fits


def _is(asked: str | None, stored: bytes | None) -> bool:
    return asked is None or asked.encode() == stored


def _words(param: str, listed: str | None, known: tuple[str, ...]) -> list[str] | None:
    """The words of a comma list; None when every one will do. Refused(invalid_param) for an unknown one."""
    if listed is None:
        return None
    words = listed.split(",")
    for word in words:
        if word not in known:
            raise Refused("invalid_param", f"{param}: got {word[:80]!r}, expected {', '.join(known)}", param=param)
    return words


def _place(cursor: str | None) -> reviews.Place:
    if cursor is None:
        return reviews.NEWEST
    at_ms, colon, review_id = cursor.partition(":")
    if not colon or not at_ms.isascii() or not at_ms.isdigit() or len(at_ms) > 16:
        raise Refused(
            "invalid_param", f"cursor: got {cursor[:80]!r}, expected a next_cursor as it came", param="cursor"
        )
    return int(at_ms), review_id


def patterns(tx: Transaction, graph_id: str, query: ReviewPatternsQuery) -> ReviewPatternsResponse:
    """Groups of items that ask for the same property of records of one type, so that one answer may do for all."""
    counts: dict[tuple[str, bytes | None, bytes | None, bytes | None], int] = {}
    for kind, subject_type, name, origin_id, eval_id, count in reviews.groups(tx, graph_id, query.status):
        if _is(query.origin_id, origin_id) and _is(query.type, subject_type) and _is(query.eval_id, eval_id):
            group = (kind, subject_type, name, origin_id)
            counts[group] = counts.get(group, 0) + count
    largest = sorted(counts.items(), key=lambda one: -one[1])
    return ReviewPatternsResponse(
        object="list",
        data=[_pattern(*group, count) for group, count in largest[: limits.PAGE_MAX]],
        has_more=len(largest) > limits.PAGE_MAX,
    )


def _pattern(
    kind: Any, subject_type: bytes | None, name: bytes | None, origin_id: bytes | None, count: int
) -> ReviewPattern:
    group_id = rules.pattern_id(kind, subject_type, name, origin_id)
    texts = {"type": _text(subject_type), "property": _text(name), "origin_id": _text(origin_id)}
    return ReviewPattern(id=group_id, kind=kind, count=count, **texts)


def _text(stored: bytes | None) -> str | None:
    return None if stored is None else stored.decode()
