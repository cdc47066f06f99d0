"""Where a run is in its document: frozen, and saved as JSON between the turns of a long run.

The words: an *entry* is control on its way into a component; a *scope* is the loops and parallel branches around it; a
*held* value knows by its `at`, the count of entries, when it was written, so that the newer of two sources wins.
"""

from typing import Any, Literal

import msgspec

from turnbuckle.wire.hub_limits import COMPONENT_ENTRIES


class Frame(msgspec.Struct, frozen=True, array_like=True):
    kind: Literal["loop", "branch"]
    component: int  # the logic.loop or flow.parallel
    number: int  # of the round or the branch, from 0


Scope = tuple[Frame, ...]  # outermost first


class Entry(msgspec.Struct, frozen=True, array_like=True):
    component: int
    scope: Scope = ()
    round: int = 0  # of a loop
    inputs: dict[str, Any] | None = None  # of a loop after its first round: they are read once
    is_joined: bool = False  # the branches of a fork have all arrived here


class Held(msgspec.Struct, frozen=True, array_like=True):
    at: int
    value: Any


class Fault(msgspec.Struct, frozen=True):
    code: str
    message: str


class Outcome(msgspec.Struct, frozen=True):
    """What a component run gave."""

    route: str | None = None
    outputs: dict[str, Any] = {}  # route -> data value
    terminal: bool = False  # ends the whole run
    error: Fault | None = None  # why, when the route is `failure`
    is_fatal: bool = False  # the run fails, whatever edges there are


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    status: Literal["completed", "failed"]
    error: Fault | None = None
    component_id: str | None = None


class Arrived(msgspec.Struct, frozen=True, tag="arrived"):
    """The end of a parallel branch: where it joins, and what it wrote since the fork."""

    entries: int  # how many components the branch entered
    joins: tuple[int, ...]  # none: its path ended, which counts as arrived too
    data: dict[int, Held]
    outputs: dict[int, Held]
    visits: dict[str, int]


class Forked(msgspec.Struct, frozen=True):
    key: str
    component: int
    scope: Scope
    targets: tuple[int, ...]


class Position(msgspec.Struct, frozen=True, omit_defaults=True):
    entries: int = 0  # components entered so far, those of merged branches included
    pending: tuple[Entry, ...] = ()  # a stack: the next one is the last
    data: dict[int, Held] = {}  # the data components' values
    outputs: dict[int, Held] = {}  # what each component gave when it last ran: route -> value
    visits: dict[str, int] = {}  # how often each key was used, without its visit
    forked: Forked | None = None  # branches that are open
    branch_at: int | None = None  # in a branch: the entries at the fork
    joins: tuple[int, ...] = ()  # in a branch: where it has arrived
    ended: Ended | None = None
    max_entries: int = COMPONENT_ENTRIES
