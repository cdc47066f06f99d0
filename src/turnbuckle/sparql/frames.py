"""What server and index process say to each other: msgpack structs, each behind its length in 4 bytes.

A graph's facts are at a *point*: a text that names a commit and cannot be met by another history. A triple is a text,
`<s> <p> "o"`, as N-Triples has it without the final dot.
"""

import asyncio
import struct
from collections.abc import Callable
from typing import BinaryIO, TypeVar

import msgspec

POINT_GRAPH = "urn:turnbuckle:point:"  # begins the name of the empty graph by which a store knows its point
HEAD = 0  # the number of a graph's own store; every other number is that of a copy
_LENGTH = struct.Struct(">I")
T = TypeVar("T")


class Changes(msgspec.Struct, frozen=True, omit_defaults=True):
    """What to take away and what to add; both may be there, or not be there, already. No text is in both."""

    removed: list[str] = []
    added: list[str] = []
    removed_quads: list[str] = []  # the same for what has a graph or a blank node, which costs three times as much
    added_quads: list[str] = []

    @property
    def size(self) -> int:
        return len(self.removed) + len(self.added) + len(self.removed_quads) + len(self.added_quads)


# -- what the server asks ----------------------------------------------------------------------------------------


class Open(msgspec.Struct, tag=True, frozen=True):
    """Open a graph's store as it was saved. Done says the point that it has, "" when there is none."""

    graph: str


class Rebuild(msgspec.Struct, tag=True, frozen=True):
    """Begin a new store for a graph beside the present one."""

    graph: str


class Load(msgspec.Struct, tag=True, frozen=True):
    """Put N-Quads into the store that is being rebuilt."""

    graph: str
    quads: bytes


class Finish(msgspec.Struct, tag=True, frozen=True):
    """What was rebuilt is the graph's store from here on."""

    graph: str
    point: str


class Apply(msgspec.Struct, tag=True, frozen=True):
    """Move a store from one point to another, at once for all who read it."""

    graph: str
    copy: int
    from_point: str
    point: str
    changes: Changes


class Copy(msgspec.Struct, tag=True, frozen=True):
    """Make a copy of a graph's store that can be moved by itself. Done says the point that it has."""

    graph: str
    copy: int


class Drop(msgspec.Struct, tag=True, frozen=True):
    """Throw a copy away."""

    copy: int


class Forget(msgspec.Struct, tag=True, frozen=True):
    """The graph is gone: so is its store. A query that still reads it may fail."""

    graph: str


class Query(msgspec.Struct, tag=True, frozen=True):
    """Ask a store that is at `point`; Moved when it is not, or did not stay there until the reading had begun."""

    graph: str
    copy: int
    point: str
    text: str
    union: bool  # patterns outside GRAPH see the named graphs too
    named: bool  # the text mentions GRAPH: it must not see our own names
    offset: int
    limit: int
    rows: int  # of the whole answer
    size_bytes: int  # of the page


class Cancel(msgspec.Struct, tag=True, frozen=True):
    """Nobody waits for that call any more."""

    call: int


Request = Open | Rebuild | Load | Finish | Apply | Copy | Drop | Forget | Query | Cancel


# -- what the process answers ------------------------------------------------------------------------------------


class Hello(msgspec.Struct, tag=True, frozen=True):
    """The first frame of a process."""

    is_confined: bool  # the system itself keeps it from the network


class Done(msgspec.Struct, tag=True, frozen=True):
    point: str = ""


class Rows(msgspec.Struct, tag=True, frozen=True):
    results: bytes  # SPARQL 1.1 results JSON
    returned: int
    total: int
    query_ms: float


class Moved(msgspec.Struct, tag=True, frozen=True):
    """The store is at another point."""

    point: str


class Failed(msgspec.Struct, tag=True, frozen=True):
    """`kind`: syntax, rows, size, refused, cancelled, closed, damaged or failed."""

    kind: str
    message: str
    line: int | None = None
    column: int | None = None


Answer = Hello | Done | Rows | Moved | Failed


class Unexpected(Exception):
    """An answer that the call should not get."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"the index process answered {answer!r:.300}")
        self.answer = answer


class Call(msgspec.Struct, frozen=True):
    number: int
    request: Request


class Reply(msgspec.Struct, frozen=True):
    number: int  # of the call; 0 for Hello
    answer: Answer


def pack(message: Call | Reply) -> bytes:
    content = msgspec.msgpack.encode(message)
    return _LENGTH.pack(len(content)) + content


def reader(kind: type[T]) -> Callable[[BinaryIO], T | None]:
    """Reads one message; None at the end, also when that comes in the middle of one."""
    decode = msgspec.msgpack.Decoder(kind).decode

    def read(file: BinaryIO) -> T | None:
        head = file.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack(head)
        content = file.read(length)
        return decode(content) if len(content) == length else None

    return read


async def read_reply(stream: asyncio.StreamReader) -> Reply | None:
    """The next answer; None when the process has ended."""
    try:
        (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
        return _REPLY.decode(await stream.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


_REPLY = msgspec.msgpack.Decoder(Reply)
