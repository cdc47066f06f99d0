"""Who may do what: one key table for everything (decision 20)."""

import time

from turnbuckle.http.endpoints import Endpoint
from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import key as keys
from turnbuckle.store.key import Grant
from turnbuckle.wire.errors import Refused

_CACHE_S = 1.0  # a revoked key works at most this much longer
_CACHE_MAX = 10_000


class Auth:
    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._cache: dict[bytes, tuple[float, Grant | None]] = {}

    async def check(self, endpoint: Endpoint, headers: dict[bytes, bytes], stack: str | None) -> Grant:
        """The key's grant. Refused(unauthorized | forbidden | stack_endpoint_mismatch) when it does not suffice."""
        key = _key(headers)
        if key is None:
            raise Refused("unauthorized", "the request carries no key")
        grant = await self._find(key)
        if grant is None:
            raise Refused("unauthorized", "the key is unknown or revoked")
        if endpoint.roles is not None and grant.role not in endpoint.roles:
            needed = ", ".join(sorted(endpoint.roles))
            raise Refused("forbidden", f"the key's role is {grant.role}; this call takes one of: {needed}")
        if stack is not None and stack != grant.environment:
            what = f"stack: got {stack[:80]!r}, the key belongs to {grant.environment!r}"
            raise Refused("stack_endpoint_mismatch", what, param="stack")
        return grant

    async def _find(self, key: str) -> Grant | None:
        key_hash, now = keys.hash_of(key), time.monotonic()
        known = self._cache.get(key_hash)
        if known is not None and known[0] > now:
            return known[1]
        grant = await self._store.read(lambda tx: keys.find(tx, key_hash))
        if len(self._cache) >= _CACHE_MAX:
            self._cache.clear()  # somebody tries keys; the real ones come back at once
        self._cache[key_hash] = (now + _CACHE_S, grant)
        return grant


def _key(headers: dict[bytes, bytes]) -> str | None:
    kind, _, token = headers.get(b"authorization", b"").partition(b" ")
    if kind.lower() == b"bearer" and token.strip():
        return token.strip().decode("latin-1")
    own = headers.get(b"x-api-key", b"").strip()
    return own.decode("latin-1") if own else None
