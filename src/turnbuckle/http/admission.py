"""Who asks, and about what: grant, graph and query, checked together and remembered for a second.

One key table serves everything (decision 20). A worker's requests differ only in their bodies, so this is one
dictionary lookup for most of them; a revoked key works at most a second longer.
"""

import time
from typing import NamedTuple

import msgspec

from turnbuckle.http import body
from turnbuckle.http.endpoints import Endpoint
from turnbuckle.http.request import Request
from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import graph
from turnbuckle.operations import key as keys
from turnbuckle.operations.caller import Caller
from turnbuckle.store.key import Grant
from turnbuckle.wire.errors import Refused

_CACHE_S = 1.0
_CACHE_MAX = 10_000


class Admitted(NamedTuple):
    graph_id: str  # graph.NOWHERE while there is none of that name
    query: msgspec.Struct
    caller: Caller


class Admission:
    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._cache: dict[tuple[object, ...], tuple[float, Admitted]] = {}

    async def admit(self, endpoint: Endpoint, request: Request) -> Admitted:
        """Refused(unauthorized | forbidden | stack_endpoint_mismatch | invalid_param) when it is not to be answered."""
        headers = request.headers
        asked = (endpoint, headers.get(b"authorization"), headers.get(b"x-api-key"), request.query_string)
        known = self._cache.get(asked)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        admitted = await self._look(endpoint, request)
        if admitted.graph_id != graph.NOWHERE:
            if len(self._cache) >= _CACHE_MAX:
                self._cache.clear()
            self._cache[asked] = (time.monotonic() + _CACHE_S, admitted)
        return admitted

    def forget(self) -> None:
        """Look again at keys and graphs."""
        self._cache.clear()

    async def _look(self, endpoint: Endpoint, request: Request) -> Admitted:
        query = request.query()
        stack, name = query.pop("stack", None), query.pop("graph", "main")
        key = key_of(request.headers)
        grant = await self._grant(key)
        check_grant(endpoint, grant, stack)
        _check_scope(grant, name)
        graph.check_name(name)
        asked = body.convert(query, endpoint.query)  # a parameter that nobody reads is a mistake worth telling
        graph_id = await self._store.glance(lambda tx: graph.look(tx, grant.environment, name))
        by = "" if key is None else f"key:{keys.hash_of(key).hex()[:8]}"
        return Admitted(graph_id, asked, Caller(grant.environment, name, by, grant.role, grant.scope))

    async def _grant(self, key: str | None) -> Grant:
        if key is None:
            raise Refused("unauthorized", "the request carries no key")
        grant = await self._store.glance(lambda tx: keys.find(tx, keys.hash_of(key)))
        if grant is None:
            raise Refused("unauthorized", "the key is unknown or revoked")
        return grant


def check_grant(endpoint: Endpoint, grant: Grant, stack: str | None) -> None:
    """Refused unless the key's role may call the endpoint in its environment."""
    if endpoint.roles is not None and grant.role not in endpoint.roles:
        needed = ", ".join(sorted(endpoint.roles))
        raise Refused("forbidden", f"the key's role is {grant.role}; this call takes one of: {needed}")
    if stack is not None and stack != grant.environment:
        what = f"stack: got {stack[:80]!r}, the key belongs to {grant.environment!r}"
        raise Refused("stack_endpoint_mismatch", what, param="stack")


_OF_THE_HUB = ("org", "blob")  # scopes that end inside an environment, where its graphs do not


def _check_scope(grant: Grant, name: str) -> None:
    """A key for one organization or blob reaches no graph; the graph of their runs only the runner and admins."""
    if grant.scope in _OF_THE_HUB:
        raise Refused("forbidden", f"the key's scope is {grant.scope}: it reaches blobs, not the environment's graphs")
    if name == graph.HUB and grant.scope != "runtime" and (grant.scope, grant.role) != ("user", "admin"):
        raise Refused("forbidden", f"graph: {name!r} is for admins of the whole environment and for the runner")


def key_of(headers: dict[bytes, bytes]) -> str | None:
    """The credential of a request: `Authorization: Bearer KEY`, or `X-API-Key: KEY`."""
    kind, _, token = headers.get(b"authorization", b"").partition(b" ")
    if kind.lower() == b"bearer" and token.strip():
        return token.strip().decode("latin-1")
    own = headers.get(b"x-api-key", b"").strip()
    return own.decode("latin-1") if own else None
