"""What happens without a request: attempts that ended by themselves, old history, runs and model calls, unused blobs.

Each function does a bounded piece of work and says whether there may be more.
"""

import itertools

from turnbuckle.engine import activity as activity_rules
from turnbuckle.engine import blob as blob_rules
from turnbuckle.engine import instance as instance_rules
from turnbuckle.engine.instance import Instance
from turnbuckle.operations.inbox import Inbox
from turnbuckle.store import activity as activities
from turnbuckle.store import blob as blobs
from turnbuckle.store import call as calls
from turnbuckle.store import instance as instances
from turnbuckle.store import run as runs
from turnbuckle.store import turn as turns
from turnbuckle.store.blob import OldBlob
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits

SETTLED_AT_ONCE = 100
ROWS_AT_ONCE = 1_000  # decision 17
TURNS_AT_ONCE = 10  # with up to 64 steps each
USERS_AT_ONCE = 200
UNUSED_MS = limits.HOUR_MS


def settle(tx: Transaction) -> bool:
    """Let attempts whose lease or deadline has passed fail, also when no worker polls (decision 13)."""
    due = instances.due(tx, SETTLED_AT_ONCE)
    for graph_id, instance_id in due:
        instance = instances.lock(tx, graph_id, instance_id)
        if instance is not None:
            Inbox(tx, instance).save()
    return len(due) == SETTLED_AT_ONCE


def next_due_at(tx: Transaction) -> int | None:
    return instances.next_due_at(tx)


def prune_history(tx: Transaction) -> bool:
    """Remove finished turns that are neither among the newest 256 nor of the last day (lbb-engine 4.9)."""
    found = instances.prunable(tx, 1)
    for graph_id, instance_id in found:
        instance = instances.lock(tx, graph_id, instance_id)
        if instance is not None:
            _prune(tx, instance)
    return bool(found)


def _prune(tx: Transaction, instance: Instance) -> None:
    after = instance.pruned_through
    through = min(instance.last_turn - limits.HISTORY_TURNS, (instance.head or instance.last_turn + 1) - 1)
    where = (instance.graph_id, instance.instance_id, after)
    rows = turns.prunable(tx, *where, through, TURNS_AT_ONCE)
    old = list(itertools.takewhile(lambda row: row[1] is not None and row[1] < tx.now_ms - limits.HISTORY_MS, rows))
    if old:
        turns.prune(tx, *where, old[-1][0], instance.state_turn)
    pruned_through = old[-1][0] if old else after
    instances.save(tx, instance, instance_rules.pruned(instance, pruned_through, _look_again_at(rows, old, tx.now_ms)))


def _look_again_at(rows: list[tuple[int, int | None]], old: list[tuple[int, int | None]], now_ms: int) -> int | None:
    if len(old) < len(rows):
        return (rows[len(old)][1] or now_ms) + limits.HISTORY_MS + 1  # the next is not a day old yet
    return now_ms if len(rows) == TURNS_AT_ONCE else None


def prune_runs(tx: Transaction) -> bool:
    """Remove run records after 30 days."""
    return runs.remove_ended_before(tx, tx.now_ms - limits.RUN_MS, ROWS_AT_ONCE) == ROWS_AT_ONCE


def prune_calls(tx: Transaction) -> bool:
    """Remove logged model calls after 31 days."""
    return calls.remove_before(tx, tx.now_ms - limits.CALL_MS, ROWS_AT_ONCE) == ROWS_AT_ONCE


def prune_activities(tx: Transaction) -> bool:
    """Remove stored answers after 30 days, unless the turn that asked is still there and may ask again."""
    old = activities.kept_until(tx, tx.now_ms, ROWS_AT_ONCE)
    for activity in old:
        if activities.has_turn(tx, activity):
            activities.save(tx, activity, activity_rules.keep_on(activity, tx.now_ms))
        else:
            activities.remove(tx, activity)
    return len(old) == ROWS_AT_ONCE


# -- blobs: found unused by two sweeps at least an hour apart, then removed ---------------------------------------


def old_blobs(tx: Transaction) -> list[OldBlob]:
    """Those that nobody has written for a day."""
    return blobs.not_written_since(tx, tx.now_ms - limits.BLOB_MS)


def mentioned(tx: Transaction, graph_id: str, after: str) -> tuple[set[str], str | None]:
    """The hashes that a page of instances mentions, and where the next page begins."""
    users = blobs.users(tx, graph_id, after, USERS_AT_ONCE)
    found = {sha256 for user in users for value in blobs.values(tx, user) for sha256 in blob_rules.mentions(value)}
    return found, users[-1].instance_id if len(users) == USERS_AT_ONCE else None


def remove_unused(tx: Transaction, old: list[OldBlob], used: set[str]) -> int:
    """Mark what the sweep found unused and remove what an earlier one had marked; how many went."""
    removed = 0
    for blob in old:
        blobs.mark(tx, blob, blob.sha256 in used)
        if blob.sha256 not in used:
            removed += blobs.remove_unused(tx, blob, tx.now_ms - limits.BLOB_MS, tx.now_ms - UNUSED_MS)
    return removed
