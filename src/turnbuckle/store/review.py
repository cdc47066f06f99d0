"""Review items, who waits for them, their comments, and the idempotency keys of what people sent."""

from collections.abc import Iterator
from typing import Any

from turnbuckle.engine.review import Comment, Review, Waiter
from turnbuckle.store.transaction import Transaction

Place = tuple[int, str]  # (updated at, id): the order of lists, downwards
Group = tuple[str, bytes | None, bytes | None, bytes | None, bytes | None, int]
NEWEST: Place = (2**62, "")
_PAGE = 200


def lock(tx: Transaction, graph_id: str, review_id: str) -> Review | None:
    return tx.one("review_lock", Review, graph_id=graph_id, review_id=review_id)


def lock_by_key(tx: Transaction, graph_id: str, key: bytes) -> Review | None:
    return tx.one("review_lock_by_key", Review, graph_id=graph_id, key=key)


def get(tx: Transaction, graph_id: str, review_id: str) -> Review | None:
    return tx.one("review_get", Review, graph_id=graph_id, review_id=review_id)


def by_key(tx: Transaction, graph_id: str, key: bytes) -> Review | None:
    """Without its facts."""
    return tx.one("review_by_key", Review, graph_id=graph_id, key=key, nothing=None)


def add(tx: Transaction, item: Review) -> bool:
    """False when its key is in use."""
    return tx.insert("review_insert", item) == 1


def save(tx: Transaction, old: Review, new: Review) -> None:
    tx.save("review_update", old, new)


def before(
    tx: Transaction, graph_id: str, place: Place, status: str | None, workflow: str | None, at_once: int
) -> Iterator[Review]:
    """Items after `place` in the order of lists, without their facts, read `at_once` first and then in pages."""
    where: dict[str, Any] = {"graph_id": graph_id, "nothing": None}
    while True:
        page = {**where, "before_ms": place[0], "before_id": place[1], "limit": at_once}
        if workflow is not None:
            found = tx.all("review_page_of_workflow", Review, **page, workflow_name=workflow.encode())
        elif status is not None:
            found = tx.all("review_page_of_status", Review, **page, status=status)
        else:
            found = tx.all("review_page", Review, **page)
        yield from found
        if len(found) < at_once:
            return
        place, at_once = (found[-1].updated_at_ms, found[-1].review_id), _PAGE


def due(tx: Transaction, limit: int) -> list[tuple[str, str]]:
    """(graph id, review id) of items whose answer has still to be written or delivered."""
    return tx.rows("review_due_now", now_ms=tx.now_ms, limit=limit)


def next_due_at(tx: Transaction) -> int | None:
    row = tx.row("review_next_due")
    return None if row is None else row[0]


def groups(tx: Transaction, graph_id: str, status: str) -> list[Group]:
    """(kind, subject type, property, origin id, eval id, how many), the largest first."""
    return tx.rows("review_patterns", graph_id=graph_id, status=status)


def graph_named(tx: Transaction, graph_id: str) -> tuple[str, str]:
    """(environment, name) of a graph."""
    row = tx.row("review_graph", graph_id=graph_id)
    if row is None:
        raise LookupError(f"graph {graph_id} is gone")
    return row[0], row[1]


# -- who waits ---------------------------------------------------------------------------------------------------


def put_waiter(tx: Transaction, waiter: Waiter) -> None:
    tx.insert("review_waiter_put", waiter)


def next_waiter(tx: Transaction, item: Review) -> Waiter | None:
    """The one that has waited longest and was not told."""
    return tx.one("review_waiter_next", Waiter, graph_id=item.graph_id, review_id=item.review_id)


def count_waiters(tx: Transaction, item: Review) -> int:
    row = tx.row("review_waiter_count", graph_id=item.graph_id, review_id=item.review_id)
    return 0 if row is None else int(row[0])


def save_waiter(tx: Transaction, old: Waiter, new: Waiter) -> None:
    tx.save("review_waiter_update", old, new)


# -- comments and repeats ----------------------------------------------------------------------------------------


def add_comment(tx: Transaction, comment: Comment) -> None:
    tx.insert("review_comment_insert", comment)


def comments(tx: Transaction, item: Review) -> list[Comment]:
    """Oldest first."""
    if item.comment_count == 0:
        return []
    return tx.all("review_comments", Comment, graph_id=item.graph_id, review_id=item.review_id)


def add_request(tx: Transaction, graph_id: str, key: bytes, request_hash: bytes) -> bool:
    """False when the key is known."""
    where = {"graph_id": graph_id, "idempotency_key": key}
    return tx.run("review_request_insert", **where, request_hash=request_hash, now_ms=tx.now_ms) == 1


def known_request(tx: Transaction, graph_id: str, key: bytes) -> tuple[bytes, bytes | None]:
    """(hash of the request, answer of a batch) under a key that is known."""
    row = tx.row("review_request_get", graph_id=graph_id, idempotency_key=key)
    assert row is not None
    return row[0], row[1]


def keep_answer(tx: Transaction, graph_id: str, key: bytes, answer: bytes) -> None:
    tx.run("review_request_answered", graph_id=graph_id, idempotency_key=key, answer=answer)
