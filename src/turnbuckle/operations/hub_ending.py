"""How runs and sessions end: stopped by a person, with their session, with their parent (decisions 37, 38 and 52).

A run that nobody has in hand ends at once; a component that runs has 5 s. What cannot be done in the request itself
is done by upkeep, a bounded piece at a time. Locks: revision, session, engine instance, execution.
"""

import msgspec

from turnbuckle.engine import turn as turn_rules
from turnbuckle.engine.turn import HELD
from turnbuckle.hub import execution as rules
from turnbuckle.hub import session as session_rules
from turnbuckle.operations import hub_turn, hub_waiting
from turnbuckle.operations.hub_session_feed import add_event
from turnbuckle.operations.hub_time import now_us
from turnbuckle.operations.inbox import Inbox
from turnbuckle.store import hub_execution as executions
from turnbuckle.store import hub_revision as revisions
from turnbuckle.store import hub_session as sessions
from turnbuckle.store import instance as instances
from turnbuckle.store.hub_rows import Execution, Session
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import hub_limits

RUNS_AT_ONCE = 50
ROWS_AT_ONCE = 1_000  # decision 17

# -- one run -----------------------------------------------------------------------------------------------------


def stop(tx: Transaction, graph_id: str, execution_id: str) -> Execution | None:
    """Asked for by a person. HubRefused(invalid_execution_status) unless it is running."""
    return _end(tx, graph_id, execution_id, None)


def end_run(tx: Transaction, graph_id: str, execution_id: str, reason: rules.StopReason) -> Execution | None:
    """Because its session or its parent ends; one that has ended stays as it is."""
    return _end(tx, graph_id, execution_id, reason)


def _end(tx: Transaction, graph_id: str, execution_id: str, reason: rules.StopReason | None) -> Execution | None:
    inboxes = _inboxes(tx, graph_id, execution_id)
    row = executions.lock(tx, graph_id, execution_id)
    if row is None:
        return None
    before, is_parked = hub_turn.rule_of(row), not any(_is_held(inbox) for inbox in inboxes)
    if reason is None:
        after = rules.stop(before, is_parked, tx.now_ms)
    else:
        after = rules.end_with(before, reason, is_parked, tx.now_ms)
    if after is before:
        return row
    executions.save(tx, row, hub_turn.decided(row, after))
    tx.announce(*hub_turn.TOPIC)
    if is_parked:
        _cancel(tx, graph_id, execution_id, inboxes)
    for child in executions.open_children(tx, graph_id, execution_id):
        end_run(tx, graph_id, child, "parent_ended")
    return executions.get(tx, graph_id, execution_id)


def _inboxes(tx: Transaction, graph_id: str, execution_id: str) -> list[Inbox]:
    """The engine's instances of the run, locked: its own first, then its branches."""
    found = []
    for instance_id in executions.instances(tx, graph_id, rules.instance_id(execution_id)):
        instance = instances.lock(tx, graph_id, instance_id)
        if instance is not None:
            found.append(Inbox(tx, instance))
    return found


def _is_held(inbox: Inbox) -> bool:
    return inbox.head is not None and inbox.head.status == HELD


def _is_busy(inbox: Inbox) -> bool:
    """Whether a component runs there right now."""
    return _is_held(inbox) and inbox.running is not None


def _cancel(tx: Transaction, graph_id: str, execution_id: str, inboxes: list[Inbox]) -> None:
    """End its turns, the branches' first; with its own last one the execution ends."""
    for inbox in reversed(inboxes):
        while inbox.head is not None:
            inbox.put(turn_rules.cancel(inbox.head, tx.now_ms))
        inbox.save()
    row = executions.lock(tx, graph_id, execution_id)
    if row is not None and row.ended_at_us is None:  # it had no turn to end
        executions.save(tx, row, hub_turn.end(tx, row, rules.stopped(hub_turn.rule_of(row), tx.now_ms)))


# -- sessions ----------------------------------------------------------------------------------------------------


def close_session(tx: Transaction, session: Session) -> Session:
    """The locked session on its way to closed. HubRefused(session_not_open) when it is being deleted."""
    before = session_rule(session)
    session_rules.close(before, 0, tx.now_ms)  # whether it may be, before any run ends
    live = _end_runs(tx, session, "session_closed")
    return _save_session(tx, session, before, session_rules.close(before, live, tx.now_ms))


def delete_session(tx: Transaction, session: Session) -> Session:
    """The locked session on its way to deleted; its revision is locked too."""
    before = session_rule(session)
    session_rules.delete(before, 0, tx.now_ms)
    live = _end_runs(tx, session, "session_deleted")
    return _save_session(tx, session, before, session_rules.delete(before, live, tx.now_ms))


def _end_runs(tx: Transaction, session: Session, reason: rules.StopReason) -> int:
    """How many runs of the session live on, for now; counted up to a few."""
    for execution_id in executions.open_in(tx, session.graph_id, session.session_id, RUNS_AT_ONCE):
        end_run(tx, session.graph_id, execution_id, reason)
    return len(executions.open_in(tx, session.graph_id, session.session_id, 1))


def _save_session(
    tx: Transaction, session: Session, before: session_rules.Session, after: session_rules.Session
) -> Session:
    """The session after its change of status, with the events that tell of it."""
    if after.status == session.status:
        return session
    changed = msgspec.structs.replace(session, status=after.status, updated_at_us=now_us(tx))
    for type in session_rules.events_of(before, after):
        changed = add_event(tx, changed, type)
    if after.status == session_rules.DELETED:
        changed = msgspec.structs.replace(changed, alias=None)  # free for another
        _count_down(tx, session)
    sessions.save(tx, session, changed)
    tx.announce(*hub_turn.TOPIC)
    return changed


