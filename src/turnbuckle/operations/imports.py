"""Many records at once: a batch of lines is a commit (lbb-graph 2.9). The batches are http/imports.py's."""

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from turnbuckle.graph import asked as asking
from turnbuckle.graph.asked import Asked, Link, Row
from turnbuckle.graph.ontology import Ontology
from turnbuckle.operations import commit, commit_log, ontology
from turnbuckle.operations.caller import Caller
from turnbuckle.store import graph as graphs
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.commit import EntityPropertiesInput, GraphImportError, GraphImportQuery, TripletInput
from turnbuckle.wire.errors import Refused

Line = tuple[int, TripletInput | EntityPropertiesInput]  # its number, from 1, and what it says
_PLACE = re.compile(r"lines\[(\d+)\]")


class Batch(msgspec.Struct, frozen=True):
    triplets: int
    rows: int
    commit_seq: int | None = None  # None: nothing was written
    is_replay: bool = False
    errors: tuple[GraphImportError, ...] = ()


def check_request(query: GraphImportQuery, caller: Caller) -> None:
    """What is wrong with the import as a whole."""
    commit_log.key_of(caller)
    commit_log.observed_at_ms(query.observed_at)
    if query.expected_graph_epoch not in (None, 0):
        raise Refused("conflict", "expected_graph_epoch: the graph's epoch is 0", param="expected_graph_epoch")


def write(
    tx: Transaction, graph_id: str, lines: Sequence[Line], number: int, query: GraphImportQuery, caller: Caller
) -> Batch:
    """Commit batch `number` of an import: lines that cannot be taken are left out and told.

    A batch that was committed under the import's key before is not written again.
    """
    key = commit_log.key_of(caller) + b"#%d" % number
    body_hash = commit_log.hash_of(replace(query, strict=False))
    head = commit_log.lock(tx, graph_id, caller)
    known = commit_log.known(tx, head, key, body_hash)
    counts = _counts([line for _, line in lines])
    if known is not None:
        return Batch(*counts, known.commit_seq, is_replay=True)
    commit_log.check_takes_records(head)
    declared, bad = ontology.load(tx, head), list[Refused]()
    plan = commit.plan_of(tx, head, declared, _asked(declared, lines, bad), bad)
    errors = tuple(error_of(one) for one in bad)
    if plan.is_empty:
        commit_log.remember(tx, head, key, body_hash, None)
        return Batch(len(plan.new_edges), plan.row_count, errors=errors)
    after = commit_log.advance(tx, head, caller, observed_at_ms=commit_log.observed_at_ms(query.observed_at))
    commit.save(tx, plan, after.head_seq)
    written = commit_log.Written(len(plan.changes), len(plan.new_edges))
    commit_log.remember(tx, after, key, body_hash, written)
    return Batch(len(plan.new_edges), plan.row_count, after.head_seq, errors=errors)


def check(tx: Transaction, graph_id: str, lines: Sequence[Line], caller: Caller) -> list[Refused]:
    """What `write` would leave out, as the graph is now; lines are not compared with those of other batches."""
    head = graphs.head(tx, graph_id)
    if head is None:
        raise commit_log.missing(caller)
    commit_log.check_takes_records(head)
    declared, bad = ontology.load(tx, head), list[Refused]()
    commit.plan_of(tx, head, declared, _asked(declared, lines, bad), bad)
    return bad


def error_of(refused: Refused) -> GraphImportError:
    place = _PLACE.match(refused.param or "")
    return GraphImportError(line=int(place[1]) if place else 0, code=refused.code, message=refused.message)


def _counts(lines: Sequence[TripletInput | EntityPropertiesInput]) -> tuple[int, int]:
    triplets = sum(isinstance(line, TripletInput) for line in lines)
    return triplets, len(lines) - triplets


def _asked(declared: Ontology, lines: Sequence[Line], bad: list[Refused]) -> Asked:
    rows, links = list[Row](), list[Link]()
    for number, line in lines:
        try:
            if isinstance(line, TripletInput):
                links.append(asking.link(declared, line, f"lines[{number}]"))
            else:
                rows.append(asking.row(declared, line, f"lines[{number}]"))
        except Refused as refused:
            bad.append(refused)
    return Asked(tuple(rows), tuple(links))
