"""Whose credential came: a key of the one key table, or an anonymous token (blobhub 2.3, decision 20).

A key is remembered for a second, as in the first API; a token is looked up each time, so that it ends on time.
"""

import hashlib
import time
import uuid

import msgspec

from turnbuckle.http.admission import key_of
from turnbuckle.http.request import Request
from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import anonymous, graph
from turnbuckle.operations import key as keys
from turnbuckle.operations.hub_place import ANONYMOUS, Visitor
from turnbuckle.operations.hub_turn import execution_id_of
from turnbuckle.store.key import Grant
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.effect import read_mark
from turnbuckle.wire.hub_errors import HubRefused

_CACHE_S = 1.0
_CACHE_MAX = 10_000


class HubAdmission:
    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._cache: dict[tuple[bytes | None, ...], tuple[float, Visitor]] = {}

    async def admit(self, request: Request) -> Visitor:
        """HubRefused(unauthorized) without a credential that is valid now."""
        headers = request.headers
        asked = tuple(headers.get(name) for name in (b"authorization", b"x-api-key", b"lbb-effect"))
        known = self._cache.get(asked)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        visitor = await self._look(request)
        if visitor.graph_id != graph.NOWHERE and visitor.scope != ANONYMOUS:
            if len(self._cache) >= _CACHE_MAX:
                self._cache.clear()
            self._cache[asked] = (time.monotonic() + _CACHE_S, visitor)
        return visitor

    def forget(self) -> None:
        """Look again at keys and graphs."""
        self._cache.clear()

    async def _look(self, request: Request) -> Visitor:
        credential = key_of(request.headers)
        if credential is None:
            raise HubRefused("unauthorized", "the request carries neither a key nor a token")
        found = await self._store.glance(lambda tx: _visitor(tx, credential))
        if found is None:
            raise HubRefused("unauthorized", "the key or token is unknown, revoked or expired")
        return _on_behalf(found, request) if found.scope == "runtime" else found


def _visitor(tx: Transaction, credential: str) -> Visitor | None:
    token = anonymous.find(tx, "access", credential)
    if token is not None:
        where = graph.look(tx, token.environment, graph.HUB)
        return Visitor(token.environment, where, token.user_id, ANONYMOUS, "read", ANONYMOUS)
    key_hash = keys.hash_of(credential)
    grant = keys.find(tx, key_hash)
    return None if grant is None else _of_grant(tx, key_hash, grant)


def _of_grant(tx: Transaction, key_hash: bytes, grant: Grant) -> Visitor:
    user_id = uuid.UUID(bytes=hashlib.sha256(b"user\0" + key_hash).digest()[:16], version=4)
    where = graph.look(tx, grant.environment, graph.HUB)
    name = f"key:{key_hash.hex()[:8]}"
    return Visitor(grant.environment, where, str(user_id), name, grant.role, grant.scope, grant.scope_id)


def _on_behalf(visitor: Visitor, request: Request) -> Visitor:
    """The runner's step says with its mark for which execution it works, and which effect this is."""
    header = request.headers.get(b"lbb-effect")
    mark = None if header is None else read_mark(header.decode("latin-1"))
    execution_id = None if mark is None else execution_id_of(mark.workflow_id)
    if mark is None or execution_id is None:
        return visitor
    return msgspec.structs.replace(
        visitor, user_id=execution_id, user_name="execution", execution_id=execution_id, effect_id=mark.effect_id
    )
