"""Answers of persons: recorded in one transaction, acted on in others, by the request itself and else by upkeep."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import review, review_effects
from turnbuckle.operations.caller import Caller
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.review import (
    ReviewAnswerBatchRequest,
    ReviewAnswerBatchResponse,
    ReviewAnswerRequest,
    ReviewItem,
    ReviewQuery,
)

log = logging.getLogger("turnbuckle.reviews")
_SIDE_BY_SIDE = 20
_ROUNDS = 20  # upkeep has other work too
Gone = Callable[[], Awaitable[None]]


async def answer(
    store: AsyncStore, graph_id: str, query: ReviewQuery, request: ReviewAnswerRequest, caller: Caller, gone: Gone
) -> ReviewItem:
    """The item with what its answer has done so far. A recorded answer is never refused for what follows it."""
    recorded = await store.write(lambda tx: review.answer(tx, graph_id, query, request, caller))
    try:
        await act(store, graph_id, query.id)
        return await store.read(lambda tx: review.get(tx, graph_id, query))
    except Refused as refused:
        log.warning("answer of %s: upkeep does the rest: %s", query.id, refused)
        return recorded


async def answer_batch(
    store: AsyncStore, graph_id: str, request: ReviewAnswerBatchRequest, caller: Caller, gone: Gone
) -> ReviewAnswerBatchResponse:
    """All recorded in one transaction, then acted on side by side, as many at once as share a commit well."""
    recorded = await store.write(lambda tx: review.answer_batch(tx, graph_id, request, caller))
    answered = [result.id for result in recorded.results if result.answered]
    try:
        for at in range(0, len(answered), _SIDE_BY_SIDE):
            piece = answered[at : at + _SIDE_BY_SIDE]
            await asyncio.gather(*(act(store, graph_id, review_id) for review_id in piece))
    except Refused as refused:
        log.warning("answers of %s: upkeep does the rest: %s", recorded.batch_id, refused)
    return recorded


async def act(store: AsyncStore, graph_id: str, review_id: str) -> None:
    """Go on with what the answer does until all is done, or has to wait."""
    goes_on = True
    while goes_on:
        try:
            goes_on = await store.write(partial(review_effects.advance, graph_id=graph_id, review_id=review_id))
        except Exception as exc:
            if not isinstance(exc, Refused | review_effects.StepFailed):
                log.exception("answer of %s met an error of the server's own", review_id)
            noted = partial(review_effects.note, graph_id=graph_id, review_id=review_id, failure=exc)
            goes_on = await store.write(noted)


async def act_on_due(store: AsyncStore) -> None:
    """What upkeep does: answers that were recorded, and whose request did not come to do the rest."""
    next_due_at, now_ms = await store.read(lambda tx: (review_effects.next_due_at(tx), tx.now_ms))
    if next_due_at is None or next_due_at > now_ms:
        return
    for _ in range(_ROUNDS):
        found = await store.write(review_effects.due)
        for graph_id, review_id in found:
            await act(store, graph_id, review_id)
        if len(found) < review_effects.DUE_AT_ONCE:
            return
