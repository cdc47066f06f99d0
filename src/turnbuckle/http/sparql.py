"""A SPARQL query, from the request to a page of rows (lbb-graph 2.10): bring the index there, ask it, tell its answer.

A page's cursor names the commit that the first page read, so that all pages are of one state of the graph.
"""

import asyncio
import base64
import binascii
import hashlib
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import NamedTuple

import msgspec

from turnbuckle.graph.projection import seq_of
from turnbuckle.http.follow import Follower
from turnbuckle.http.request import ClientGone
from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import query as queries
from turnbuckle.operations.query import Asked
from turnbuckle.sparql import frames as f
from turnbuckle.sparql import text as texts
from turnbuckle.sparql.index import Crashed, Index, TimeOver, TooBusy, Tries
from turnbuckle.sparql.process import CannotStart, ProcessEnded
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.sparql import (
    SparqlProfile,
    SparqlRowPage,
    SparqlSnapshot,
    SparqlTextQuery,
    SparqlTextRequest,
    SparqlTextResponse,
)

Gone = Callable[[], Awaitable[None]]
_LONG_CHARS = 16_384  # from here on, looking at a query's text is worth a thread
_TRIES = 20  # of a read whose store moved on under it
_CODES = {  # by what the index process says
    "rows": "query_too_large",
    "size": "query_too_large",
    "refused": "invalid_query",
}


