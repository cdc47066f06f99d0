"""The answer of a SPARQL query (lbb-graph 2.10)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lbb.answer import RawLbbResponse

Row = dict[str, str]  # variable -> lexical text; an unbound variable is absent


@dataclass(frozen=True)
class SparqlResults:
    """The rows of a SELECT or the `boolean` of an ASK. Iterate over it, or call `rows()`, for rows of plain text."""

    vars: list[str] = field(default_factory=list)
    bindings: list[dict[str, dict[str, Any]]] = field(default_factory=list)  # typed terms, as SPARQL 1.1 JSON has them
    boolean: bool | None = None
    row_page: dict[str, Any] | None = None  # {returned, total, offset, limit, has_more, next_offset?}
    next_cursor: str | None = None
    snapshot: dict[str, Any] | None = None  # {commit_seq, ..., as_of_commit_seq?}
    profile: Any = None
    search: Any = None
    trace_id: str | None = None

    def rows(self) -> list[Row]:
        """`[{"s": "https://...", "text": "..."}]`: each value as its lexical text, whatever its datatype."""
        return list(self)

    def __iter__(self) -> Iterator[Row]:
        for binding in self.bindings:
            yield {name: term["value"] for name, term in binding.items()}

    def __len__(self) -> int:
        return len(self.bindings)


def read_sparql(answer: RawLbbResponse) -> SparqlResults:
    """ValueError when the answer holds no SPARQL results document."""
    data = answer.data if isinstance(answer.data, Mapping) else {}
    document = _document(data.get("results"))
    return SparqlResults(
        vars=list((document.get("head") or {}).get("vars") or ()),
        bindings=list((document.get("results") or {}).get("bindings") or ()),
        boolean=document.get("boolean"),
        row_page=data.get("row_page"),
        next_cursor=data.get("next_cursor"),
        snapshot=data.get("snapshot"),
        profile=data.get("profile"),
        search=data.get("search"),
        trace_id=data.get("trace_id"),
    )


def _document(results: Any) -> Mapping[str, Any]:
    """The SPARQL results document, which the wire carries as a text."""
    document = json.loads(results) if isinstance(results, str) else results
    if not isinstance(document, Mapping):
        raise ValueError(f"the answer to a query holds no SPARQL results document but {results!r:.100}")
    return document
