"""RDF documents into graphs (lbb-graph 2.9)."""

import json
from typing import Any

import httpx
import pytest

from tests.e2e.api import Api, ok

SPARQL, IMPORT = "/v1/query/sparql-text", "/v1/graph/import/rdf"
NT = '<http://a/1> <http://a/p> "x" .\n<http://a/1> <http://a/q> <http://a/2> .\n'


async def post(
    api: Api, document: str | bytes, key: str = "k", kind: str = "text/turtle", **query: Any
) -> httpx.Response:
    content = document if isinstance(document, bytes) else document.encode()
    return await api.post(IMPORT, content, headers={"idempotency-key": key, "content-type": kind}, **query)


async def rows(api: Api, query: str, **body: Any) -> list[dict[str, Any]]:
    answer = ok(await api.post(SPARQL, {"query": query, **body}))
    return sorted(json.loads(answer["results"])["results"]["bindings"], key=repr)


async def test_statements_are_read_as_they_were_written(api: Api) -> None:
    answer = ok(await post(api, NT, kind="application/n-triples"))

    assert answer == {
        "triples_read": 2, "lines_read": 2, "imported_triplets": 2, "literal_triples": 1, "resource_triples": 1,
        "duplicate_literal_triples": 0, "duplicate_resource_triples": 0, "predicate_count": 2,
        "predicates": ["http://a/p", "http://a/q"], "batches": 1, "error_count": 0, "errors": [],
        "graph_created": True, "idempotent_replay": False, "committed_commit_seq": 1, "published_generation": None,
    }  # fmt: skip
    assert await rows(api, "SELECT ?o { <http://a/1> <http://a/q> ?o }") == [
        {"o": {"type": "uri", "value": "http://a/2"}}
    ]


async def test_every_format_and_where_its_statements_go(api: Api) -> None:
    """Patterns outside GRAPH see all graphs."""
    ok(await post(api, "@base <http://a/> . <1> <p> 1 .", "1", "text/turtle"))
    ok(await post(api, '<http://a/2> <http://a/p> "2"@en <http://g/1> .', "2", "application/n-quads"))
    ok(await post(api, "<http://g/2> { <3> <http://a/p> 3 }", "3", "x/y", format="trig", base_iri="http://a/"))
    ok(await post(api, '<http://a/4> <http://a/p> "4" .', "4", format="ntriples", graph_uri="http://g/2"))

    everywhere = await rows(api, "SELECT ?s ?o { ?s <http://a/p> ?o }")
    graphs = await rows(api, "SELECT ?g ?s { GRAPH ?g { ?s <http://a/p> ?o } }")
    names = await rows(api, "SELECT ?g { GRAPH ?g {} }")

    assert [row["s"]["value"][-1] for row in everywhere] == ["1", "2", "3", "4"]
    found = sorted((row["g"]["value"], row["s"]["value"]) for row in graphs)
    assert found == [("http://g/1", "http://a/2"), ("http://g/2", "http://a/3"), ("http://g/2", "http://a/4")]
    assert sorted(row["g"]["value"] for row in names) == ["http://g/1", "http://g/2"]
    assert len(await rows(api, "SELECT ?s { ?s <http://a/p> ?o }", as_of_commit_seq=2)) == 2


async def test_a_repeat_writes_nothing_and_a_longer_document_its_rest(api: Api) -> None:
    lines = [f'<http://a/{n}> <http://a/p> [ <http://a/q> "{n}" ] .' for n in range(10)]
    first = ok(await post(api, "\n".join(lines[:5]), batch=4))
    again = ok(await post(api, "\n".join(lines[:5]), batch=4))

    assert (first["batches"], first["imported_triplets"], first["idempotent_replay"]) == (3, 10, False)
    assert (again["imported_triplets"], again["idempotent_replay"]) == (10, True)
    assert again["committed_commit_seq"] == first["committed_commit_seq"] == 3
    assert len(await rows(api, "SELECT * { ?s ?p ?o }")) == 10


