"""Who asks: what an operation may want to know of a request beside its query and body."""

import msgspec

from turnbuckle.wire.effect import EffectMark


class Caller(msgspec.Struct, frozen=True):
    environment: str
    graph: str  # its name: the opaque id never leaves the server (decision 43)
    by: str  # `key:` and the key's public id, as answers and records name a person or a program
    role: str  # admin, write, read or review
    scope: str  # user, org, blob or runtime
    idempotency_key: str | None = None
    content_type: str | None = None
    effect: EffectMark | None = None  # the step that sends it, from the header `lbb-effect`


def the_server(environment: str, graph: str) -> Caller:
    """What the server does by itself: upkeep, deliveries, schedules."""
    return Caller(environment, graph, by="server", role="admin", scope="runtime")
