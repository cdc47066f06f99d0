"""Read RDF documents with pyoxigraph: statements in batches, each as canonical N-Quads, and what cannot be read.

It runs in the server, in a thread: the parser keeps no stack, so no document brings it down.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyoxigraph as ox

from turnbuckle.sparql.frames import POINT_GRAPH

_FORMATS = {
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "turtle": ox.RdfFormat.TURTLE,
    "nquads": ox.RdfFormat.N_QUADS,
    "trig": ox.RdfFormat.TRIG,
}
_LABEL = re.compile(rb"_:([\w.\-\xb7-\xff]+)")


class Error(NamedTuple):
    line: int
    column: int
    message: str


class Batch(NamedTuple):
    """Some statements of a document, each once."""

    literals: list[bytes]  # their objects are literals
    resources: list[bytes]
    literals_read: int
    resources_read: int
    predicates: list[str]  # by first use
    errors: list[Error]


class BadBase(ValueError):
    """The base IRI is none."""


class OwnGraph(ValueError):
    """A statement is for a graph whose name is the index's own."""


class Document:
    """A document that can be read again and again, with the same names for its blank nodes."""

    def __init__(
        self, content: bytes, kind: str, *, base_iri: str | None = None, graph_uri: str | None = None, scope: str = ""
    ) -> None:
        """Blank nodes with equal labels are the same within a `scope`; those without a label never are."""
        self._content = content
        self._kind = kind
        self._base_iri = base_iri
        self._graph = ox.DefaultGraph() if graph_uri is None else ox.NamedNode(graph_uri)
        self._scope = scope
        self._labels = {label.rstrip(b".").decode("utf-8", "replace") for label in _LABEL.findall(content)}

    def first_error(self) -> Error | None:
        """Reads all of it."""
        return next((one for one in self._parsed() if isinstance(one, Error)), None)

    def batches(self, size: int) -> Iterator[Batch]:
        """The statements in their order, `size` at a time."""
        names = _Names(self._scope, hashlib.blake2b(self._content, digest_size=16).hexdigest(), self._labels)
        quads: list[Any] = []
        errors: list[Error] = []
        for one in self._parsed():
            if isinstance(one, Error):
                errors.append(one)
            else:
                quads.append(names.renamed(one, self._graph))
            if len(quads) == size:
                yield _batch(quads, errors)
                quads, errors = [], []
        if quads or errors:
            yield _batch(quads, errors)

    def _parsed(self) -> Iterator[Any]:
        """Quads and Errors; after an error the parser goes on where it finds its place again."""
        try:
            parser = ox.parse(self._content, _FORMATS[self._kind], base_iri=self._base_iri)
        except ValueError as exc:
            raise BadBase(str(exc)) from exc
        while True:
            try:
                yield next(parser)
            except StopIteration:
                return
            except SyntaxError as exc:
                yield Error(exc.lineno or 0, exc.offset or 0, exc.msg)


def of_update(text: str) -> Batch:
    """The statements of INSERT DATA. SyntaxError when it is none. Look before that it holds nothing else."""
    store = ox.Store()
    store.update(text)
    return _batch(list(store), [])


def _batch(quads: list[Any], errors: list[Error]) -> Batch:
    store = ox.Store()  # it writes numbers and dates in one way, as the index will, and keeps each statement once
    store.extend(quads)
    _check_graphs(store)
    literals, resources = list[bytes](), list[bytes]()
    for quad in store:
        (literals if isinstance(quad.object, ox.Literal) else resources).append(str(quad).encode())
    read = sum(isinstance(quad.object, ox.Literal) for quad in quads)
    predicates = list(dict.fromkeys(quad.predicate.value for quad in quads))
    return Batch(sorted(literals), sorted(resources), read, len(quads) - read, predicates, errors)


def _check_graphs(store: Any) -> None:
    for name in store.named_graphs():
        if isinstance(name, ox.NamedNode) and name.value.startswith(POINT_GRAPH):
            raise OwnGraph(f"got the graph {name.value[:80]}, names that begin so are the server's own")


class _Names:
    """Names for the blank nodes of one reading, the same in each."""

    def __init__(self, scope: str, document: str, labels: set[str]) -> None:
        self._scope = scope
        self._document = document
        self._labels = labels
        self._known: dict[str, Any] = {}

    def renamed(self, quad: Any, default_graph: Any) -> Any:
        graph = default_graph if isinstance(quad.graph_name, ox.DefaultGraph) else self._term(quad.graph_name)
        return ox.Quad(self._term(quad.subject), quad.predicate, self._term(quad.object), graph)

    def _term(self, term: Any) -> Any:
        if isinstance(term, ox.BlankNode):
            return self._known.get(term.value) or self._named(term.value)
        if isinstance(term, ox.Triple):
            return ox.Triple(self._term(term.subject), term.predicate, self._term(term.object))
        return term

    def _named(self, value: str) -> Any:
        """The parser gives a node without a label another name in each reading; its place in the document stays."""
        where = (self._scope, value) if value in self._labels else (self._document, str(len(self._known)))
        digest = hashlib.blake2b("\0".join(where).encode(), digest_size=12).hexdigest()
        node = self._known[value] = ox.BlankNode(f"b{digest}")
        return node