async def test_blank_nodes_meet_in_their_scope_alone(api: Api) -> None:
    for key, label, scope in (("1", "a", "s"), ("2", "a", "s"), ("3", "a", "t"), ("4", "", "s"), ("5", "", "s")):
        node = f"_:{label}" if label else "[]"
        ok(await post(api, f"{node} <http://a/p> {key} .", key, blank_node_scope=scope))

    found = await rows(
        api, "SELECT (GROUP_CONCAT(STR(?o)) AS ?all) { ?s <http://a/p> ?o FILTER isBlank(?s) } GROUP BY ?s"
    )

    assert sorted("".join(sorted(row["all"]["value"].replace(" ", ""))) for row in found) == ["12", "3", "4", "5"]


async def test_what_cannot_be_read_is_told_with_its_place(api: Api) -> None:
    document = NT + "<http://a/3> bad <http://a/4> .\n" + '<http://a/5> <http://a/p> "y" .\n'

    answer = ok(await post(api, document, kind="application/n-triples"))

    assert (answer["imported_triplets"], answer["error_count"]) == (3, 1)
    assert (answer["errors"][0]["line"], answer["errors"][0]["column"]) == (3, 14)


@pytest.mark.parametrize(("document", "strict"), [(NT + "<http://a/3> bad .\n", True), ("\nno rdf", False)])
async def test_a_document_that_is_refused_writes_nothing(api: Api, document: str, strict: bool) -> None:
    answer = await post(api, document, kind="application/n-triples", strict=strict)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "invalid_rdf")
    assert error["details"]["line"] == document.rstrip().count("\n") + 1
    assert await rows(api, "SELECT * { ?s ?p ?o }") == []


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({"format": "rdfxml"}, "format"),
        ({"base_iri": "no iri"}, "base_iri"),
        ({"graph_uri": "also/none"}, "graph_uri"),
        ({"batch": 0}, "batch"),
        ({"resource_type": "X"}, "resource_type"),
        ({"observed_at": "yesterday"}, "observed_at"),
    ],
)
async def test_an_import_that_is_asked_for_wrongly_is_refused(api: Api, query: dict[str, Any], param: str) -> None:
    answer = await post(api, NT, **query)

    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param), answer.text


async def test_an_import_needs_a_key_and_a_kind(api: Api) -> None:
    keyless = await api.post(IMPORT, NT.encode(), headers={"content-type": "text/turtle"})
    kindless = await post(api, NT, kind="text/plain")

    assert (keyless.status_code, keyless.json()["error"]["code"]) == (400, "missing_idempotency_key")
    assert (kindless.status_code, kindless.json()["error"]["code"]) == (400, "invalid_param")


async def test_records_and_rdf_do_not_mix(api: Api) -> None:
    ok(await api.post("/v1/graph/create", {}))
    ok(await api.post("/v1/ontology/evolve", {"ops": [{"op": "add_entity_type", "name": "Note"}]}))
    body = {"entity_properties": [{"type": "Note", "name": "a"}]}
    ok(await post(api, NT, graph="rdf"))
    ok(await api.post("/v1/graph/commit", body, headers={"idempotency-key": "r"}))

    rdf_into_records = await post(api, NT)
    update_into_records = await api.post("/update", b"INSERT DATA { <a:b> <a:c> 1 }")
    ok(await api.post("/v1/ontology/evolve", {"ops": [{"op": "add_entity_type", "name": "Note"}]}, graph="rdf"))
    records_into_rdf = await api.post("/v1/graph/commit", body, headers={"idempotency-key": "r"}, graph="rdf")

    assert (rdf_into_records.status_code, rdf_into_records.json()["error"]["code"]) == (400, "record_graph")
    assert (update_into_records.status_code, update_into_records.json()["error"]["code"]) == (400, "record_graph")
    assert (records_into_rdf.status_code, records_into_rdf.json()["error"]["code"]) == (400, "rdf_native_graph")


