"""Following a listing by its cursor (blobhub 2.7)."""

from collections.abc import Callable, Iterator
from typing import Any

from blobhub.answer import invalid_response
from blobhub.errors import ServerError
from blobhub.wire_json import Envelope


def rows_of(ask: Callable[[str | None], Envelope], key: str) -> Iterator[dict[str, Any]]:
    """The objects under `key` of every page, each page asked for when it is needed. `ask` takes the cursor.

    The cursor alone ends a listing: a full last page is legal. ServerError `cursor_loop` for a cursor that came before,
    `invalid_response` for a page that is none.
    """
    cursor: str | None = None
    sent: set[str] = set()
    while True:
        page = ask(cursor)
        yield from _rows(page, key)
        cursor = _cursor(page)
        if cursor is None:
            return
        if cursor in sent:
            raise ServerError("cursor_loop", f"the listing of {key} came back to a cursor it had given before")
        sent.add(cursor)


def _rows(page: Envelope, key: str) -> list[dict[str, Any]]:
    rows = page.get(key)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise invalid_response(f"the answer has no list of objects {key}")
    return rows


def _cursor(page: Envelope) -> str | None:
    cursor = page.get("cursor")
    if cursor is not None and not isinstance(cursor, str):
        raise invalid_response("the cursor of the answer is no text")
    return cursor or None
