"""httpx logs the address of each request; a presigned one is a credential, so its query is left out (blobhub 4.3)."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import httpx

MARK = "[redacted]"

_is_presigned: ContextVar[bool] = ContextVar("blobhub_is_presigned", default=False)


@contextmanager
def presigned() -> Iterator[None]:
    """Requests sent inside are logged without the query of their address."""
    token = _is_presigned.set(True)
    try:
        yield
    finally:
        _is_presigned.reset(token)


def _redact(record: logging.LogRecord) -> bool:
    if _is_presigned.get() and isinstance(record.args, tuple):
        record.args = tuple(_without_query(arg) for arg in record.args)
    return True


def _without_query(arg: object) -> object:
    if not isinstance(arg, httpx.URL) or not arg.query:
        return arg
    return f"{arg.copy_with(query=None, fragment=None)}?{MARK}"


logging.getLogger("httpx").addFilter(_redact)