def _count_down(tx: Transaction, session: Session) -> None:
    revision = revisions.lock(tx, session.graph_id, session.revision_id)
    assert revision is not None
    revisions.save(tx, revision, msgspec.structs.replace(revision, sessions=revision.sessions - 1))


def session_rule(session: Session) -> session_rules.Session:
    """The row as the rules see it."""
    return session_rules.Session(
        session.session_id,
        session.revision_id,
        session.status,
        session.created_at_us // 1_000,
        session.updated_at_us // 1_000,
        session.alias,
        None if session.description is None else session.description.decode(),
        session.user_id,
    )


# -- upkeep ------------------------------------------------------------------------------------------------------


def has_work(tx: Transaction) -> bool:
    """Whether one of the pieces below may have something to do."""
    return bool(executions.untold(tx, 1) or executions.stopping(tx, 1) or sessions.unsettled(tx, 1))


def settle_stopping(tx: Transaction) -> bool:
    """Cancel the turns of runs that were told to stop: once no component runs, or its 5 s are over."""
    found = executions.stopping(tx, RUNS_AT_ONCE)
    ended = 0
    for graph_id, execution_id in found:
        inboxes = _inboxes(tx, graph_id, execution_id)
        row = executions.lock(tx, graph_id, execution_id)
        if row is None or row.stop_by_us is None or row.ended_at_us is not None:
            continue
        if row.stop_by_us <= now_us(tx) or not any(_is_busy(inbox) for inbox in inboxes):
            _cancel(tx, graph_id, execution_id, inboxes)
            ended += 1
    return ended == RUNS_AT_ONCE


def tell_of_ends(tx: Transaction) -> bool:
    """Tell the session and those who wait of an execution that has ended; its children and branches end with it."""
    found = executions.untold(tx, 1)
    for graph_id, execution_id in found:
        _tell(tx, graph_id, execution_id)
    return bool(found)


def _tell(tx: Transaction, graph_id: str, execution_id: str) -> None:
    row = executions.get(tx, graph_id, execution_id)
    assert row is not None  # one that has ended changes no more
    _lock_revision_and_session(tx, graph_id, row.session_id)
    session = sessions.lock(tx, graph_id, row.session_id)
    if session is not None:
        body = {"execution_id": execution_id, "status": row.status}
        told = add_event(tx, session, "execution_ended", body)
        sessions.save(tx, session, told)
    for inbox in reversed(_inboxes(tx, graph_id, execution_id)):
        while inbox.head is not None:  # branches that are still open
            inbox.put(turn_rules.cancel(inbox.head, tx.now_ms))
        inbox.save()
    for child in executions.open_children(tx, graph_id, execution_id):
        end_run(tx, graph_id, child, "parent_ended")
    hub_waiting.tell(
        tx, graph_id, hub_waiting.end_of(execution_id), {"execution_id": execution_id, "status": row.status}
    )
    ended = executions.lock(tx, graph_id, execution_id)
    if ended is not None:
        executions.save(tx, ended, msgspec.structs.replace(ended, is_told=1))
    _settle_session(tx, graph_id, row.session_id)


def settle_sessions(tx: Transaction) -> bool:
    """End what still runs in sessions that are closing or deleted, and remove what deleted ones held."""
    worked = False
    for graph_id, session_id, status in sessions.unsettled(tx, RUNS_AT_ONCE):
        if status == session_rules.DELETED:
            worked |= _clear(tx, graph_id, session_id)
        else:
            worked |= _settle_session(tx, graph_id, session_id)
    return worked


def _settle_session(tx: Transaction, graph_id: str, session_id: str) -> bool:
    """Whether a session that waited for its runs has got further."""
    _lock_revision_and_session(tx, graph_id, session_id)
    session = sessions.lock(tx, graph_id, session_id)
    if session is None or session.status not in (session_rules.CLOSING, session_rules.DELETING):
        return False
    reason: rules.StopReason = "session_closed" if session.status == session_rules.CLOSING else "session_deleted"
    if _end_runs(tx, session, reason):
        return False
    before = session_rule(session)
    _save_session(tx, session, before, session_rules.without_runs(before, tx.now_ms))
    return True


def _lock_revision_and_session(tx: Transaction, graph_id: str, session_id: str) -> None:
    """In that order: a session that ends for good counts down in its revision."""
    session = sessions.get(tx, graph_id, session_id)
    if session is not None:
        revisions.lock(tx, graph_id, session.revision_id)


def _clear(tx: Transaction, graph_id: str, session_id: str) -> bool:
    """Remove a piece of a deleted session."""
    found = executions.of_session(tx, graph_id, session_id, 10)
    for execution_id in found:
        for instance_id in executions.instances(tx, graph_id, rules.instance_id(execution_id)):
            instances.lock(tx, graph_id, instance_id)
            instances.delete(tx, graph_id, instance_id)
        executions.delete(tx, graph_id, execution_id)
    if not found and not sessions.clear(tx, graph_id, session_id, ROWS_AT_ONCE):
        sessions.delete(tx, graph_id, session_id)
    return True


def expire_sessions(tx: Transaction) -> bool:
    """Delete sessions without alias that were last used 7 days ago (decision 38)."""
    found = sessions.expired(tx, now_us(tx) - hub_limits.SESSION_KEPT_MS * 1_000, 20)
    for graph_id, session_id in found:
        _lock_revision_and_session(tx, graph_id, session_id)
        session = sessions.lock(tx, graph_id, session_id)
        if session is not None and session.status in (session_rules.OPEN, session_rules.CLOSED):
            delete_session(tx, session)
    return bool(found)
