"""In the index process: run one query and write one page of its rows as SPARQL 1.1 results JSON."""

import re
import time
from collections.abc import Callable, Iterator
from json.encoder import encode_basestring
from typing import Any

import pyoxigraph as ox

from turnbuckle.sparql.frames import Failed, Query, Rows

_STRING = "http://www.w3.org/2001/XMLSchema#string"
_PLACE = re.compile(r"error at (\d+):(\d+)")  # pyoxigraph has the place in its message only
_MESSAGE_CHARS = 160
_LOOK_EVERY = 1_024  # rows between two looks at whether somebody still waits


class Stopped(Exception):
    """The answer is not worth finishing; `failed` says why."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message)
        self.failed = failed


def begin(store: ox.Store, query: Query, named_graphs: Callable[[], list[Any]]) -> Any:
    """The rows to come. What sorts or counts is evaluated here, before the first of them.

    Stopped with the kind syntax or refused.
    """
    options: dict[str, Any] = {"use_default_graph_as_union": True} if query.union else {}
    if query.named:
        options["named_graphs"] = named_graphs()
    try:
        return store.query(query.text, **options)
    except SyntaxError as exc:
        place = _PLACE.search(str(exc))
        line, column = (int(place[1]), int(place[2])) if place else (None, None)
        raise Stopped(Failed("syntax", _cut(str(exc)), line, column)) from exc
    except (RuntimeError, ValueError, PermissionError) as exc:  # an unknown function, an outside request
        raise Stopped(_failed(exc)) from exc


def _failed(exc: Exception) -> Failed:
    # A damaged file and an unknown function are the same class of error to pyoxigraph; only its words tell them apart.
    return Failed("damaged" if "orruption" in str(exc) else "refused", _cut(str(exc)))


def _cut(message: str) -> str:
    """pyoxigraph lists all that could follow, down to ranges of characters."""
    return message if len(message) <= _MESSAGE_CHARS else message[:_MESSAGE_CHARS] + "…"


def finish(results: Any, query: Query, is_cancelled: Callable[[], bool], began_at: float) -> Rows:
    """Stopped when there are too many rows, the page is too large, or nobody waits any more."""
    if isinstance(results, ox.QueryBoolean):
        answer = b'{"head":{},"boolean":%s}' % (b"true" if results else b"false")
        return Rows(answer, 0, 0, _ms_since(began_at))
    if not isinstance(results, ox.QuerySolutions):
        raise Stopped(Failed("refused", "the query makes triples, expected SELECT or ASK"))
    return _page(results, query, is_cancelled, began_at)


def _page(solutions: Any, query: Query, is_cancelled: Callable[[], bool], began_at: float) -> Rows:
    names = [variable.value for variable in solutions.variables]
    heads = [f"{_quote(name)}:" for name in names]
    page: list[str] = []
    total, size_bytes, until = 0, 0, query.offset + query.limit
    for solution in _each(solutions):
        if query.offset <= total < until:
            row = "{" + ",".join([h + _term(t) for h, t in zip(heads, solution, strict=True) if t is not None]) + "}"
            page.append(row)
            size_bytes += len(row)
            if size_bytes > query.size_bytes:
                raise Stopped(Failed("size", f"more than {query.size_bytes} bytes in one page"))
        total += 1
        if total % _LOOK_EVERY == 0 and is_cancelled():
            raise Stopped(Failed("cancelled", "nobody waits for the answer"))
        if total > query.rows:
            raise Stopped(Failed("rows", f"more than {query.rows} rows"))
    head = ",".join(_quote(name) for name in names)
    text = f'{{"head":{{"vars":[{head}]}},"results":{{"bindings":[{",".join(page)}]}}}}'
    return Rows(text.encode(), len(page), total, _ms_since(began_at))


def _each(solutions: Any) -> Iterator[Any]:
    try:
        yield from solutions
    except (RuntimeError, PermissionError) as exc:
        raise Stopped(_failed(exc)) from exc


def _term(term: Any) -> str:
    match term:
        case ox.NamedNode():
            return f'{{"type":"uri","value":{_quote(term.value)}}}'
        case ox.Literal():
            return f'{{"type":"literal","value":{_quote(term.value)}{_kind(term)}}}'
        case ox.BlankNode():
            return f'{{"type":"bnode","value":{_quote(term.value)}}}'
        case _:
            parts = (("subject", term.subject), ("predicate", term.predicate), ("object", term.object))
            inner = ",".join(f'"{name}":{_term(part)}' for name, part in parts)
            return f'{{"type":"triple","value":{{{inner}}}}}'


def _kind(literal: Any) -> str:
    """Language or datatype, as members of the JSON object."""
    if literal.language is not None:
        return f',"xml:lang":{_quote(literal.language)}'
    datatype = literal.datatype.value
    return "" if datatype == _STRING else f',"datatype":{_quote(datatype)}'


def _ms_since(began_at: float) -> float:
    return (time.perf_counter() - began_at) * 1_000


_quote: Callable[[str], str] = encode_basestring
