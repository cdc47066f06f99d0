"""Cursors of listings: opaque to clients, pinned to the place where the page ended.

HubRefused(invalid_cursor) for one that this server did not give.
"""

import base64
import binascii

from turnbuckle.wire.hub_errors import HubRefused


def of_place(at_us: int, sequence: int | str) -> str:
    return _write(f"{at_us}:{sequence}")


def read_place(cursor: object) -> tuple[int, int] | None:
    """(time, sequence); None without a cursor."""
    found = read_named_place(cursor)
    return None if found is None else (found[0], _number(found[1]))


def read_named_place(cursor: object) -> tuple[int, str] | None:
    """(time, id); None without a cursor."""
    if not isinstance(cursor, str):
        return None
    at_us, colon, rest = _read(cursor).partition(":")
    if not colon:
        raise _invalid(cursor)
    return _number(at_us), rest


def of_number(number: int) -> str:
    return _write(str(number))


def read_number(cursor: str) -> int:
    return _number(_read(cursor))


def of_text(text: str) -> str:
    return _write(text)


def read_text(cursor: object) -> str | None:
    return _read(cursor) if isinstance(cursor, str) else None


def _write(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read(cursor: str) -> str:
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as exc:
        raise _invalid(cursor) from exc


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise _invalid(text)
    return int(text)


def _invalid(cursor: str) -> HubRefused:
    return HubRefused("invalid_cursor", f"cursor: got {cursor[:80]!r}, which this server did not give")