async def test_an_update_inserts_data_and_nothing_else(api: Api) -> None:
    update = b'PREFIX a: <http://a/> INSERT DATA { a:1 a:p "x" . GRAPH a:g { a:2 a:p "DELETE" } }'

    answer = await api.post("/update", update)

    assert (answer.status_code, answer.content) == (200, b"")
    assert len(await rows(api, "SELECT * { ?s ?p ?o }")) == 2
    for other in (
        b"LOAD <file:///etc/passwd>",
        b"INSERT DATA { <a:b> <a:c> 1 } ; LOAD <http://127.0.0.1:1/>",
        b"INSERT DATA { <a:b> <a:c> 1 };DELETE WHERE { ?s ?p ?o }",
        b"INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }",
        b"INSERT DATA { <a:b> <a:c> }",
        b"\xff\xfe",
    ):
        refused = await api.post("/update", other)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_query"), other
    assert len(await rows(api, "SELECT * { ?s ?p ?o }")) == 2


DEEP = [("[ <a:p> ", " ]"), ("( ", " )"), ("<<( <a:a> <a:p> ", " )>>"), ("{| <a:p> 1 ", " |}"), ("<< ", " >> <a:p> 1")]


@pytest.mark.parametrize(("opened", "closed"), DEEP)
async def test_brackets_too_deep_for_a_parser_do_not_reach_it(api: Api, opened: str, closed: str) -> None:
    """Read by recursion, any of these would end the server's process."""
    deep, fine = (f"<a:a> <a:p> 1 {opened * n}1{closed * n}" for n in (50_000, 20))

    refused = await api.post("/update", f"INSERT DATA {{ {deep} }}".encode())

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_query")
    assert "brackets in more than 100 brackets" in refused.json()["error"]["message"]
    assert "100 brackets" not in (await api.post("/update", f"INSERT DATA {{ {fine} }}".encode())).text


async def test_triple_terms_too_deep_for_a_statement_are_told(api: Api) -> None:
    for levels, status in ((90, 200), (101, 400), (50_000, 400)):
        document = f"<a:a> <a:p> {'<<( <a:a> <a:p> ' * levels}1{' )>>' * levels} ."
        answer = await post(api, document, str(levels))
        assert answer.status_code == status
    assert (answer.json()["error"]["code"], answer.json()["error"]["param"]) == ("invalid_rdf", "body")
    assert len(await rows(api, "SELECT * { ?s ?p ?o }")) == 1


async def test_a_graph_with_a_name_of_the_index_is_refused(api: Api) -> None:
    """The index reads the commit that it is at from such a name."""
    mine = "urn:turnbuckle:point:1.abc"
    answers = [
        await post(api, "<a:a> <a:p> 1 .", "1", graph_uri=mine),
        await post(api, f"<a:a> <a:p> <a:b> <{mine}> .", "2", "application/n-quads"),
        await api.post("/update", f"INSERT DATA {{ GRAPH <{mine}> {{ <a:a> <a:p> 1 }} }}".encode()),
    ]

    assert [answer.status_code for answer in answers] == [400] * 3
    assert [answer.json()["error"]["code"] for answer in answers] == ["invalid_rdf", "invalid_rdf", "invalid_query"]
    assert all("the server's own" in answer.json()["error"]["message"] for answer in answers)
    ok(await post(api, f"<{mine}> <{mine}> <{mine}> .", "3"))  # a name in a statement says nothing


async def test_numbers_that_are_equal_are_one_statement(api: Api) -> None:
    """The index writes them in one way, so the store does too: going back would take away the wrong one."""
    ok(await post(api, "<a:a> <a:p> 01 .", "1"))

    again = ok(await post(api, "<a:a> <a:p> 1 .", "2"))

    assert (again["imported_triplets"], again["duplicate_literal_triples"]) == (0, 1)


async def test_every_past_commit_can_be_read(api: Api) -> None:
    """Blank nodes and named graphs too, which go another way into the index."""
    everything = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    seen = []
    for n in range(8):
        values = f'_:a <http://a/p> {n}, [ <http://a/q> "{n} <http://a/> ."@en ]'
        document = f"<http://g/{n % 3}> {{ {values} }} _:a <http://a/p> {n} ."
        ok(await post(api, document, str(n), "application/trig", blank_node_scope="s"))
        seen.append(await rows(api, everything))

    for n in (0, 7, 3, 4, 1, 6):
        assert await rows(api, everything, as_of_commit_seq=n + 1) == seen[n]