class Sparql:
    def __init__(self, store: AsyncStore, index: Index) -> None:
        self.follower = Follower(store, index)
        self._store = store
        self._index = index

    async def query(
        self, graph_id: str, query: SparqlTextQuery, request: SparqlTextRequest, gone: Gone
    ) -> SparqlTextResponse:
        """Refused with what is wrong with the query, or the reason that the index cannot answer now."""
        is_long = len(request.query) > _LONG_CHARS
        read = await asyncio.to_thread(_Read.of, request) if is_long else _Read.of(request)
        asked = await self._store.read(
            partial(queries.ask, graph_id=graph_id, as_of=read.as_of, at_least=query.min_indexed_seq)
        )
        answer = asyncio.ensure_future(self._answer(graph_id or "nowhere", asked, read))
        connection = asyncio.ensure_future(gone())
        try:
            await asyncio.wait({answer, connection}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise ClientGone
            return await answer
        finally:
            connection.cancel()
            answer.cancel()

    async def _answer(self, graph_id: str, asked: Asked, read: "_Read") -> SparqlTextResponse:
        began_at = time.perf_counter()
        try:
            point, rows = await self._rows(graph_id, asked, read)
        except TimeOver:
            limit_s = self._index.limits.query_s
            raise Refused("query_timeout", f"query: it ran over the limit of {limit_s:g} s", param="query") from None
        except (TooBusy, TimeoutError):
            what = "the index does not have the commit yet, or too many queries run"
            raise Refused("strong_read_pending", what, retry_after_s=1) from None
        except Crashed as crashed:
            if crashed.is_guilty:
                what = "query: it needs more memory than the index process has"
                raise Refused("query_too_large", what, param="query") from None
            raise Refused("query_interrupted", "the index process ended under it", retry_after_s=1) from None
        except CannotStart as exc:
            raise Refused("index_unavailable", str(exc)) from exc
        return read.response(asked, point, rows, (time.perf_counter() - began_at) * 1_000)

    async def _rows(self, graph_id: str, asked: Asked, read: "_Read") -> tuple[str, f.Rows]:
        """The point that was read and its rows. Asked again where a process ended or the store moved on."""
        tries = Tries()
        for _ in range(_TRIES):
            try:
                head = await self.follower.head(graph_id, asked.head)
                point = head if read.as_of is None else asked.wanted
                async with self._place(graph_id, point, head) as copy:
                    answer = await self._index.query(read.question(graph_id, copy, point, asked.is_rdf), tries)
            except ProcessEnded:
                continue
            if isinstance(answer, f.Rows):
                return point, answer
            if isinstance(answer, f.Failed):
                raise await self._refusal(graph_id, answer)
        raise TooBusy

    def _place(self, graph_id: str, point: str, head: str) -> AbstractAsyncContextManager[int]:
        return nullcontext(f.HEAD) if point == head else self.follower.copies.at(graph_id, point, head)

    async def _refusal(self, graph_id: str, failed: f.Failed) -> Exception:
        if failed.kind == "syntax":
            details = {"line": failed.line, "column": failed.column}
            return Refused("invalid_query", f"query: {failed.message}", param="query", details=details)
        if failed.kind == "damaged":
            await self._index.forget(graph_id)
            return Refused("query_interrupted", "the index was damaged and is made anew", retry_after_s=1)
        if failed.kind in _CODES:
            return Refused(_CODES[failed.kind], f"query: {failed.message}", param="query")
        return f.Unexpected(failed)


class _Cursor(msgspec.Struct, frozen=True, array_like=True):
    seq: int
    offset: int
    query: str  # a hash of it

    def text(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


class _Read(NamedTuple):
    """A request that is worth asking the index."""

    text: str
    scan: texts.Scan
    as_of: int | None
    asked_as_of: int | None
    offset: int
    limit: int
    mark: str  # of the query, for its cursor
    with_profile: bool

    @classmethod
    def of(cls, request: SparqlTextRequest) -> "_Read":
        if request.reason:
            raise Refused("invalid_param", "reason: got true, this server draws no conclusions", param="reason")
        try:
            scan = texts.scan(request.query)
        except texts.NotOffered as exc:
            raise Refused("invalid_query", f"query: {exc}", param="query") from None
        mark = _mark(request)
        cursor = None if request.cursor is None else _read_cursor(request, mark)
        return cls(
            text=_entailed(request),
            scan=scan,
            as_of=request.as_of_commit_seq if cursor is None else cursor.seq,
            asked_as_of=request.as_of_commit_seq,
            offset=(request.offset or 0) if cursor is None else cursor.offset,
            limit=limits.SPARQL_PAGE_ROWS if request.limit is None else request.limit,
            mark=mark,
            with_profile=bool(request.profile),
        )

    def question(self, graph_id: str, copy: int, point: str, is_rdf: bool) -> f.Query:
        return f.Query(
            graph=graph_id,
            copy=copy,
            point=point,
            text=self.text,
            union=is_rdf and not self.scan.has_dataset,
            named=self.scan.has_graph,
            offset=self.offset,
            limit=self.limit,
            rows=limits.SPARQL_ROWS,
            size_bytes=limits.SPARQL_RESULT_BYTES,
        )

    def response(self, asked: Asked, point: str, rows: f.Rows, took_ms: float) -> SparqlTextResponse:
        seq, until = seq_of(point), self.offset + rows.returned
        has_more = until < rows.total and rows.returned > 0
        return SparqlTextResponse(
            results=rows.results.decode(),
            row_page=SparqlRowPage(
                returned=rows.returned,
                total=rows.total,
                offset=self.offset,
                limit=self.limit,
                has_more=has_more,
                next_offset=until if has_more else None,
            ),
            snapshot=SparqlSnapshot(
                commit_seq=max(asked.head_seq, seq),
                compacted_seq=max(asked.head_seq, seq),
                served_at_seq=seq,
                as_of_commit_seq=self.asked_as_of,
            ),
            next_cursor=_Cursor(seq, until, self.mark).text() if has_more else None,
            profile=SparqlProfile(wait_ms=took_ms - rows.query_ms, query_ms=rows.query_ms)
            if self.with_profile
            else None,
        )


def _entailed(request: SparqlTextRequest) -> str:
    match request.entailment:
        case None | "none":
            return request.query
        case "subclass":
            return texts.with_subclasses(request.query)
        case other:
            what = f"entailment: got {other!r}, this server has none and subclass"
            raise Refused("invalid_param", what, param="entailment")


def _mark(request: SparqlTextRequest) -> str:
    return hashlib.blake2b(f"{request.entailment}\0{request.query}".encode(), digest_size=8).hexdigest()


def _read_cursor(request: SparqlTextRequest, mark: str) -> _Cursor:
    """Refused(invalid_param) unless it came with a page of the same query."""
    if request.offset is not None:
        raise Refused("invalid_param", "cursor: got cursor and offset, expected one of them", param="cursor")
    assert request.cursor is not None
    try:
        padded = request.cursor + "=" * (-len(request.cursor) % 4)
        cursor = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Cursor)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise Refused("invalid_param", "cursor: got no cursor of this server", param="cursor") from None
    if cursor.query != mark or min(cursor.seq, cursor.offset) < 0:
        raise Refused("invalid_param", "cursor: it belongs to another query", param="cursor")
    if request.as_of_commit_seq not in (None, cursor.seq):
        raise Refused("invalid_param", "as_of_commit_seq: the cursor reads another commit", param="as_of_commit_seq")
    return cursor
