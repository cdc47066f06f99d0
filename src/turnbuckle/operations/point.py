"""Points of a graph's history (graph/projection.py), and the ontology that each is shown with.

An ontology changes without a commit, so the newest commit may have several points, one after the other; an older commit
has the ontology it was made with.
"""

from turnbuckle.graph import ontology as ontologies
from turnbuckle.graph import projection
from turnbuckle.graph.log import Commit
from turnbuckle.graph.projection import Projection
from turnbuckle.store import commit as commits
from turnbuckle.store import graph as graphs
from turnbuckle.store import ontology as documents
from turnbuckle.store.transaction import Transaction

_EMPTY = Projection(ontologies.EMPTY)


def head(tx: Transaction, graph_id: str) -> str:
    """The newest commit under the newest ontology."""
    found = graphs.head(tx, graph_id)
    if found is None:
        return projection.point(None, _EMPTY.shape)
    shown = of_version(tx, graph_id, found.ontology_version)
    return projection.point(commits.get(tx, graph_id, found.head_seq), shown.shape)


def graphs_known(tx: Transaction) -> set[str]:
    """Ids of all graphs that have points."""
    return graphs.ids(tx)


def at(tx: Transaction, graph_id: str, seq: int) -> str:
    """A commit under the ontology it was made with; 0 is before the first."""
    commit = commits.get(tx, graph_id, seq)
    return projection.point(commit, of_version(tx, graph_id, _version(commit)).shape)


def projection_at(tx: Transaction, graph_id: str, point: str) -> Projection | None:
    """The ontology of a point. None when the point is not of this history: the store was replaced by another."""
    commit = commits.get(tx, graph_id, projection.seq_of(point))
    newest = graphs.head(tx, graph_id)
    if commit is None and projection.seq_of(point) > 0:
        return None
    for version in range(0 if newest is None else newest.ontology_version, _version(commit) - 1, -1):
        shown = of_version(tx, graph_id, version)
        if projection.point(commit, shown.shape) == point:
            return shown
    return None


def of_version(tx: Transaction, graph_id: str, version: int) -> Projection:
    document = documents.get(tx, graph_id, version) if version else None
    return _EMPTY if document is None else projection.of_document(document)


def _version(commit: Commit | None) -> int:
    return 0 if commit is None else commit.ontology_version
