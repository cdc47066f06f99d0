"""An RDF document from the request to the graph: read beside the loop, written batch by batch behind the turns."""

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from msgspec.structs import replace

from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import commit_log, rdf
from turnbuckle.operations.caller import Caller
from turnbuckle.operations.rdf import Written
from turnbuckle.sparql import document as documents
from turnbuckle.sparql import text as texts
from turnbuckle.sparql.depth import has_deep_brackets, has_deep_terms
from turnbuckle.sparql.document import BadBase, Batch, Document, OwnGraph
from turnbuckle.store.database import Lane
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.rdf import RdfImportError, RdfImportQuery, RdfImportResponse
from turnbuckle.wire.server import NoQuery

Gone = Callable[[], Awaitable[None]]
_KINDS = {
    "application/n-triples": "ntriples",
    "text/turtle": "turtle",
    "application/n-quads": "nquads",
    "application/trig": "trig",
}
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")
_PREDICATES = 1_000


class Rdf:
    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def post(
        self, graph_id: str, query: RdfImportQuery, content: bytes, caller: Caller, gone: Gone
    ) -> RdfImportResponse:
        """Every statement that can be read, in commits of `batch` statements; what cannot is told with its place.

        With `strict`, or when nothing can be read, that refuses the document before anything is written. A repeat under
        the same key writes only the batches that were not committed.
        """
        key = commit_log.key_of(caller).decode()
        document = await asyncio.to_thread(_document, query, content, caller, query.blank_node_scope or key)
        await self._store.read(partial(rdf.check, graph_id=graph_id))
        if query.strict and (error := await asyncio.to_thread(document.first_error)) is not None:
            raise _unreadable(error)
        done: list[tuple[Batch, Written]] = []
        batches = document.batches(query.batch)
        while (batch := await asyncio.to_thread(_next, batches)) is not None:
            if not done and not batch.literals and not batch.resources:
                raise _unreadable(batch.errors[0])
            written = await self._write(graph_id, batch, len(done), query.observed_at, caller)
            done.append((batch._replace(literals=[], resources=[]), written))
        return _answer(content, done)

    async def update(self, graph_id: str, query: NoQuery, content: bytes, caller: Caller, gone: Gone) -> bytes:
        """INSERT DATA as one commit; nothing else is offered (lbb-graph 2.9)."""
        try:
            batch = await asyncio.to_thread(_read_update, content)
        except (texts.NotOffered, SyntaxError, OwnGraph) as exc:
            raise Refused("invalid_query", f"update: {str(exc)[:300]}", param="body") from None
        key = caller.idempotency_key or f"update-{secrets.token_hex(12)}"
        await self._write(graph_id, batch, 0, None, replace(caller, idempotency_key=key))
        return b""

    async def _write(
        self, graph_id: str, batch: Batch, number: int, observed_at: str | None, caller: Caller
    ) -> Written:
        write = partial(
            rdf.write,
            graph_id=graph_id,
            literals=batch.literals,
            resources=batch.resources,
            number=number,
            observed_at=observed_at,
            caller=caller,
        )
        return await self._store.write(write, Lane.BULK)


def _read_update(content: bytes) -> Batch:
    """NotOffered, SyntaxError, OwnGraph."""
    text = content.decode("utf-8", "replace")
    texts.check_insert_data(text)
    if has_deep_brackets(content, limits.RDF_DEPTH):
        raise texts.NotOffered(f"got brackets in more than {limits.RDF_DEPTH} brackets, expected less")
    return documents.of_update(text)


def _next(batches: Iterator[Batch]) -> Batch | None:
    try:
        return next(batches, None)
    except OwnGraph as exc:
        raise Refused("invalid_rdf", str(exc), param="body") from None
    except BadBase as exc:
        raise Refused("invalid_param", f"base_iri: {exc}", param="base_iri") from None


def _document(query: RdfImportQuery, content: bytes, caller: Caller, scope: str) -> Document:
    kind = query.format or _KINDS.get((caller.content_type or "").partition(";")[0].strip().lower())
    if kind is None:
        expected = f"`format`, or one of the content types {', '.join(_KINDS)}"
        raise Refused("invalid_param", f"format: got content type {caller.content_type!r}, expected {expected}")
    for name, iri in (("base_iri", query.base_iri), ("graph_uri", query.graph_uri)):
        if iri is not None and not _IRI.fullmatch(iri):
            raise Refused("invalid_param", f"{name}: got {iri[:80]!r}, expected an absolute IRI", param=name)
    if has_deep_terms(content, limits.RDF_DEPTH):
        what = f"got triple terms in more than {limits.RDF_DEPTH} triple terms, expected less"
        raise Refused("invalid_rdf", what, param="body")
    return Document(content, kind, base_iri=query.base_iri, graph_uri=query.graph_uri, scope=scope)


def _unreadable(error: documents.Error) -> Refused:
    details = {"line": error.line, "column": error.column}
    what = f"line {error.line}, column {error.column}: {error.message}"
    return Refused("invalid_rdf", what, param="body", details=details)


def _answer(content: bytes, done: list[tuple[Batch, Written]]) -> RdfImportResponse:
    literals = sum(batch.literals_read for batch, _ in done)
    resources = sum(batch.resources_read for batch, _ in done)
    new_literals = sum(written.literals for _, written in done)
    new_resources = sum(written.resources for _, written in done)
    predicates = list(dict.fromkeys(predicate for batch, _ in done for predicate in batch.predicates))
    errors = [error for batch, _ in done for error in batch.errors]
    commits = [written.commit_seq for _, written in done if written.commit_seq is not None]
    return RdfImportResponse(
        triples_read=literals + resources,
        lines_read=content.count(b"\n") + (not content.endswith(b"\n")) * bool(content),
        imported_triplets=new_literals + new_resources,
        literal_triples=literals,
        resource_triples=resources,
        duplicate_literal_triples=literals - new_literals,
        duplicate_resource_triples=resources - new_resources,
        predicate_count=len(predicates),
        predicates=predicates[:_PREDICATES],
        batches=len(done),
        error_count=len(errors),
        errors=[RdfImportError(line=e.line, column=e.column, message=e.message) for e in errors[: limits.RDF_ERRORS]],
        graph_created=any(written.graph_created for _, written in done),
        idempotent_replay=bool(done) and all(written.is_replay for _, written in done),
        committed_commit_seq=max(commits, default=None),
    )
