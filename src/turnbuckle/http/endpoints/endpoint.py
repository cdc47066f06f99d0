"""What one endpoint is: its row in the table of the API."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from turnbuckle.wire import limits
from turnbuckle.wire.server import NoQuery

Method = Literal["GET", "POST", "PUT", "DELETE"]
Role = Literal["admin", "write", "read", "review"]

READERS: frozenset[Role] = frozenset({"admin", "write", "read", "review"})
WRITERS: frozenset[Role] = frozenset({"admin", "write"})
REVIEWERS: frozenset[Role] = frozenset({"admin", "write", "review"})


@dataclass(frozen=True)
class Endpoint:
    """One route. What it reads goes to `run` in this order: its query, its body, its bytes, its caller.

    A route without a body reads its query; one with a body has a query only where it names one.
    """

    method: Method
    path: str
    run: Callable[..., Any]  # (transaction, graph id, what it reads ...); a conductor of app.py may take its place
    summary: str
    answer: type[msgspec.Struct] | None  # None: raw bytes
    or_answer: type[msgspec.Struct] | None = None  # the other shape, where the query decides which
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] = NoQuery
    raw_body: bool = False
    raw_kind: str = "application/octet-stream"  # what the raw body is described as; any is taken
    body_bytes: int = limits.BODY_BYTES
    refusals: tuple[str, ...] = ()
    roles: frozenset[Role] | None = WRITERS  # None: open without a key (decision 20)
    in_graph: bool = True  # takes `graph` and `stack`
    makes_graph: bool = False  # where there is none of that name
    with_caller: bool = False  # `run` also gets the Caller: who asks, the graph's name, the idempotency key

    @property
    def name(self) -> str:
        """`turn.claim` and the like, unique."""
        return f"{self.run.__module__.rsplit('.', 1)[-1]}.{self.run.__name__}"

    @property
    def is_of_engine(self) -> bool:
        return self.path.startswith("/v1/workflows")

    @property
    def bulk_from_bytes(self) -> float:
        """From this size of a body on it waits behind the turns, in the writer's thread: blobs and large commits."""
        if self.raw_body:
            return 256 * limits.KIB
        return math.inf if self.is_of_engine else 64 * limits.KIB  # some 400 rows of a commit, 15 ms

    @property
    def reads_query(self) -> bool:
        return self.query is not NoQuery or self.body is None
