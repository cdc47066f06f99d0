"""A session: open, then closed or deleted, with the runs that live in it (blobhub 3.3, decisions 37, 38 and 52).

Closing and deleting end the session's runs; a change takes two steps while runs are live, one when there are none.
"""

from typing import Final

import msgspec
from msgspec.structs import replace

from turnbuckle.hub.alias import check_alias
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_limits import SESSION_KEPT_MS

OPEN: Final = "open"  # closed -> open, by open
CLOSING: Final = "closing"  # open -> closing, by close, while its runs end
CLOSED: Final = "closed"  # open or closing -> closed, when no run is live
DELETING: Final = "deleting"  # open or closed -> deleting, by delete, while its runs end
DELETED: Final = "deleted"  # deleting -> deleted, when no run is live: then it is gone, a 403

# What the session's change feed tells of a change of status (3.7). A delete from open never tells `session_closed`.
_EVENTS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    (OPEN, CLOSING): ("session_closing",),
    (OPEN, CLOSED): ("session_closing", "session_closed"),
    (CLOSING, CLOSED): ("session_closed",),
    (OPEN, DELETING): ("session_deleting",),
    (CLOSED, DELETING): ("session_deleting",),
    (OPEN, DELETED): ("session_deleting", "session_deleted"),
    (CLOSED, DELETED): ("session_deleting", "session_deleted"),
    (DELETING, DELETED): ("session_deleted",),
}


class Session(msgspec.Struct, frozen=True):
    session_id: str
    revision_id: str
    status: str
    created_at_ms: int
    updated_at_ms: int
    alias: str | None = None
    description: str | None = None
    user_id: str | None = None

    @property
    def is_open(self) -> bool:
        return self.status == OPEN


def create(
    session_id: str,
    revision_id: str,
    now_ms: int,
    *,
    alias: str | None = None,
    description: str | None = None,
    user_id: str | None = None,
) -> Session:
    """HubRefused(invalid_request_body) for a bad alias. Whether it is in use, the store knows."""
    if alias is not None:
        check_alias(alias)
    return Session(session_id, revision_id, OPEN, now_ms, now_ms, alias, description, user_id)


def check_open(session: Session) -> None:
    """Before any write in it. HubRefused(session_not_open)."""
    if session.status != OPEN:
        raise HubRefused("session_not_open", f"the session is {session.status}, expected open")


def update(session: Session, now_ms: int, *, alias: str | None = None, description: str | None = None) -> Session:
    """Another alias or description; None leaves it. HubRefused(session_not_open, invalid_request_body)."""
    check_open(session)
    if alias is not None:
        check_alias(alias)
    return replace(
        session,
        alias=session.alias if alias is None else alias,
        description=session.description if description is None else description,
        updated_at_ms=now_ms,
    )


def close(session: Session, live_runs: int, now_ms: int) -> Session:
    """Closed, or closing while runs end. A session that is closing or closed stays as it is: closing can be repeated.

    HubRefused(session_not_open) when it is being deleted.
    """
    if session.status in (CLOSING, CLOSED):
        return session
    check_open(session)
    return _at(session, CLOSING if live_runs else CLOSED, now_ms)


def reopen(session: Session, now_ms: int) -> Session:
    """HubRefused(session_not_open) while it is closing or being deleted."""
    if session.status == OPEN:
        return session
    if session.status != CLOSED:
        raise HubRefused("session_not_open", f"the session is {session.status}; only a closed one can be opened again")
    return _at(session, OPEN, now_ms)


def delete(session: Session, live_runs: int, now_ms: int) -> Session:
    """Deleted, or deleting while runs end. HubRefused(session_not_open) while it is closing."""
    if session.status == DELETING:
        return session
    if session.status == CLOSING:
        raise HubRefused("session_not_open", "the session is closing; delete it when it is closed")
    return _at(session, DELETING if live_runs else DELETED, now_ms)


def without_runs(session: Session, now_ms: int) -> Session:
    """The last live run has ended: what waited for it happens."""
    after = {CLOSING: CLOSED, DELETING: DELETED}.get(session.status)
    return session if after is None else _at(session, after, now_ms)


def events_of(before: Session, after: Session) -> tuple[str, ...]:
    """The types of the session events that this change writes, in order."""
    return _EVENTS.get((before.status, after.status), ())


def expires_at_ms(session: Session, live_runs: int, last_ended_at_ms: int | None) -> int | None:
    """When a session that nobody named is deleted: 7 days after its last run or its making; None: never."""
    if session.alias is not None or live_runs:
        return None
    return max(session.created_at_ms, last_ended_at_ms or 0) + SESSION_KEPT_MS


def _at(session: Session, status: str, now_ms: int) -> Session:
    return replace(session, status=status, updated_at_ms=now_ms)
