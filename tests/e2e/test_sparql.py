"""SPARQL over the API: what the rows show, at which commit, and what is refused (lbb-graph 2.10)."""

import asyncio
import contextlib
import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.e2e.api import Api, ok, serving
from tests.open_store import OpenStore
from tests.store import test_projected
from turnbuckle.store import graph as graphs
from turnbuckle.store.database import read
from turnbuckle.wire.errors import Refused

SPARQL = "/v1/query/sparql-text"
E = "https://littlebigbrain.com/e/"
PROLOGUE = """PREFIX p: <https://littlebigbrain.com/p/> PREFIX c: <https://littlebigbrain.com/class/>
PREFIX r: <https://littlebigbrain.com/r/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> """


class Graph:
    """A graph over the API, with the least that a test must say."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.keys = 0

    async def evolve(self, *ops: dict[str, Any]) -> None:
        ok(await self.api.post("/v1/ontology/evolve", {"ops": list(ops)}))

    async def commit(self, **body: Any) -> int:
        self.keys += 1
        headers = {"idempotency-key": f"key-{self.keys}"}
        return int(ok(await self.api.post("/v1/graph/commit", body, headers=headers))["commit_seq"])

    async def set(self, name: str, **fields: Any) -> int:
        return await self.commit(entity_properties=[{"type": "Note", "name": name, "properties": fields}])

    async def ask(self, query: str, **body: Any) -> httpx.Response:
        params = {name: body.pop(name) for name in ("consistency", "min_indexed_seq") if name in body}
        return await self.api.post(SPARQL, {"query": PROLOGUE + query, **body}, **params)

    async def rows(self, query: str, **body: Any) -> list[dict[str, str]]:
        results = json.loads(ok(await self.ask(query, **body))["results"])
        found = [{name: term["value"] for name, term in row.items()} for row in results["results"]["bindings"]]
        return sorted(found, key=repr)


@pytest.fixture
async def graph(api: Api) -> Graph:
    made = Graph(api)
    ok(await api.post("/v1/graph/create", {}))
    await made.evolve(
        {"op": "add_entity_type", "name": "Note"},
        {"op": "add_property", "name": "text"},
        {"op": "add_property", "name": "words", "value_type": "i64"},
        {"op": "add_property", "name": "tags", "value_type": "keyword_set"},
    )
    return made


async def test_a_query_sees_the_commit_before_it(graph: Graph) -> None:
    seq = await graph.set("a", text='quote " and \\ and \n', words=3, tags=["x", "y"])

    query = "SELECT ?label ?text ?words { ?s a c:note; rdfs:label ?label; p:text ?text; p:words ?words }"
    answer = ok(await graph.ask(query))

    assert json.loads(answer["results"])["results"]["bindings"] == [
        {
            "label": {"type": "literal", "value": "a"},
            "text": {"type": "literal", "value": 'quote " and \\ and \n'},
            "words": {"type": "literal", "value": "3", "datatype": "http://www.w3.org/2001/XMLSchema#integer"},
        }
    ]
    page = {"returned": 1, "total": 1, "offset": 0, "limit": 10_000, "has_more": False, "next_offset": None}
    assert answer["row_page"] == page
    assert answer["snapshot"] == {"commit_seq": seq, "compacted_seq": seq, "served_at_seq": seq}


async def test_every_past_commit_can_be_read(graph: Graph) -> None:
    """Forth and back, with values that came, changed and went."""
    seqs = [await graph.set("a", words=n, tags=[str(n), "all"]) for n in range(40)]
    query = "SELECT ?words ?tag { ?s p:words ?words; p:tags ?tag FILTER(?tag != 'all') }"

    for n in (39, 0, 25, 26, 3, 39, 38):
        assert await graph.rows(query, as_of_commit_seq=seqs[n]) == [{"words": str(n), "tag": str(n)}]
    assert await graph.rows(query, as_of_commit_seq=0) == []


async def test_pages_of_one_query_show_one_commit(graph: Graph) -> None:
    for n in range(5):
        seq = await graph.set(f"note {n}", words=n)
    query = "SELECT ?w { ?s p:words ?w } ORDER BY ?w"
    first = ok(await graph.ask(query, limit=2))
    await graph.set("note 9", words=-9)

    second = ok(await graph.ask(query, limit=2, cursor=first["next_cursor"]))
    third = ok(await graph.ask(query, limit=2, cursor=second["next_cursor"]))

    texts = [[b["w"]["value"] for b in json.loads(a["results"])["results"]["bindings"]] for a in (first, second, third)]
    assert texts == [["0", "1"], ["2", "3"], ["4"]]
    assert [page["snapshot"]["served_at_seq"] for page in (first, second, third)] == [seq] * 3
    assert second["row_page"] == {
        "returned": 2, "total": 5, "offset": 2, "limit": 2, "has_more": True, "next_offset": 4
    }  # fmt: skip
    assert not third["row_page"]["has_more"]
    assert "next_cursor" not in third
    assert ok(await graph.ask(query, limit=2, offset=4))["row_page"]["total"] == 6


async def test_relations_show_both_ways(graph: Graph) -> None:
    await graph.evolve(
        {"op": "add_relation", "name": "CITES", "inverse_name": "CITED_BY"},
        {"op": "add_relation", "name": "NEAR", "symmetric": True},
    )
    a, b = ({"type": "Note", "name": name} for name in "ab")
    await graph.commit(
        triplets=[
            {"source": a, "relation": "CITES", "target": b},
            {"source": a, "relation": "NEAR", "target": b},
        ]
    )

    asked = {
        name: await graph.rows(f"SELECT ?x ?y {{ ?s r:{name} ?o . ?s rdfs:label ?x . ?o rdfs:label ?y }}")
        for name in ("cites", "cited_by", "near")
    }

    assert asked == {
        "cites": [{"x": "a", "y": "b"}],
        "cited_by": [{"x": "b", "y": "a"}],
        "near": [{"x": "a", "y": "b"}, {"x": "b", "y": "a"}],
    }


async def test_an_edge_that_is_there_twice_goes_with_its_last_copy(graph: Graph) -> None:
    await graph.evolve({"op": "add_relation", "name": "NEAR", "symmetric": True})
    a, b = ({"type": "Note", "name": name} for name in "ab")
    await graph.commit(triplets=[{"source": a, "relation": "NEAR", "target": b}])
    twice = await graph.commit(triplets=[{"source": b, "relation": "NEAR", "target": a}])
    query = "SELECT ?x { ?s r:near ?o . ?s rdfs:label ?x }"
    assert len(await graph.rows(query)) == 2

    await graph.commit(replace_owned={"subjects": [a], "relations": ["NEAR"]})
    assert len(await graph.rows(query)) == 2
    await graph.commit(replace_owned={"subjects": [b], "relations": ["NEAR"]})

    assert await graph.rows(query) == []
    assert len(await graph.rows(query, as_of_commit_seq=twice)) == 2


async def test_an_inverse_declared_later_shows_at_once(graph: Graph) -> None:
    """An ontology changes without a commit."""
    await graph.evolve({"op": "add_relation", "name": "CITES"})
    a, b = ({"type": "Note", "name": name} for name in "ab")
    before = await graph.commit(triplets=[{"source": a, "relation": "CITES", "target": b}])
    query = "SELECT ?x { ?s r:cited_by ?o . ?s rdfs:label ?x }"
    assert await graph.rows(query) == []

    await graph.evolve({"op": "set_relation_inverse", "relation": "CITES", "inverse_name": "CITED_BY"})

    assert await graph.rows(query) == [{"x": "b"}]
    await graph.set("c", words=1)
    assert await graph.rows(query) == [{"x": "b"}]
    assert await graph.rows(query, as_of_commit_seq=before) == []


async def test_a_subclass_is_found_by_path_and_by_entailment(graph: Graph) -> None:
    await graph.evolve(
        {"op": "add_entity_type", "name": "Memo"},
        {"op": "add_super_types", "entity_type": "Memo", "super_types": ["Note"]},
    )
    await graph.commit(entity_properties=[{"type": "Memo", "name": "m", "properties": {"words": 1}}])
    label = "rdfs:label ?x"

    assert await graph.rows(f"SELECT ?x {{ ?s a c:note; {label} }}") == []
    assert await graph.rows(f"SELECT ?x {{ ?s a/rdfs:subClassOf* c:note; {label} }}") == [{"x": "m"}]
    assert await graph.rows(f"SELECT ?x {{ ?s a c:note; {label} }}", entailment="subclass") == [{"x": "m"}]
    answer = await graph.ask("ASK { ?s a c:note }", entailment="subclass")
    assert json.loads(ok(answer)["results"]) == {"head": {}, "boolean": True}


async def test_a_graph_nobody_has_used_is_empty(graph: Graph) -> None:
    answer = ok(await graph.api.post(SPARQL, {"query": "SELECT * { ?s ?p ?o }"}, graph="other"))

    assert (answer["row_page"]["total"], answer["snapshot"]["commit_seq"]) == (0, 0)


async def test_a_deleted_graph_leaves_nothing_to_its_name(graph: Graph) -> None:
    await graph.set("a", words=1)
    assert len(await graph.rows("SELECT ?w { ?s p:words ?w }")) == 1

    ok(await graph.api.post("/v1/graph/delete", {}, confirm="main"))

    assert await graph.rows("SELECT ?w { ?s p:words ?w }") == []
    async with asyncio.timeout(5.0):
        while graph.api.app.index.graphs():  # noqa: ASYNC110  # the event is the other process's
            await asyncio.sleep(0.01)


async def test_a_name_beyond_ascii_has_an_iri(graph: Graph) -> None:
    name = "größe.日本-ªﷰ_1"
    await graph.evolve({"op": "add_property", "name": name}, {"op": "add_relation", "name": name})
    await graph.set("a", words=1)
    query = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o FILTER(isIRI(?o) || ?o = 'x') }"
    assert await graph.rows(query) == [{"n": "1"}]

    a, b = ({"type": "Note", "name": name} for name in "ab")
    await graph.commit(
        entity_properties=[{**a, "properties": {name: "x"}}],
        triplets=[{"source": a, "relation": name, "target": b}],
    )

    assert await graph.rows(query) == [{"n": "4"}]


NEVER_ENDS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?a != ?j) }"
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no query": ({"query": " SELECT * {"}, "invalid_query", "query"),
    "an empty text": ({"query": ""}, "invalid_param", "query"),
    "construct": ({"query": "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"}, "invalid_query", "query"),
    "describe": ({"query": "PREFIX a: <b:> DESCRIBE a:c"}, "invalid_query", "query"),
    "an update": ({"query": "DELETE WHERE { ?s ?p ?o }"}, "invalid_query", "query"),
    "a call outside": ({"query": "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }"}, "invalid_query", "query"),
    "silently": ({"query": "ASK {sErViCe SILENT?x{ ?s ?p ?o } }"}, "invalid_query", "query"),
    "an unknown function": ({"query": "SELECT (<urn:f>(1) AS ?x) {}"}, "invalid_query", "query"),
    "reasoning": ({"query": "ASK {}", "reason": True}, "invalid_param", "reason"),
    "owl": ({"query": "ASK {}", "entailment": "owl"}, "invalid_param", "entailment"),
    "rdfs": ({"query": "ASK {}", "entailment": "rdfs"}, "invalid_param", "entailment"),
    "a field nobody knows": ({"query": "ASK {}", "speed": 1}, "invalid_param", "speed"),
    "a commit to come": ({"query": "ASK {}", "as_of_commit_seq": 1_000}, "invalid_param", "as_of_commit_seq"),
    "a commit before all": ({"query": "ASK {}", "as_of_commit_seq": -1}, "invalid_param", "as_of_commit_seq"),
    "a large page": ({"query": "ASK {}", "limit": 10_001}, "invalid_param", "limit"),
    "no cursor": ({"query": "ASK {}", "cursor": "?"}, "invalid_param", "cursor"),
    "another's cursor": ({"query": "ASK {}", "cursor": "WzEsMiwieCJd"}, "invalid_param", "cursor"),
    "two ways to page": ({"query": "ASK {}", "cursor": "WzEsMiwieCJd", "offset": 1}, "invalid_param", "cursor"),
    "a million rows": ({"query": "SELECT ?a { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"}, "query_too_large", "query"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_no_query_for_us_is_refused(graph: Graph, name: str) -> None:
    body, code, param = REFUSED[name]
    for n in range(60 if code == "query_too_large" else 1):
        await graph.set(str(n), words=n, tags=["a", "b"])

    answer = await graph.api.post(SPARQL, body)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, code, param), answer.text


async def test_a_syntax_error_names_its_place(graph: Graph) -> None:
    answer = await graph.api.post(SPARQL, {"query": "SELECT * {\n ?s ?p }"})

    assert answer.json()["error"]["details"] == {"line": 2, "column": 9}


async def test_a_commit_that_is_not_there_yet_is_waited_for_by_the_client(graph: Graph) -> None:
    seq = await graph.set("a", words=1)

    answer = await graph.ask("ASK {}", min_indexed_seq=seq + 1, consistency="strong")

    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "read_your_writes_pending")
    assert answer.headers["retry-after"] == "1"
    assert (await graph.ask("ASK {}", min_indexed_seq=seq, consistency="strong")).status_code == 200


async def test_a_query_over_its_time_is_told_and_others_are_answered(open_store: OpenStore) -> None:
    async with serving(open_store, sparql_query_ms=4_000) as api:
        graph = Graph(api)
        ok(await api.post("/v1/graph/create", {}))
        await graph.evolve({"op": "add_entity_type", "name": "Note"}, {"op": "add_property", "name": "words"})
        for n in range(20):
            old = await graph.set(f"{n}", words=str(n))
        await graph.set("more", words="more")
        count = "SELECT (COUNT(*) AS ?n) { ?s p:words ?w }"
        endless = asyncio.create_task(graph.ask(NEVER_ENDS))
        took_s, loop = [], asyncio.get_running_loop()
        while not endless.done():
            began_at = loop.time()
            assert await graph.rows(count) == [{"n": "21"}]
            assert await graph.rows(count, as_of_commit_seq=old) == [{"n": "20"}]
            took_s.append(loop.time() - began_at)

        error = (await endless).json()["error"]
        assert (error["code"], error["retryable"]) == ("query_timeout", False)
        assert max(took_s) < 3.0  # a quarter of a second on a machine that does nothing else


async def test_a_commit_by_another_server_is_seen(open_store: OpenStore) -> None:
    """Nobody tells this one of it."""
    async with serving(open_store) as mine, serving(open_store) as other:
        graph, others = Graph(mine), Graph(other)
        ok(await mine.post("/v1/graph/create", {}))
        await graph.evolve({"op": "add_entity_type", "name": "Note"}, {"op": "add_property", "name": "words"})
        assert await graph.rows("SELECT ?w { ?s p:words ?w }") == []

        await others.set("a", words="1")

        assert await graph.rows("SELECT ?w { ?s p:words ?w }") == [{"w": "1"}]


@given(moves=st.lists(test_projected.moves, min_size=2, max_size=15), order=st.lists(st.integers(0), max_size=8))
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
def test_a_read_of_a_past_commit_is_as_it_was_then(
    open_store: OpenStore, moves: list[tuple[Any, ...]], order: list[int]
) -> None:
    """Through the index process and its copies, in any order."""
    store = test_projected.fresh(open_store)
    name = read(open_store.database, lambda tx: graphs.head(tx, store.graph_id)).name  # type: ignore[union-attr]

    async def play() -> None:
        async with serving(open_store) as api:

            async def everything(**body: Any) -> tuple[int, list[Any]]:
                query = {"query": "SELECT * { ?s ?p ?o }", **body}
                answer = ok(await api.post(SPARQL, query, graph=name))
                bindings = json.loads(answer["results"])["results"]["bindings"]
                return answer["snapshot"]["served_at_seq"], sorted(bindings, key=repr)

            seen = {0: list[Any]()}
            for move in moves:
                with contextlib.suppress(Refused):  # it does not fit what is there
                    await asyncio.to_thread(test_projected.do, store, move)  # the writer needs this loop
                seq, triples = await everything()
                seen.setdefault(seq, triples)  # a commit keeps the ontology that it was made with
            seqs = list(seen)[:-1]  # the newest is shown with the ontology of now
            for at in order if seqs else ():
                seq = seqs[at % len(seqs)]
                assert await everything(as_of_commit_seq=seq) == (seq, seen[seq])

    asyncio.run(play())
