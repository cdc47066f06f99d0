"""Sending messages of a trigger to its shards: numbered, within the window, in the transaction that moves the trigger.

Engine and graph share one store, so a message is in the inbox exactly when the trigger has moved past it.
"""

import contextlib

import msgspec
from msgspec.structs import replace

from turnbuckle.engine.instance import Instance
from turnbuckle.engine.message import Message
from turnbuckle.graph import named as rules
from turnbuckle.graph.named import Flight, Named, Shard
from turnbuckle.operations import instance, turn
from turnbuckle.operations.inbox import Inbox
from turnbuckle.store import instance as instances
from turnbuckle.store import message as messages
from turnbuckle.store import named as names
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.instance import WorkflowInstanceCreateRequest
from turnbuckle.wire.turn import WorkflowMessageOrigin
from turnbuckle.wire.value import fingerprint

TOPIC = "triggered"  # with the graph: a trigger may have something to do
EMPTY_STATE = msgspec.Raw(b"{}")


class Sender:
    """One locked workflow's way to its shards, for one operation. `save` at its end."""

    def __init__(self, tx: Transaction, named: Named) -> None:
        self._tx = tx
        self._named = named
        self._stored = names.shards(tx, named.graph_id, named.name)
        self._shards = dict(self._stored)
        self._unfinished: dict[int, int] = {}
        self._sent = 0

    def room(self, shard: int) -> int:
        """How many more messages the shard's window takes."""
        return self._named.window_messages - self._in_flight(shard)

    def send(self, shard: int, body: bytes, origin: WorkflowMessageOrigin | None) -> str:
        """The id of the message, which now is the last in the shard's inbox. Check `room` before."""
        tx, named = self._tx, self._named
        inbox = open_inbox(tx, named, rules.shard_identity(named.name, shard))
        message_id = self._next_id(shard, inbox.instance.instance_id)
        raw = None if origin is None else msgspec.json.encode(origin)
        sent = turn.append(tx, inbox, _message(tx, inbox, message_id, body), raw).turn
        inbox.save()
        names.add_flight(tx, Flight(named.graph_id, sent.instance_id, sent.number, message_id.encode(), tx.now_ms))
        self._unfinished[shard] = self._in_flight(shard) + 1
        self._sent += 1
        return message_id

    def hold(self, shard: int) -> None:
        """Something waits for room in the window."""
        known = self._shard(shard)
        if known.window_full_since_ms is None:
            self._shards[shard] = replace(known, window_full_since_ms=self._tx.now_ms)

    def free(self, shard: int) -> None:
        """Nothing waits for room."""
        if shard in self._shards and self._shards[shard].window_full_since_ms is not None:
            self._shards[shard] = replace(self._shards[shard], window_full_since_ms=None)

    def save(self) -> None:
        for index, shard in self._shards.items():
            stored = self._stored.get(index)
            if stored is None:
                names.add_shard(self._tx, shard)
            else:
                names.save_shard(self._tx, stored, shard)
        if self._sent:
            now = replace(self._named, sent_messages=self._named.sent_messages + self._sent)
            names.save(self._tx, self._named, now)

    def _in_flight(self, shard: int) -> int:
        if shard not in self._unfinished:
            where = (self._named.graph_id, rules.shard_identity(self._named.name, shard))
            names.land(self._tx, *where)
            self._unfinished[shard] = len(names.flights(self._tx, *where))
        return self._unfinished[shard]

    def _shard(self, shard: int) -> Shard:
        return self._shards.get(shard) or Shard(self._named.graph_id, self._named.name, shard, 1)

    def _next_id(self, shard: int, instance_id: str) -> str:
        """Numbers go on where they were, and pass over one that somebody else has used by hand."""
        known = self._shard(shard)
        number = known.next_message
        while True:
            message_id = rules.message_id(self._named.name, shard, number)
            number += 1
            if messages.find(self._tx, known.graph_id, instance_id, message_id.encode()) is None:
                self._shards[shard] = replace(known, next_message=number)
                return message_id


def deliver(tx: Transaction, named: Named, shard: int, message_id: str, body: bytes) -> bool:
    """A message under an id of its own, outside of numbers and window; False when it was there before.

    `named` is locked: a shard that somebody deleted is made again.
    """
    inbox = open_inbox(tx, named, rules.shard_identity(named.name, shard))
    if messages.find(tx, named.graph_id, inbox.instance.instance_id, message_id.encode()) is not None:
        return False
    origin = WorkflowMessageOrigin(kind="review", trigger=named.review_id, message_id=message_id)
    turn.append(tx, inbox, _message(tx, inbox, message_id, body), msgspec.json.encode(origin))
    inbox.save()
    return True


def _message(tx: Transaction, inbox: Inbox, message_id: str, body: bytes) -> Message:
    """As it is stored; it gets its number at the inbox."""
    where = (inbox.instance.graph_id, inbox.instance.instance_id)
    return Message(*where, 0, message_id.encode(), fingerprint(body), body, len(body), tx.now_ms)


def open_inbox(tx: Transaction, named: Named, instance_id: str) -> Inbox:
    """The instance's inbox; one that is not there is made."""
    found = instances.lock(tx, named.graph_id, instance_id)
    return Inbox(tx, found) if found is not None else Inbox(tx, _create(tx, named, instance_id))


def ensure(tx: Transaction, named: Named) -> None:
    """Every instance of the workflow is there, as the settings say. One that was there keeps its state."""
    for instance_id in rules.identities(named):
        found = instances.lock(tx, named.graph_id, instance_id)
        if found is None:
            _create(tx, named, instance_id)
        else:
            instances.save(tx, found, _adapted(found, named))


def _create(tx: Transaction, named: Named, instance_id: str) -> Instance:
    request = WorkflowInstanceCreateRequest(
        id=instance_id,
        workflow_type=named.workflow_type,
        version=named.version,
        state=EMPTY_STATE,
        on_exhausted=named.on_exhausted,  # type: ignore[arg-type]  # checked at the door
    )
    with contextlib.suppress(Refused):  # somebody has just made it, with other settings: it is taken over as it is
        instance.create(tx, named.graph_id, request)
    made = instances.lock(tx, named.graph_id, instance_id)
    assert made is not None
    if named.paused_at_ms is None:
        return made
    paused = replace(made, paused_at_ms=tx.now_ms)
    instances.save(tx, made, paused)
    return paused


def _adapted(found: Instance, named: Named) -> Instance:
    return replace(found, workflow_type=named.workflow_type, version=named.version, on_exhausted=named.on_exhausted)


def unfinished(tx: Transaction, named: Named) -> int:
    """How many turns its instances hold that have not finished."""
    found = (instances.get(tx, named.graph_id, instance_id) for instance_id in rules.identities(named))
    return sum(one.pending for one in found if one is not None)
