"""Threads: the items under a session object of type `thread` (blobhub 3.9)."""

import uuid
from typing import Any

import msgspec
from msgspec import Raw

from turnbuckle.operations import hub_cursor, hub_waiting
from turnbuckle.operations.hub_object import find_envelope
from turnbuckle.operations.hub_place import Place
from turnbuckle.operations.hub_session import find_by_id, find_open
from turnbuckle.operations.hub_session_feed import add_event, tick
from turnbuckle.operations.hub_time import micro_iso, span
from turnbuckle.store import hub_session as sessions
from turnbuckle.store import hub_thread as threads
from turnbuckle.store.hub_rows import Session, ThreadItem
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import hub_limits
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.hub_thread import (
    HubGetSessionThreadItemRequest,
    HubListSessionThreadItemsRequest,
    HubPostSessionThreadItemRequest,
)

_NAMESPACE = uuid.UUID("b7a0a7c4-0a0b-5d4e-9d35-58d0d1a5f2f3")  # of items that the runner posts


def post(tx: Transaction, place: Place, request: HubPostSessionThreadItemRequest) -> dict[str, Any]:
    """Append an item. HubRefused(invalid_thread_envelope | thread_item_too_large)."""
    session = find_open(tx, place, request.session_id)
    find_envelope(tx, session, request.alias, "thread")
    item_id = _new_id(place)
    known = threads.get(tx, place.graph_id, session.session_id, request.alias, item_id)
    if known is not None:  # the runner's step again
        return {"item": of_item(session, known)}
    ticked = tick(tx, session)
    item = ThreadItem(
        graph_id=place.graph_id,
        session_id=session.session_id,
        alias=request.alias,
        created_at_us=ticked.last_at_us,
        sequence=ticked.sequence,
        item_id=item_id,
        user_id=place.visitor.user_id,
        content=msgspec.json.encode(request.content),
        parent_id=request.parent_id.encode() if isinstance(request.parent_id, str) else None,
        metadata=msgspec.json.encode(request.metadata) if isinstance(request.metadata, dict) else None,
    )
    shown = of_item(session, item)
    if len(msgspec.json.encode(shown)) > hub_limits.THREAD_ITEM_BYTES:
        raise HubRefused("thread_item_too_large", "the item would have 65,536 bytes or more")
    threads.add(tx, item)
    body = {"session_object": {"alias": request.alias}, "alias": request.alias, "item_id": item_id}
    sessions.save(tx, session, add_event(tx, ticked, "session_thread_item_posted", body))
    topic = hub_waiting.thread_of(session.session_id, request.alias)
    hub_waiting.tell(tx, place.graph_id, topic, {"item_id": item_id}, by=item.user_id)
    return {"item": shown}


def _new_id(place: Place) -> str:
    """Random; for a step of the runner the same on every attempt."""
    visitor = place.visitor
    if visitor.execution_id is None or visitor.effect_id is None:
        return str(uuid.uuid4())
    return str(uuid.uuid5(_NAMESPACE, f"{visitor.execution_id}/{visitor.effect_id}"))


def list_page(tx: Transaction, place: Place, request: HubListSessionThreadItemsRequest) -> dict[str, Any]:
    """Newest first unless `ascending`."""
    session = find_by_id(tx, place, request.session_id)
    find_envelope(tx, session, request.alias, "thread")
    asked = span(request, hub_cursor.read_place(request.cursor))
    found = threads.page(tx, place.graph_id, session.session_id, request.alias, asked, request.rows + 1)
    page = found[: request.rows]
    cursor = hub_cursor.of_place(page[-1].created_at_us, page[-1].sequence) if len(found) > len(page) else None
    return {"items": [of_item(session, one) for one in page], "cursor": cursor}


def get(tx: Transaction, place: Place, request: HubGetSessionThreadItemRequest) -> dict[str, Any]:
    """HubRefused(not_found) when the session's thread of that alias has no such item."""
    session = find_by_id(tx, place, request.session_id)
    item = threads.get(tx, place.graph_id, session.session_id, request.alias, request.item_id)
    if item is None:
        raise HubRefused("not_found", f"the thread {request.alias[:80]} has no item {request.item_id}")
    return {"item": of_item(session, item)}


def of_item(session: Session, item: ThreadItem) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": item.item_id,
        "session_id": session.session_id,
        "revision_id": session.revision_id,
        "alias": item.alias,
        "created_at": micro_iso(item.created_at_us),
        "user_id": item.user_id,
        "content": Raw(item.content),
    }
    if item.parent_id is not None:
        shown["parent_id"] = item.parent_id.decode()
    if item.metadata is not None:
        shown["metadata"] = Raw(item.metadata)
    return shown
