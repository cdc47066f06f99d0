"""The session a run lives in: found, or made under its alias (blobhub 4.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blobhub.anonymous import add_hint
from blobhub.answer import record_of
from blobhub.errors import CommandError, Conflict, PermissionDenied
from blobhub.types.workflow.ids import is_id_in_any_spelling

if TYPE_CHECKING:
    from blobhub.revision import Revision


def session_id_for(revision: Revision, session: str | None) -> str:
    """The id of an open session: a new one for None, else the one with this id or alias, made when no alias has it.

    ValueError for a blank; PermissionDenied for an id that is absent or not accessible, as nobody makes an id;
    Conflict `session_not_open`.
    """
    if session is None:
        return _id(record_of(revision.command("create_session"), "session"))
    if not isinstance(session, str) or not session.strip():
        raise ValueError(f"a session is named by its id or alias, got {session!r}")
    return _id(_open(_find(revision, session) or _create(revision, session), session))


def _find(revision: Revision, session: str) -> dict[str, Any] | None:
    """The session's record; None for an alias nobody has, so far as can be told."""
    try:
        return _get(revision, session)
    except PermissionDenied as error:
        denied = error
    if is_id_in_any_spelling(session):
        raise _absent(revision, session, denied)
    return None


def _create(revision: Revision, alias: str) -> dict[str, Any]:
    try:
        return record_of(revision.command("create_session", alias=alias), "session")
    except CommandError as error:
        if error.error != "alias_in_use":
            raise
    return _get(revision, alias)  # another caller was first, and theirs will do


def _get(revision: Revision, session: str) -> dict[str, Any]:
    return record_of(revision.query("get_session", session_id=session), "session")


def _open(record: dict[str, Any], session: str) -> dict[str, Any]:
    if record.get("status") != "open":
        raise Conflict("session_not_open", f"the session {session!r} is {record.get('status')}; name an open one")
    return record


def _absent(revision: Revision, session: str, denied: PermissionDenied) -> PermissionDenied:
    text = f"the session {session!r} is absent or not accessible, and a session is never made under an id"
    error = PermissionDenied(denied.error, text, denied.status, retry_after=denied.retry_after, details=denied.details)
    if revision.client.anonymous:
        add_hint(error)
    return error


def _id(record: dict[str, Any]) -> str:
    return str(record["id"])
