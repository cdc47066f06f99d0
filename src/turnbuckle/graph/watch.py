"""What a change wakes, how waiting instances are kept once, batched and given back (lbb-graph 5.3 to 5.5).

A field is a token of the change feed: `p:<property>`, `r:<relation>` or `label`, by term.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from turnbuckle.graph.change import CREATED, REMOVED, Change
from turnbuckle.graph.named import Owned
from turnbuckle.wire import limits
from turnbuckle.wire.turn import WorkflowMessageOrigin

BACKFILL: Final = "backfill"  # all instances, when the watch was made
CHANGED: Final = "changed"
REFRESH: Final = "refresh"  # all instances, because a person or new settings asked for it
SCHEMA_CHANGED: Final = "schema_changed"  # all instances, because their class was declared anew
ORIGIN_OF: Final = {BACKFILL: "backfill", REFRESH: "manual", SCHEMA_CHANGED: "schema_changed"}
_FIELDS_TOLD, _FIELD_CHARS = 16, 48  # so that an origin stays within its KiB


class WatchedField(msgspec.Struct, frozen=True):
    token: str  # of the instance, or of the record a link leads to
    name: str
    link: str | None = None  # the relation's term
    max: int | None = None


class Settings(msgspec.Struct, frozen=True):
    """A watch by terms. No fields: every fact of the instance counts."""

    class_id: str
    fields: list[WatchedField]
    exclude: list[str]


class Watch(msgspec.Struct, frozen=True):
    """How far a watch has read: a cursor over commits, and over instances while it passes through all of them."""

    graph_id: str
    name: str
    queue_id: str  # of what waits; a new one leaves the old queue behind, to be removed in pieces
    through_seq: int  # all changes of the commits up to it are in the queue, or were
    part_seq: int | None  # of a commit that is read in pieces
    part_id: str | None  # the last record of it that was read
    schema: str  # fingerprint of what the ontology says of the class
    ontology_version: int
    pass_reason: str | None
    pass_target_seq: int | None
    pass_cursor: str | None  # the last record it has seen
    pass_scanned: int
    pass_origin: bytes | None
    instances: int = 0  # put into messages, all told
    removed: int = 0
    requeued: int = 0
    exhausted: int = 0


class Item(msgspec.Struct, frozen=True):
    """An instance that waits for a message. It waits once, however often it changes."""

    graph_id: str
    queue_id: str
    entity_id: str
    shard: int
    due_at_ms: int  # from when on it may be sent: the order of the queue
    first_seq: int  # of the changes it waits for
    last_seq: int
    removed: int  # 1: it has left the class
    reason: str
    attempt: int  # 0, or which of its repeats
    origin: bytes  # WorkflowMessageOrigin without its range and fields
    fields: bytes  # JSON list of names


class Link(msgspec.Struct, frozen=True):
    """A record whose change wakes the instances that lead to it, being looked for in pieces."""

    graph_id: str
    queue_id: str
    target_id: str
    relation_id: str
    first_seq: int
    last_seq: int
    fields: bytes
    after: str  # the last instance that was found


class Given(msgspec.Struct, frozen=True):
    """An instance that a turn gave back, with what was answered: the same again changes nothing."""

    graph_id: str
    instance_id: str
    turn: int
    entity_id: str
    attempt: int
    not_before_ms: int | None  # None: it was exhausted


# -- what a change wakes -----------------------------------------------------------------------------------------


class Scope(NamedTuple):
    """A watch with what the ontology says right now."""

    classes: frozenset[str]  # the class and those below it, without owned ones
    owned_classes: frozenset[str]
    fields: frozenset[str] | None  # tokens that count; None: every one
    links: dict[str, dict[str, str]]  # relation -> token of the record it leads to -> the field's name
    names: dict[str, str]  # token -> the field's name
    ignored: frozenset[str]  # excluded and owned tokens


def scope(settings: Settings, owned: Owned, classes: frozenset[str], owned_classes: frozenset[str]) -> Scope:
    """`classes` and `owned_classes` are closed over subclasses."""
    links: dict[str, dict[str, str]] = {}
    for field in settings.fields:
        if field.link is not None:
            links.setdefault(field.link, {})[field.token] = field.name
    own = {f"p:{term}" for term in owned.properties} | {f"r:{term}" for term in owned.relations}
    direct = {field.token: field.name for field in settings.fields if field.link is None}
    through = {f"r:{relation}": "/".join(sorted(steps.values())) for relation, steps in links.items()}
    return Scope(
        classes - owned_classes,
        owned_classes,
        frozenset(direct | through) if settings.fields else None,
        links,
        through | direct,
        frozenset(own | set(settings.exclude)),
    )


class Wake(NamedTuple):
    entity_id: str
    seq: int
    removed: bool
    fields: frozenset[str]  # names


def woken(scope: Scope, change: Change) -> Wake | None:
    """The instance that the change is about, when it must be sent."""
    if change.class_id not in scope.classes:
        return None
    tokens = {token for token in _tokens(change) if token not in scope.ignored}
    if scope.fields is not None:
        tokens &= scope.fields
    if not tokens and change.kind not in (CREATED, REMOVED):
        return None
    names = frozenset(scope.names.get(token, token.partition(":")[2] or token) for token in tokens)
    return Wake(change.entity_id, change.commit_seq, change.kind == REMOVED, names)


def led_to(scope: Scope, change: Change) -> dict[str, frozenset[str]]:
    """The relations whose sources the change wakes, with the names of the fields it touched.

    A record that comes or goes brings or ends links, and those wake their sources by themselves.
    """
    if not scope.links or change.kind in (CREATED, REMOVED) or change.class_id in scope.owned_classes:
        return {}
    tokens = set(_tokens(change))
    if change.class_id in scope.classes:
        tokens -= scope.ignored  # what the workflow wrote on one instance is no news for another that links to it
    found = {}
    for relation, steps in scope.links.items():
        names = frozenset(name for token, name in steps.items() if token in tokens)
        if names:
            found[relation] = names
    return found


def _tokens(change: Change) -> list[str]:
    tokens: list[str] = json.loads(change.fields)
    return tokens


# -- waiting once ------------------------------------------------------------------------------------------------


def merge(waiting: Item | None, new: Item) -> Item:
    """What waits after `new` came: it keeps its place, and its news are added.

    A repeat that waits for its time gives way to anything newer, and never replaces what waits already.
    """
    if waiting is None:
        return new
    if new.attempt:
        return waiting
    joined = replace(
        new,
        first_seq=min(waiting.first_seq, new.first_seq),
        last_seq=max(waiting.last_seq, new.last_seq),
        fields=join_fields(waiting.fields, new.fields),
    )
    if waiting.attempt:
        return joined
    if new.removed != waiting.removed:  # it left, or came back: that is what is told
        return replace(joined, due_at_ms=waiting.due_at_ms)
    return replace(
        joined, due_at_ms=waiting.due_at_ms, reason=waiting.reason, origin=waiting.origin, attempt=waiting.attempt
    )


def fields_of(names: Iterable[str]) -> bytes:
    """As many names as an origin has room for."""
    told = sorted({name for name in names if len(name) <= _FIELD_CHARS})[:_FIELDS_TOLD]
    return json.dumps(told, ensure_ascii=False).encode()


def join_fields(first: bytes, second: bytes) -> bytes:
    return first if first == second else fields_of([*json.loads(first), *json.loads(second)])


# -- messages ----------------------------------------------------------------------------------------------------


def batch(waiting: Sequence[Item], most: int) -> list[Item]:
    """The items of the next message: the first ones, as long as they have one reason and one origin."""
    if not waiting:
        return []
    group = (waiting[0].reason, waiting[0].origin)
    return list(takewhile(lambda item: (item.reason, item.origin) == group, waiting[:most]))


def origin(items: Sequence[Item]) -> WorkflowMessageOrigin:
    """Where a message with these items comes from."""
    shared = msgspec.json.decode(items[0].origin, type=WorkflowMessageOrigin)
    from_seq, to_seq = min(item.first_seq for item in items), max(item.last_seq for item in items)
    names = {name for item in items for name in json.loads(item.fields)}
    if shared.kind == "commit" or to_seq > from_seq:
        shared = replace(shared, from_seq=from_seq, to_seq=to_seq)
    return replace(shared, fields=json.loads(fields_of(names))) if names else shared


# -- giving back -------------------------------------------------------------------------------------------------


def next_attempt(asking: WorkflowMessageOrigin | None) -> int:
    """The attempt that an instance of a message with that origin gets when it is given back."""
    if asking is None or asking.kind != "requeue":
        return 1
    return (asking.attempt or 0) + 1


def delay_ms(attempt: int) -> int | None:
    """How long it waits; None: there is no such attempt, it is exhausted."""
    delays = limits.REQUEUE_DELAYS_MS
    return delays[attempt - 1] if attempt <= len(delays) else None
