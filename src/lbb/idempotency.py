"""Idempotency keys: a request that carries one may be sent again."""

import time
from uuid import uuid4


def new_key(prefix: str) -> str:
    """A new key `<prefix>:<Unix microseconds>:<32 hex>`."""
    return f"{prefix}:{time.time_ns() // 1000}:{uuid4().hex}"
