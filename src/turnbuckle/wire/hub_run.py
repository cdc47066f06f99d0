"""What the runner asks for itself, with a key of scope `runtime` (decision 36): its run, events, what it waits for."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, UnsetType

from turnbuckle.wire.base import Name, Request, TurnNumber
from turnbuckle.wire.hub_base import Named, Text

EVENTS_AT_ONCE = 1_000


class HubRunQuery(Request, frozen=True, kw_only=True):
    id: Named


class HubPostEventsRequest(Request, frozen=True, kw_only=True):
    """Events that do not ride on a request of the turn; each has a `key`, so that a repeat tells nothing twice."""

    execution_id: Named
    events: Annotated[list[Raw], Meta(max_length=EVENTS_AT_ONCE)]


class HubWaitRequest(Request, frozen=True, kw_only=True):
    """Signal the turn once when it happens: send this before the turn waits for the signal.

    `breakpoint`: somebody continues the run. `execution`: the child `target` ends. `thread`: somebody else posts an
    item to the thread `target` after the item `after`.
    """

    execution_id: Named
    workflow_id: Name
    turn: TurnNumber
    signal: Name
    on: Literal["breakpoint", "execution", "thread"]
    target: Text | UnsetType = UNSET
    after: Text | UnsetType = UNSET
