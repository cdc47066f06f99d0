"""Sessions: made, read, closed, opened, deleted; and the feed of their changes (blobhub 3.3, 3.7).

A session's row is locked after its revision's and before its executions'. hub_ending.py ends its runs.
"""

import uuid
from typing import Any

import msgspec

from turnbuckle.hub import alias as aliases
from turnbuckle.hub import limits as limit_rules
from turnbuckle.hub import session as rules
from turnbuckle.operations import hub_blob, hub_cursor, hub_ending
from turnbuckle.operations.hub_place import Place, denied
from turnbuckle.operations.hub_session_feed import of_event
from turnbuckle.operations.hub_time import micro_iso, now_us, span
from turnbuckle.store import hub_revision as revisions
from turnbuckle.store import hub_session as sessions
from turnbuckle.store.hub_rows import Session
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_session import (
    HubCloseSessionRequest,
    HubCreateSessionRequest,
    HubDeleteSessionRequest,
    HubGetSessionRequest,
    HubListSessionEventsRequest,
    HubListSessionsRequest,
    HubOpenSessionRequest,
    HubUpdateSessionRequest,
)

# -- changing ----------------------------------------------------------------------------------------------------


def create(tx: Transaction, place: Place, request: HubCreateSessionRequest) -> dict[str, Any]:
    """HubRefused(invalid_request_body | alias_in_use | limit_exceeded)."""
    revision, at_us = place.revision, now_us(tx)
    alias = request.alias if isinstance(request.alias, str) else None
    asked = rules.create(str(uuid.uuid4()), revision.revision_id, tx.now_ms, alias=alias)
    made = Session(
        graph_id=place.graph_id,
        session_id=asked.session_id,
        revision_id=revision.revision_id,
        alias=alias,
        description=request.description.encode() if isinstance(request.description, str) else None,
        status=asked.status,
        user_id=place.visitor.user_id,
        executions=0,
        last_at_us=at_us,
        sequence=0,
        created_at_us=at_us,
        updated_at_us=at_us,
    )
    if not sessions.add(tx, made):
        raise _taken(alias)
    limit_rules.check_limit(limit_rules.SESSIONS, revision.sessions, hub_blob.overrides(place.blob))
    revisions.save(tx, revision, msgspec.structs.replace(revision, sessions=revision.sessions + 1))
    return {"session": of_session(made)}


def update(tx: Transaction, place: Place, request: HubUpdateSessionRequest) -> dict[str, Any]:
    """Another alias or description. HubRefused(session_not_open | invalid_request_body | alias_in_use)."""
    session = find(tx, place, request.session_id, lock=True)
    alias = request.alias if isinstance(request.alias, str) else None
    after = rules.update(hub_ending.session_rule(session), tx.now_ms, alias=alias)
    known = None if alias is None else sessions.by_alias(tx, place.graph_id, session.revision_id, alias)
    if known is not None and known.session_id != session.session_id:
        raise _taken(alias)
    changed = msgspec.structs.replace(session, alias=after.alias, updated_at_us=now_us(tx))
    if isinstance(request.description, str):
        changed = msgspec.structs.replace(changed, description=request.description.encode())
    sessions.save(tx, session, changed)
    return {"session": of_session(changed)}


def close(tx: Transaction, place: Place, request: HubCloseSessionRequest) -> dict[str, Any]:
    """End its runs; it is closed when they have ended, at once when there are none."""
    session = find(tx, place, request.session_id, lock=True)
    return {"session": of_session(hub_ending.close_session(tx, session))}


def reopen(tx: Transaction, place: Place, request: HubOpenSessionRequest) -> dict[str, Any]:
    session = find(tx, place, request.session_id, lock=True)
    after = rules.reopen(hub_ending.session_rule(session), tx.now_ms)
    changed = msgspec.structs.replace(session, status=after.status, updated_at_us=now_us(tx))
    sessions.save(tx, session, changed)
    return {"session": of_session(changed)}


def delete(tx: Transaction, place: Place, request: HubDeleteSessionRequest) -> dict[str, Any]:
    """End its runs; it is gone when they have ended, and upkeep removes what it held."""
    session = find(tx, place, request.session_id, lock=True)
    hub_ending.delete_session(tx, session)
    return {}


def _taken(alias: str | None) -> HubRefused:
    return HubRefused("alias_in_use", f"the revision has a session {alias!r} already")


# -- finding -----------------------------------------------------------------------------------------------------


def find(tx: Transaction, place: Place, name: str, *, lock: bool = False) -> Session:
    """By id or alias, on this revision. HubRefused(access_denied) when it is absent, elsewhere or deleted."""
    kind, key = aliases.session_key(name)
    if kind == "id":
        return find_by_id(tx, place, key, lock=lock)
    known = sessions.by_alias(tx, place.graph_id, place.revision.revision_id, key)
    if known is None:
        raise denied(f"the session {name}")
    return find_by_id(tx, place, known.session_id, lock=lock)


def find_by_id(tx: Transaction, place: Place, session_id: str, *, lock: bool = False) -> Session:
    look = sessions.lock if lock else sessions.get
    found = look(tx, place.graph_id, session_id)
    if found is None or found.revision_id != place.revision.revision_id or found.status == rules.DELETED:
        raise denied(f"the session {session_id}")
    return found


def find_open(tx: Transaction, place: Place, session_id: str) -> Session:
    """The session for a write in it, locked. HubRefused(access_denied | session_not_open)."""
    session = find_by_id(tx, place, session_id, lock=True)
    rules.check_open(hub_ending.session_rule(session))
    return session


# -- reading -----------------------------------------------------------------------------------------------------


def get(tx: Transaction, place: Place, request: HubGetSessionRequest) -> dict[str, Any]:
    return {"session": of_session(find(tx, place, request.session_id))}


def list_page(tx: Transaction, place: Place, request: HubListSessionsRequest) -> dict[str, Any]:
    """Newest first unless `ascending`."""
    after = hub_cursor.read_named_place(request.cursor)
    revision_id = place.revision.revision_id
    found = sessions.page(tx, place.graph_id, revision_id, after, request.rows + 1, request.ascending)
    page = found[: request.rows]
    has_more = len(found) > len(page)
    cursor = hub_cursor.of_place(page[-1].created_at_us, page[-1].session_id) if has_more else None
    return {"sessions": [of_session(one) for one in page], "cursor": cursor}


def list_events(tx: Transaction, place: Place, request: HubListSessionEventsRequest) -> dict[str, Any]:
    session = find(tx, place, request.session_id)
    asked = span(request, hub_cursor.read_place(request.cursor))
    found = sessions.events(tx, place.graph_id, session.session_id, asked, request.rows + 1)
    page = found[: request.rows]
    cursor = hub_cursor.of_place(page[-1].created_at_us, page[-1].sequence) if len(found) > len(page) else None
    return {"session_events": [of_event(session, one) for one in page], "cursor": cursor}


def of_session(session: Session) -> dict[str, Any]:
    return {
        "id": session.session_id,
        "revision_id": session.revision_id,
        "alias": session.alias,
        "description": None if session.description is None else session.description.decode(),
        "status": session.status,
        "user_id": session.user_id,
        "held": {limit_rules.EXECUTIONS: session.executions} if session.executions else {},
        "created_at": micro_iso(session.created_at_us),
        "updated_at": micro_iso(session.updated_at_us),
    }
