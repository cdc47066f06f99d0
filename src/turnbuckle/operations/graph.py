"""The graph a request is about. Any graph is there on its first use (P33)."""

import re
import secrets

from turnbuckle.store import graph as graphs
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.limits import GRAPH_PATTERN

_NAME = re.compile(GRAPH_PATTERN)
NOWHERE = ""  # the id of no graph: reads of a graph nobody has used find nothing


def check_name(name: str) -> None:
    """Refused(invalid_param) unless the name is one of a graph."""
    if not _NAME.fullmatch(name):
        expected = "1 to 63 of a-z, 0-9, `_`, `-`, the first a letter or digit"
        raise Refused("invalid_param", f"graph: got {name[:80]!r}, expected {expected}", param="graph")


def use(tx: Transaction, environment: str, name: str) -> str:
    """The graph's opaque id; an unknown graph is made."""
    known = graphs.find(tx, environment, name)
    if known is not None:
        return known
    graphs.add(tx, environment, name, secrets.token_hex(8))
    made = graphs.find(tx, environment, name)  # ours, or that of an operation that was faster
    assert made is not None
    return made


def look(tx: Transaction, environment: str, name: str) -> str:
    """The graph's opaque id for a read, NOWHERE when it is unknown."""
    return graphs.find(tx, environment, name) or NOWHERE
