"""Objects and files of a session: typed values under an alias (blobhub 3.8)."""

from typing import Any

import msgspec
from msgspec import Raw

from turnbuckle.hub import alias as aliases
from turnbuckle.hub import value as values
from turnbuckle.operations import hub_cursor
from turnbuckle.operations.hub_place import Place
from turnbuckle.operations.hub_session import find_by_id, find_open
from turnbuckle.operations.hub_session_feed import add_event
from turnbuckle.operations.hub_time import micro_iso
from turnbuckle.store import hub_object as objects
from turnbuckle.store import hub_session as sessions
from turnbuckle.store.hub_rows import Object, Session
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import hub_limits
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_object import (
    HubDeleteSessionObjectRequest,
    HubDownloadSessionFileRequest,
    HubDownloadSessionObjectRequest,
    HubListSessionObjectsRequest,
    HubUploadSessionFileRequest,
    HubUploadSessionObjectRequest,
)


class _Typed(msgspec.Struct):
    type: str


def upload(tx: Transaction, place: Place, request: HubUploadSessionObjectRequest) -> dict[str, Any]:
    """Create or replace; of a thread or graph the envelope only. HubRefused(invalid_session_object_alias)."""
    aliases.check_object_alias(request.alias)
    value = bytes(request.value)
    values.check_value(value, "value")
    if len(value) > hub_limits.VALUE_BYTES:
        raise HubRefused("request_too_large", f"value: got {len(value)} bytes, expected at most 1 MiB")
    return {"object": _put(tx, place, request.session_id, request.alias, value, None)}


def upload_file(tx: Transaction, place: Place, request: HubUploadSessionFileRequest, data: bytes) -> dict[str, Any]:
    """A file as an object of type `file`, at most 4 MiB."""
    aliases.check_object_alias(request.alias)
    if len(data) != request.size:
        raise HubRefused("invalid_request_body", f"size: got {request.size}, the body has {len(data)} bytes")
    file = {
        "alias": request.alias,
        "name": request.name,
        "content_type": request.content_type,
        "size": request.size,
    }
    value = msgspec.json.encode({"type": "file", "file": file})
    return {"object": _put(tx, place, request.session_id, request.alias, value, data)}


def _put(
    tx: Transaction, place: Place, session_id: str, alias: str, value: bytes, file: bytes | None
) -> dict[str, Any]:
    session = find_open(tx, place, session_id)
    kind = msgspec.json.decode(value, type=_Typed).type
    known = objects.get(tx, place.graph_id, session.session_id, alias)
    told = add_event(tx, session, "session_object_modified", {"session_object": {"alias": alias, "type": kind}})
    made = Object(place.graph_id, session.session_id, alias, kind, value, file, told.last_at_us)
    objects.put(tx, known, made)
    sessions.save(tx, session, told)
    return of_object(session, made)


def delete(tx: Transaction, place: Place, request: HubDeleteSessionObjectRequest) -> dict[str, Any]:
    """With its items or elements. HubRefused(not_found)."""
    session = find_open(tx, place, request.session_id)
    known = _find(tx, session, request.alias)
    objects.delete(tx, place.graph_id, session.session_id, known.alias)
    body = {"session_object": {"alias": known.alias, "type": known.type}}
    sessions.save(tx, session, add_event(tx, session, "session_object_deleted", body))
    return {}


def download(tx: Transaction, place: Place, request: HubDownloadSessionObjectRequest) -> dict[str, Any]:
    """HubRefused(not_found) when the session has none of that alias."""
    session = find_by_id(tx, place, request.session_id)
    return {"object": of_object(session, _find(tx, session, request.alias))}


def download_file(
    tx: Transaction, place: Place, request: HubDownloadSessionFileRequest
) -> tuple[dict[str, Any], bytes]:
    """HubRefused(not_found) also when the object is no file."""
    session = find_by_id(tx, place, request.session_id)
    known = _find(tx, session, request.alias)
    if known.file is None:
        raise HubRefused("not_found", f"the object {known.alias} is a {known.type}, not a file")
    return {"object": of_object(session, known)}, bytes(known.file)


def list_page(tx: Transaction, place: Place, request: HubListSessionObjectsRequest) -> dict[str, Any]:
    """By alias. With a delimiter what lies deeper is told once, by its prefix up to the delimiter."""
    session = find_by_id(tx, place, request.session_id)
    prefix = request.prefix if isinstance(request.prefix, str) else ""
    delimiter = request.delimiter if isinstance(request.delimiter, str) else None
    after = hub_cursor.read_text(request.cursor) or ""
    if delimiter is None:
        found = objects.page(tx, place.graph_id, session.session_id, prefix, after, request.rows + 1)
        page = found[: request.rows]
        cursor = hub_cursor.of_text(page[-1].alias) if len(found) > len(page) else None
        return {"objects": [_of_listed(one) for one in page], "cursor": cursor}
    return _folders(tx, session, prefix, delimiter, after, request.rows)


def _folders(tx: Transaction, session: Session, prefix: str, delimiter: str, after: str, rows: int) -> dict[str, Any]:
    """A page counts objects and prefixes alike; after a prefix it goes on behind everything below it."""
    shown: list[dict[str, Any]] = []
    prefixes: list[str] = []
    while len(shown) + len(prefixes) <= rows:
        found = objects.page(tx, session.graph_id, session.session_id, prefix, after, 1)
        if not found:
            return {"objects": shown, "prefixes": prefixes, "cursor": None}
        if len(shown) + len(prefixes) == rows:
            break
        folder, sign, _ = found[0].alias.removeprefix(prefix).partition(delimiter)
        if sign:
            prefixes.append(prefix + folder + delimiter)
            after = prefixes[-1] + "\x7f"
        else:
            shown.append(_of_listed(found[0]))
            after = found[0].alias
    return {"objects": shown, "prefixes": prefixes, "cursor": hub_cursor.of_text(after)}


def _find(tx: Transaction, session: Session, alias: str) -> Object:
    known = objects.get(tx, session.graph_id, session.session_id, alias)
    if known is None:
        raise HubRefused("not_found", f"the session has no object {alias[:80]!r}")
    return known


def find_envelope(tx: Transaction, session: Session, alias: str, kind: str) -> Object:
    """The object that a thread or a graph lies under. HubRefused(invalid_thread_envelope | invalid_graph_envelope)."""
    aliases.check_object_alias(alias)
    known = objects.get(tx, session.graph_id, session.session_id, alias)
    if known is None or known.type != kind:
        got = "nothing" if known is None else f"a {known.type}"
        raise HubRefused(f"invalid_{kind}_envelope", f"alias: {alias} has {got}, expected a {kind}")
    return known


def of_object(session: Session, row: Object) -> dict[str, Any]:
    return {
        "revision_id": session.revision_id,
        "session_id": session.session_id,
        "alias": row.alias,
        "updated_at": micro_iso(row.updated_at_us),
        "value": Raw(row.value),
    }


def _of_listed(row: objects.Listed) -> dict[str, Any]:
    return {"alias": row.alias, "type": row.type, "updated_at": micro_iso(row.updated_at_us)}
