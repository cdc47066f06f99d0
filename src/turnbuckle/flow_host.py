"""The flow worker beside a server: started for each environment that has executions, drained first (decision 42).

Its keys are made here when it starts, with scope `runtime`; the store has only their hashes, and they end with it.
"""

import asyncio
import logging
import time
from functools import partial

from turnbuckle.flow.worker import FlowThread, FlowWorker
from turnbuckle.http.store import AsyncStore
from turnbuckle.hub.execution import GRAPH
from turnbuckle.operations import graph, turn
from turnbuckle.operations import key as keys
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused

log = logging.getLogger("turnbuckle.flow")
LABEL = "flow worker beside the server"
NAME = "flow, beside the server"  # of its worker, where no other server has one
DRAIN_S = 5.0
_LOOK_EVERY_S = 1.0  # for an environment whose graph `hub` was made
_JOIN_S = 3.0  # beyond the drain: what is released then is one request each


class FlowHost:
    def __init__(self, store: AsyncStore, *, is_only_server: bool) -> None:
        """`is_only_server`: keys that a killed server left behind are nobody's, and are revoked."""
        self._store = store
        self._is_only_server = is_only_server
        self._thread = FlowThread()
        self._keys: dict[str, str] = {}  # by environment

    async def run(self, base_url: str) -> None:
        """For ever, until cancelled."""
        while True:
            try:
                for environment in await self._store.read(lambda tx: graph.environments_with(tx, GRAPH)):
                    if environment not in self._keys:
                        await self._add(environment, base_url)
            except Refused as refused:  # the store is in trouble: look again
                log.warning("the flow worker: %s", refused)
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _add(self, environment: str, base_url: str) -> None:
        began = time.monotonic()
        key = await self._store.write(lambda tx: self._make_key(tx, environment))
        self._keys[environment] = key
        if self._is_only_server:
            await self._take_over(environment)
            self._thread.add(FlowWorker(base_url, key, name=NAME))
        else:
            self._thread.add(FlowWorker(base_url, key))
        log.info("the flow worker serves %s (%.0f ms)", environment, 1_000 * (time.monotonic() - began))

    async def _take_over(self, environment: str) -> None:
        """What the worker of a killed server held goes on now, not when its leases end."""
        graph_id = await self._store.read(lambda tx: graph.look(tx, environment, GRAPH))
        while await self._store.write(lambda tx: turn.give_up(tx, graph_id, NAME)):
            pass  # a piece at a time

    def _make_key(self, tx: Transaction, environment: str) -> str:
        if self._is_only_server:
            keys.revoke_labelled(tx, LABEL, environment)
        return keys.create(tx, LABEL, environment, "runtime", "write")

    async def drain(self) -> None:
        """Let what is held finish within its time, and hand the rest back; then its keys are worth nothing."""
        await asyncio.to_thread(self._thread.join, DRAIN_S + _JOIN_S)
        for key in self._keys.values():
            await self._store.write(partial(keys.revoke, key_or_hint=key))
        self._keys.clear()

    def stop(self) -> None:
        """Claim no more."""
        self._thread.stop(DRAIN_S)
