"""The answer of a SPARQL query (lbb-graph 2.10)."""

import dataclasses
import json
from typing import Any

import httpx
import pytest

from lbb import AsyncLbbClient, LbbClient, LbbError, SparqlResults
from tests.unit.lbb_scripted import ClientClass, MovedTime, Script, client_of, finish

both = pytest.mark.parametrize("cls", [LbbClient, AsyncLbbClient])

TERMS = [
    {"s": {"type": "uri", "value": "https://e.test/1"}, "n": {"type": "literal", "value": "3", "datatype": "x"}},
    {"s": {"type": "uri", "value": "https://e.test/2"}},
]
SELECT = {"head": {"vars": ["s", "n"]}, "results": {"bindings": TERMS}}
PAGE = {"returned": 2, "total": 2, "offset": 0, "limit": 100, "has_more": False}


def answered(results: Any, **fields: Any) -> httpx.Response:
    return httpx.Response(200, json={"results": results, "row_page": PAGE, **fields})


@both
@pytest.mark.parametrize("results", [json.dumps(SELECT), SELECT])
def test_the_results_document_comes_as_text_or_as_an_object(cls: ClientClass, results: Any) -> None:
    client = client_of(cls, Script(answered(results, snapshot={"commit_seq": 7}, next_cursor="c", trace_id="t")))

    found = finish(lambda: client.sparql("SELECT"))

    assert isinstance(found, SparqlResults)
    assert (found.vars, found.bindings, found.boolean) == (["s", "n"], TERMS, None)
    assert (found.row_page, found.snapshot, found.next_cursor, found.trace_id) == (PAGE, {"commit_seq": 7}, "c", "t")


@both
def test_rows_are_plain_texts_without_unbound_variables(cls: ClientClass) -> None:
    found = finish(lambda: client_of(cls, Script(answered(json.dumps(SELECT)))).sparql("SELECT"))

    assert found.rows() == list(found) == [{"s": "https://e.test/1", "n": "3"}, {"s": "https://e.test/2"}]
    assert len(found) == 2


@both
@pytest.mark.parametrize("answer", [True, False])
def test_an_ask_has_its_answer_as_boolean(cls: ClientClass, answer: bool) -> None:
    found = finish(lambda: client_of(cls, Script(answered(json.dumps({"head": {}, "boolean": answer})))).sparql("ASK"))

    assert found.boolean is answer
    assert found.rows() == []


def test_results_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        SparqlResults().vars = []  # type: ignore[misc]


@both
@pytest.mark.parametrize("results", [None, [], "[]", "no json", 3])
def test_an_answer_without_results_is_refused(cls: ClientClass, results: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (json's own, or ours)
        finish(lambda: client_of(cls, Script(answered(results))).sparql("SELECT"))


@both
def test_a_query_sends_only_what_was_given(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(answered(SELECT)), graph="g")

    finish(lambda: client.sparql("SELECT"))
    finish(lambda: client.sparql("SELECT", limit=5, as_of_commit_seq=0, min_indexed_seq=4, consistency="strong"))
    finish(
        lambda: client.sparql("ASK", entailment="rdfs", reason=False, offset=2, cursor="c", profile=True, request={})
    )

    first, second, third = script.requests
    assert (first.method, str(first.url)) == ("POST", "http://server.test/v1/query/sparql-text?graph=g")
    assert json.loads(first.content) == {"query": "SELECT"}
    assert dict(second.url.params) == {"graph": "g", "consistency": "strong", "min_indexed_seq": "4"}
    assert json.loads(second.content) == {"query": "SELECT", "limit": 5, "as_of_commit_seq": 0}
    assert json.loads(third.content) == {
        "query": "ASK", "entailment": "rdfs", "reason": False, "offset": 2, "cursor": "c", "profile": True,
        "request": {},
    }  # fmt: skip


@both
def test_the_clients_consistency_is_the_default_of_graph_reads(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(answered(SELECT)), default_consistency="strong")

    finish(lambda: client.sparql("SELECT"))
    finish(lambda: client.sparql("SELECT", consistency="eventual"))
    finish(lambda: client.graph("other").sparql("SELECT"))
    finish(lambda: client.entities.detail(id="1"))
    finish(client.create_graph)

    asked = [request.url.params.get("consistency") for request in script.requests]
    assert asked == ["strong", "eventual", "strong", "strong", None]


@both
@pytest.mark.parametrize(("status", "sent"), [(429, 3), (503, 1), (500, 1)])
def test_a_query_is_tried_again_only_after_a_429(cls: ClientClass, status: int, sent: int) -> None:
    refusal = httpx.Response(status, json={"error": {"code": "c", "message": "m", "type": "t"}})
    client = client_of(cls, script := Script(refusal), max_retries=2)
    time = MovedTime()
    client._chance = time.chance()
    client._sleep = time.sleep_async if cls is AsyncLbbClient else time.sleep

    with pytest.raises(LbbError):
        finish(lambda: client.sparql("SELECT"))

    assert len(script.requests) == sent
