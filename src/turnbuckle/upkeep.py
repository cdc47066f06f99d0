"""The loop that does what no request asks for: it calls operations, a bounded piece at a time.

Attempts that ended by themselves are settled as they become due; old history, runs and blobs go now and then.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from turnbuckle.http import reviews
from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import graph, stream, upkeep, watch
from turnbuckle.store.database import Lane
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused

log = logging.getLogger("turnbuckle.upkeep")
SETTLE_EVERY_S = 0.2
ANSWERS_EVERY_S = 0.2
CLEAR_EVERY_S = 5.0
PRUNE_EVERY_S = 60.0
SWEEP_EVERY_S = 3_700.0  # a little over the hour that two sweeps of blobs must lie apart


async def run(store: AsyncStore) -> None:
    """For ever, until cancelled."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_every(SETTLE_EVERY_S, lambda: settle(store)))
        tasks.create_task(_every(ANSWERS_EVERY_S, lambda: reviews.act_on_due(store)))
        tasks.create_task(_every(CLEAR_EVERY_S, lambda: clear_deleted_graphs(store)))
        tasks.create_task(_every(PRUNE_EVERY_S, lambda: prune(store)))
        tasks.create_task(_every(SWEEP_EVERY_S, lambda: sweep_blobs(store)))


async def _every(seconds: float, work: Callable[[], Awaitable[object]]) -> None:
    while True:
        try:
            await work()
        except Refused as refused:  # the store is in trouble: say so and try again
            log.warning("upkeep: %s", refused)
        except Exception:  # a row that cannot be read must not end all upkeep until the next start
            log.exception("upkeep met an error of its own")
        await asyncio.sleep(seconds)


async def settle(store: AsyncStore) -> None:
    """Let attempts fail whose lease or deadline has passed."""
    next_due_at, now_ms = await store.read(lambda tx: (upkeep.next_due_at(tx), tx.now_ms))
    if next_due_at is not None and next_due_at <= now_ms:
        await _until_done(store, upkeep.settle, Lane.TURNS)


async def clear_deleted_graphs(store: AsyncStore) -> None:
    """Remove what deleted graphs have left."""
    if await store.read(graph.has_deleted):
        await _until_done(store, graph.clear_deleted, Lane.BULK)


async def prune(store: AsyncStore) -> None:
    await _until_done(store, upkeep.prune_history, Lane.BULK)
    await _until_done(store, upkeep.prune_runs, Lane.BULK)
    await _until_done(store, upkeep.prune_calls, Lane.BULK)
    await _until_done(store, upkeep.prune_activities, Lane.BULK)
    await _until_done(store, watch.clear_old_queue, Lane.BULK)
    await _until_done(store, watch.forget_given, Lane.BULK)
    await _until_done(store, stream.forget_old, Lane.BULK)


async def sweep_blobs(store: AsyncStore) -> int:
    """Look through all values of the graphs that have old blobs; how many blobs went."""
    old = await store.read(upkeep.old_blobs)
    removed = 0
    for graph_id in sorted({blob.graph_id for blob in old}):
        used: set[str] = set()
        after: str | None = ""
        while after is not None:
            page, after = await store.read(partial(upkeep.mentioned, graph_id=graph_id, after=after))
            used |= page
        mine = [blob for blob in old if blob.graph_id == graph_id]
        for piece in (mine[i : i + 100] for i in range(0, len(mine), 100)):
            removed += await store.write(partial(upkeep.remove_unused, old=piece, used=used), Lane.BULK)
    return removed


async def _until_done(store: AsyncStore, piece: Callable[[Transaction], bool], lane: Lane) -> None:
    while await store.write(piece, lane):
        pass
