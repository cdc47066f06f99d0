"""A named workflow: its settings as stored, the instances that serve it, and which changes of it are allowed."""

import re

import msgspec
from blake3 import blake3

from turnbuckle.wire.errors import Refused

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_TRIGGER_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_FAN_IN = re.compile(r"[a-z][a-z0-9-]{0,30}")
_IDENTITY = re.compile(
    r"starter\.(?P<name>[a-z0-9][a-z0-9-]{0,62})(?:\.(?:(?P<shard>[1-9][0-9]*)|[a-z][a-z0-9-]{0,30}))?"
)
STARTER = "workflow"  # the one whose turns a worker runs


class Named(msgspec.Struct, frozen=True):
    """The settings, resolved: terms and not names, so that a renaming changes nothing."""

    graph_id: str
    name: str
    workflow_type: str
    version: str
    kind: str  # of its main trigger, for life
    trigger_id: str
    settings: bytes  # of the main trigger, as its kind reads them
    review_id: str | None  # id of the review trigger
    review_of: str | None  # the workflow whose answers it gets; None without a review trigger
    shards: int
    route_by: str | None  # a field as the change feed names it; None: the instance's IRI decides
    window_messages: int  # unfinished messages of a shard, at most
    batch: int  # instances in a message, at most
    owns: bytes  # an Owned as JSON
    fan_in: str | None
    on_exhausted: str
    budget_micro_usd: int | None  # a month, for model calls
    created_at_ms: int
    updated_at_ms: int
    paused_at_ms: int | None = None
    sent_messages: int = 0
    last_error: bytes | None = None
    last_error_at_ms: int | None = None


class Shard(msgspec.Struct, frozen=True):
    """What is known of a shard beside its instance. It outlives the workflow, so that no message id is used twice."""

    graph_id: str
    name: str
    shard: int
    next_message: int
    window_full_since_ms: int | None = None


class Flight(msgspec.Struct, frozen=True):
    """A message of a trigger whose turn had not finished when it was last looked at."""

    graph_id: str
    instance_id: str
    turn: int
    message_id: bytes
    sent_at_ms: int


class Owned(msgspec.Struct, frozen=True):
    """What a workflow writes, by term."""

    classes: list[str] = []
    relations: list[str] = []
    properties: list[str] = []


def check_name(name: str) -> str:
    """Refused(workflow_param_invalid) unless it is the name of a workflow."""
    if not _NAME.fullmatch(name):
        raise invalid("name", f"got {name[:80]!r}, expected 1 to 63 of a-z, 0-9, `-`, the first a letter or digit")
    return name


def check_trigger_id(id: str, param: str) -> str:
    if not _TRIGGER_ID.fullmatch(id):
        raise invalid(param, f"got {id[:80]!r}, expected 1 to 63 of a-z, 0-9, `-`, `_`, the first a letter or digit")
    return id


def check_fan_in(word: str | None) -> str | None:
    if word is not None and not _FAN_IN.fullmatch(word):
        raise invalid("fan_in", f"got {word[:80]!r}, expected a letter and at most 30 of a-z, 0-9, `-`")
    return word


def invalid(param: str, what: str) -> Refused:
    return Refused("workflow_param_invalid", f"{param}: {what}", param=param)


# -- the instances that serve it ---------------------------------------------------------------------------------


def shard_identity(name: str, shard: int) -> str:
    """`starter.notes` for shard 0, `starter.notes.2` for another."""
    return f"starter.{name}" if shard == 0 else f"starter.{name}.{shard}"


def identities(named: Named) -> list[str]:
    """Its shards, and its fan-in where it has one."""
    shards = [shard_identity(named.name, shard) for shard in range(named.shards)]
    return shards if named.fan_in is None else [*shards, f"starter.{named.name}.{named.fan_in}"]


def shard_of_identity(named: Named, instance_id: str) -> int | None:
    """Which shard it is: None for the fan-in. Refused(invalid_param) for an instance of another workflow."""
    match = _IDENTITY.fullmatch(instance_id)
    if match is None or match["name"] != named.name:
        what = f"workflow_id: got {instance_id[:160]!r}, expected an instance of the workflow {named.name!r}"
        raise Refused("invalid_param", what, param="workflow_id")
    if instance_id == shard_identity(named.name, 0):
        return 0
    return None if match["shard"] is None else int(match["shard"])


def message_id(name: str, shard: int, number: int) -> str:
    """`starter-notes-12`, `starter-notes.2-12`: the number counts the messages of the shard."""
    return f"starter-{name}-{number}" if shard == 0 else f"starter-{name}.{shard}-{number}"


def shard_of(key: bytes, shards: int) -> int:
    """The shard of a key: of an instance's IRI, or of the value it is routed by."""
    return int.from_bytes(blake3(key).digest()[:8], "big") % shards


# -- changing it -------------------------------------------------------------------------------------------------


def check_change(old: Named, new: Named, unfinished: int, waiting: int) -> None:
    """Whether an existing workflow may become `new`.

    `unfinished` is how many turns its instances hold, `waiting` how many instances wait in its queue.
    Refused(workflow_param_invalid) for another kind of trigger, (workflow_shards_busy) while work is in the way.
    """
    if old.kind != new.kind:
        what = f"got the trigger {new.kind!r}, but {old.name!r} has {old.kind!r}: delete it, or take another name"
        raise invalid("triggers", what)
    served = (old.workflow_type, old.version) != (new.workflow_type, new.version)
    routed = (old.shards, old.route_by) != (new.shards, new.route_by)
    if (served or routed) and unfinished:
        what = "workflow" if served else "shards"
        raise Refused("workflow_shards_busy", f"{what}: the shards of {old.name!r} hold {unfinished} unfinished turns")
    if routed and waiting > REROUTED_AT_ONCE:
        raise Refused("workflow_shards_busy", f"shards: {waiting} instances wait in the queue of {old.name!r}")


REROUTED_AT_ONCE = 1_000  # instances whose shard is worked out anew in one transaction


def is_same(old: Named, new: Named) -> bool:
    """Whether a request changes nothing."""
    asked = (
        "workflow_type",
        "version",
        "kind",
        "trigger_id",
        "settings",
        "review_id",
        "review_of",
        "shards",
        "route_by",
        "window_messages",
        "batch",
        "owns",
        "fan_in",
        "on_exhausted",
        "budget_micro_usd",
    )
    return all(getattr(old, name) == getattr(new, name) for name in asked)


# -- refusals ----------------------------------------------------------------------------------------------------


def missing(name: str) -> Refused:
    return Refused("named_workflow_not_found", f"there is no workflow {name[:80]!r} in this graph")


def bad_cursor(cursor: str) -> Refused:
    return Refused("invalid_param", f"cursor: got {cursor[:80]!r}, expected the next_cursor of a page", param="cursor")
