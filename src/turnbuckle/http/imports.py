"""An import of JSON lines: read beside the loop, written batch by batch behind the turns (lbb-graph 2.9)."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from turnbuckle.http import body
from turnbuckle.http.store import AsyncStore
from turnbuckle.operations import imports
from turnbuckle.operations.caller import Caller
from turnbuckle.operations.imports import Batch, Line
from turnbuckle.store.database import Lane
from turnbuckle.wire import limits
from turnbuckle.wire.commit import (
    EntityPropertiesInput,
    GraphImportError,
    GraphImportQuery,
    GraphImportResponse,
    TripletInput,
)
from turnbuckle.wire.errors import Refused

Numbered = tuple[int, bytes]  # a line's number, from 1, and its text


class Imports:
    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def post(
        self,
        graph_id: str,
        query: GraphImportQuery,
        content: bytes,
        caller: Caller,
        gone: Callable[[], Awaitable[None]],
    ) -> GraphImportResponse:
        """Every line that can be taken, in commits of `batch` lines; the others are told.

        With `strict` one line that cannot refuses all before anything is written. A repeat under the same key writes
        only the batches that were not committed.
        """
        imports.check_request(query, caller)
        batches = await asyncio.to_thread(_batches, content, query.batch)
        if query.strict:
            await self._check(graph_id, batches, caller)
        done, errors = list[Batch](), list[GraphImportError]()
        for number, batch in enumerate(batches):
            lines, bad = await asyncio.to_thread(_read, batch)
            errors += [imports.error_of(one) for one in bad]
            write = partial(imports.write, graph_id=graph_id, lines=lines, number=number, query=query, caller=caller)
            done.append(await self._store.write(write, Lane.BULK))
            errors += done[-1].errors
        return _answer(batches, done, errors)

    async def _check(self, graph_id: str, batches: list[list[Numbered]], caller: Caller) -> None:
        for batch in batches:
            lines, bad = await asyncio.to_thread(_read, batch)
            if not bad:
                bad = await self._store.read(partial(imports.check, graph_id=graph_id, lines=lines, caller=caller))
            if bad:
                raise bad[0]


def _batches(content: bytes, size: int) -> list[list[Numbered]]:
    lines = [(number, line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    return [lines[start : start + size] for start in range(0, len(lines), size)]


def _read(batch: list[Numbered]) -> tuple[list[Line], list[Refused]]:
    """The lines as structs, and why the others are none."""
    lines, bad = list[Line](), list[Refused]()
    for number, text in batch:
        try:
            lines.append((number, _line(text)))
        except Refused as refused:
            param = f"lines[{number}]"
            bad.append(Refused(refused.code, f"{param}: {refused.message}", param=param))
    return lines, bad


def _line(text: bytes) -> TripletInput | EntityPropertiesInput:
    if len(text) > limits.IMPORT_LINE_BYTES:
        what = f"got a line of {len(text)} bytes, expected at most {limits.IMPORT_LINE_BYTES}"
        raise Refused("payload_too_large", what)
    is_triplet = any(word in text for word in (b'"source"', b'"target"', b'"relation"'))
    if not is_triplet:
        return body.decode(text, EntityPropertiesInput)
    try:
        return body.decode(text, TripletInput)
    except Refused:
        if b'"type"' not in text.partition(b'"source"')[0]:
            raise
        return body.decode(text, EntityPropertiesInput)  # a record with a field of such a name


def _answer(batches: list[list[Numbered]], done: list[Batch], errors: list[GraphImportError]) -> GraphImportResponse:
    commits = [batch.commit_seq for batch in done if batch.commit_seq is not None]
    return GraphImportResponse(
        lines_read=sum(map(len, batches)),
        imported_triplets=sum(batch.triplets for batch in done),
        imported_entity_properties=sum(batch.rows for batch in done),
        batches=len(done),
        error_count=len(errors),
        errors=sorted(errors, key=lambda one: one.line)[: limits.IMPORT_ERRORS],
        graph_created=False,
        idempotent_replay=bool(done) and all(batch.is_replay for batch in done),
        committed_commit_seq=max(commits, default=None),
    )
