"""The feed of a session's changes (blobhub 3.7). Its times never fall: they are kept with the session's row."""

import uuid
from typing import Any

import msgspec

from turnbuckle.operations.hub_time import micro_iso, now_us
from turnbuckle.store import hub_session as sessions
from turnbuckle.store.hub_rows import Session, SessionEvent
from turnbuckle.store.transaction import Transaction


def tick(tx: Transaction, session: Session) -> Session:
    """The session with the time and the sequence of its next change; the caller has it locked and saves it."""
    at_us = max(now_us(tx), session.last_at_us)
    return msgspec.structs.replace(session, last_at_us=at_us, sequence=session.sequence + 1)


def add_event(tx: Transaction, session: Session, type: str, body: dict[str, Any] | None = None) -> Session:
    """The session after the event; the caller has it locked and saves it."""
    told = tick(tx, session)
    event = SessionEvent(
        graph_id=session.graph_id,
        session_id=session.session_id,
        created_at_us=told.last_at_us,
        sequence=told.sequence,
        event_id=str(uuid.uuid4()),
        type=type,
        body=msgspec.json.encode(body or {}),
    )
    sessions.add_event(tx, event)
    return told


def of_event(session: Session, event: SessionEvent) -> dict[str, Any]:
    return {
        "id": event.event_id,
        "revision_id": session.revision_id,
        "session_id": session.session_id,
        "created_at": micro_iso(event.created_at_us),
        "type": event.type,
        **msgspec.json.decode(event.body),
    }
