"""Bad input about graphs: each gets its status, its code and the path of what is wrong, and changes nothing."""

import json
from typing import Any

import pytest

from tests.e2e.api import Api, ok
from tests.e2e.test_bad_input import check_refusal
from tests.tables import dump
from turnbuckle import upkeep
from turnbuckle.wire import limits

COMMIT, EVOLVE, IMPORT, ENTITY = "/v1/graph/commit", "/v1/ontology/evolve", "/v1/graph/import", "/v1/graph/entity"
OPS: list[dict[str, Any]] = [
    {"op": "add_entity_type", "name": "Note"},
    {"op": "add_entity_type", "name": "Person"},
    {"op": "add_property", "name": "word_count", "value_type": "i64"},
    {"op": "add_property", "name": "seen_at", "value_type": "date_time"},
    {"op": "add_relation", "name": "ABOUT", "domain": ["Note"], "range": ["Person"]},
]
NOTE, ANN = {"type": "Note", "name": "a"}, {"type": "Person", "name": "Ann"}
KEY = {"idempotency-key": "k"}


@pytest.fixture
async def graph(api: Api) -> Api:
    """A declared graph with one note."""
    ok(await api.post("/v1/graph/create", b""))
    ok(await api.post(EVOLVE, {"ops": OPS}))
    ok(await api.post(COMMIT, {"entity_properties": [{**NOTE, "properties": {"word_count": 1}}]}, KEY))
    return api


def third(row: dict[str, Any]) -> dict[str, Any]:
    """A body whose fourth row is `row`."""
    return {"entity_properties": [NOTE, NOTE, NOTE, {**NOTE, **row}]}


def edge(**fields: Any) -> dict[str, Any]:
    return {"triplets": [{"source": NOTE, "relation": "ABOUT", "target": ANN, **fields}]}


def owned(**fields: Any) -> dict[str, Any]:
    return {"replace_owned": {"subjects": [NOTE], **fields}}


COUNT = "entity_properties[3].properties.word_count"
REGION = {"page": 1, "x0": 0.5, "y0": 0.1, "x1": 0.2, "y1": 0.3}
BAD: list[tuple[dict[str, Any], str, str | None, str]] = [
    ({}, "invalid_request", "body", "got nothing to write"),
    ({"triplets": [], "entity_properties": []}, "invalid_request", "body", "got nothing to write"),
    (
        third({"properties": {"word_count": "many"}}),
        "invalid_request",
        "entity_properties[3].properties.word_count",
        'got "many", expected i64',
    ),
    (third({"properties": {"word_count": 1.5}}), "invalid_request", COUNT, "got 1.5, expected i64"),
    (third({"properties": {"word_count": None}}), "invalid_request", COUNT, "got null, expected i64"),
    (
        third({"properties": {"word_count": {"i64": 1}}}),
        "invalid_request",
        "entity_properties[3].properties.word_count",
        'got {"i64": 1}, expected i64',
    ),
    (third({"properties": {"nope": 1}}), "invalid_request", "entity_properties[3].properties.nope", "not declared"),
    (
        third({"properties": {"seen_at": "2026-01-01T00:00:00"}}),
        "invalid_request",
        "entity_properties[3].properties.seen_at",
        "expected date_time",
    ),
    (
        third({"properties": [{"field": "word_count", "value": {"f64": 1}}]}),
        "invalid_request",
        "entity_properties[3].properties[0].value",
        "expected {'i64': ...}",
    ),
    (third({"type": "Nope"}), "invalid_request", "entity_properties[3].type", "class 'Nope' is not declared"),
    (third({"type": " "}), "invalid_request", "entity_properties[3].type", "got a blank text"),
    (third({"name": ""}), "invalid_request", "entity_properties[3].name", "got a blank text"),
    (third({"key": "a\0b"}), "invalid_request", "entity_properties[3].key", "with NUL"),
    (third({"key": "\0lbb-eid:xyz"}), "invalid_request", "entity_properties[3].key", "expected 32 hex digits"),
    (third({"entity_id": "xyz"}), "invalid_request", "entity_properties[3].entity_id", "expected 32 hex digits"),
    (third({"entity_id": "0" * 32}), "unknown_entity", "entity_properties[3]", "never was a record"),
    (third({"remove_fields": ["nope"]}), "invalid_request", "entity_properties[3].remove_fields[0]", "not declared"),
    (
        third({"properties": {"word_count": 1}, "remove_fields": ["word_count"]}),
        "invalid_request",
        "entity_properties[3].remove_fields[0]",
        "both set and removed",
    ),
    (third({"propertys": {}}), "invalid_param", "entity_properties[3].propertys", "unknown field"),
    (edge(relation="NOPE"), "invalid_request", "triplets[0].relation", "relation 'NOPE' is not declared"),
    (edge(target=NOTE), "invalid_request", "triplets[0].target", "got a Note, expected the range of ABOUT: Person"),
    (edge(confidence=1.5), "invalid_param", "triplets[0].confidence", "Expected `float` <= 1"),
    (edge(evidence={"region": REGION}), "invalid_request", "triplets[0].evidence.region", "expected x0 <= x1"),
    (edge(properties={"nope": 1}), "invalid_request", "triplets[0].properties.nope", "not declared"),
    (owned(relations=["NOPE"]), "invalid_request", "replace_owned.relations[0]", "not declared"),
    (owned(properties=["nope"]), "invalid_request", "replace_owned.properties[0]", "not declared"),
    (owned(properties=["word_count"] * 65), "invalid_param", "replace_owned.properties", "length <= 64"),
    (owned(subjects=[NOTE] * 1_001), "invalid_param", "replace_owned.subjects", "length <= 1000"),
    (owned(subjects=[NOTE] * 501, retract_entities=[NOTE] * 500), "invalid_request", "replace_owned", "got 1001"),
    ({"replace_owned": {"subjects": []}}, "invalid_request", "replace_owned", "got 0"),
    ({**third({}), "observed_at": "soon"}, "invalid_request", "observed_at", 'got "soon", expected date_time'),
    ({**third({}), "workflow_fence": {"workflow_id": "a", "turn": 1, "token": "t", "x": 1}}, "invalid_param",
     "workflow_fence.x", "unknown field"),
    ({**third({}), "edge_idempotency": "never"}, "invalid_param", "edge_idempotency", "Invalid enum value"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "code", "param", "words"), BAD, ids=[f"{b[2]}: {b[3]}" for b in BAD])
async def test_a_bad_commit_is_told_with_its_place_and_its_dry_run_says_the_same(
    graph: Api, body: dict[str, Any], code: str, param: str | None, words: str
) -> None:
    before = dump(graph.store.location)

    check_refusal(await graph.post(COMMIT, body, {"idempotency-key": "k-2"}), code, param, words)
    check_refusal(await graph.post(COMMIT, body, dry_run=True), code, param, words)

    assert dump(graph.store.location) == before


async def test_a_commit_without_a_key_or_with_a_bad_one_is_refused(graph: Api) -> None:
    body = third({})

    for headers in ({}, {"idempotency-key": " "}):
        check_refusal(await graph.post(COMMIT, body, headers), "missing_idempotency_key", "idempotency-key")
    answer = await graph.post(COMMIT, body, {"idempotency-key": "x" * 257})
    check_refusal(answer, "invalid_param", "idempotency-key", "expected 1 to 256 printable characters")


async def test_two_keys_are_no_key_and_blanks_around_one_are_none_of_it(graph: Api) -> None:
    """A proxy may take the first where the server takes the last, or take blanks away that the server would count."""
    body = json.dumps(third({})).encode()
    twice = [("idempotency-key", "one"), ("idempotency-key", "two")]

    answer = await graph.ask("POST", COMMIT, content=body, headers=twice)
    check_refusal(answer, "invalid_request", "idempotency-key", "got the header twice")

    padded = ok(await graph.post(COMMIT, body, {"idempotency-key": " k-2 \t"}))
    assert (padded["idempotency_key"], padded["replayed"]) == ("k-2", False)
    assert ok(await graph.post(COMMIT, body, {"idempotency-key": "k-2"}))["replayed"] is True


async def test_a_commit_over_its_limits_is_refused(graph: Api) -> None:
    many = {"entity_properties": [NOTE] * (limits.COMMIT_ROWS + 1)}
    check_refusal(await graph.post(COMMIT, many, KEY), "invalid_param", "entity_properties", "length <= 10000")

    long = third({"name": "x" * 1_025})
    check_refusal(await graph.post(COMMIT, long, KEY), "invalid_param", "entity_properties[3].name", "length <= 1024")


async def test_a_fence_that_lost_is_told(graph: Api) -> None:
    fence = {"workflow_id": "nobody", "turn": 1, "token": "t"}

    answer = await graph.post(COMMIT, {**third({}), "workflow_fence": fence}, {"idempotency-key": "k-2"})

    check_refusal(answer, "workflow_fence_lost", "workflow_fence", "'nobody'")


BAD_OPS: list[tuple[Any, str, str, str]] = [
    ([], "invalid_param", "ops", "length >= 1"),
    ([{"op": "drop_everything"}], "invalid_param", "ops[0].op", "Invalid value"),
    ([{"op": "add_entity_type"}], "invalid_param", "ops[0].name", "missing required field"),
    (
        [OPS[0], {"op": "add_property", "name": "x", "value_type": "json"}],
        "invalid_param",
        "ops[1].value_type",
        '"json"',
    ),
    (
        [OPS[0], {"op": "add_property", "name": "x", "unit": "mm"}],
        "invalid_request",
        "ops[1].unit",
        "numbers have units",
    ),
    ([{"op": "add_entity_type", "name": "no spaces"}], "invalid_request", "ops[0].name", "expected a letter"),
]


@pytest.mark.parametrize(("ops", "code", "param", "words"), BAD_OPS, ids=[b[2] for b in BAD_OPS])
async def test_a_bad_operation_is_told_with_its_place(graph: Api, ops: Any, code: str, param: str, words: str) -> None:
    before = dump(graph.store.location)

    check_refusal(await graph.post(EVOLVE, {"ops": ops}), code, param, words)

    assert dump(graph.store.location) == before


async def test_a_deletion_needs_the_name_again(graph: Api) -> None:
    before = dump(graph.store.location)

    check_refusal(await graph.post("/v1/graph/delete", b""), "invalid_param", "confirm", "missing required field")
    answer = await graph.post("/v1/graph/delete", b"", confirm="other")
    check_refusal(answer, "invalid_param", "confirm", "got 'other', expected the graph's name 'main'")

    assert dump(graph.store.location) == before


@pytest.mark.parametrize(
    ("query", "code", "param"),
    [
        ({"id": "xyz"}, "invalid_param", "id"),
        ({}, "invalid_param", "id"),
        ({"type": "Note"}, "invalid_param", "id"),
        ({"type": "Nope", "name": "a"}, "invalid_param", "type"),
        ({"type": "Note", "name": "a", "as_of_commit_seq": 2}, "invalid_param", "as_of_commit_seq"),
        ({"type": "Note", "name": "a", "edges": 10_001}, "invalid_param", "edges"),
        ({"type": "Note", "name": "nobody"}, "not_found", None),
    ],
)
async def test_a_record_that_cannot_be_read_is_told(graph: Api, query: dict[str, Any], code: str, param: str) -> None:
    check_refusal(await graph.get(ENTITY, **query), code, param)


# -- imports -----------------------------------------------------------------------------------------------------

LINES = [
    json.dumps({**NOTE, "properties": {"word_count": 7}}),
    "",
    '{"type": "Note"',
    json.dumps({**NOTE, "name": "b", "properties": {"nope": 1}}),
    json.dumps({"source": {**NOTE, "name": "b"}, "relation": "ABOUT", "target": ANN}),
    json.dumps({"source": NOTE, "relation": "ABOUT", "target": NOTE}),
    json.dumps({**NOTE, "name": "c", "entity_id": "0" * 32}),
]


@pytest.mark.parametrize("batch", [1, 2, 500])
async def test_an_import_takes_what_it_can_and_names_the_other_lines(graph: Api, batch: int) -> None:
    content = "\n".join(LINES).encode()

    answer = ok(await graph.post(IMPORT, content, {"idempotency-key": "i"}, batch=batch))
    again = ok(await graph.post(IMPORT, content, {"idempotency-key": "i"}, batch=batch))

    assert (answer["lines_read"], answer["imported_triplets"], answer["imported_entity_properties"]) == (6, 1, 1)
    assert [(one["line"], one["code"]) for one in answer["errors"]] == [
        (3, "invalid_request"),
        (4, "invalid_request"),
        (6, "invalid_request"),
        (7, "unknown_entity"),
    ]
    assert answer["error_count"] == 4
    assert "lines[4].properties.nope: field 'nope' is not declared" in answer["errors"][1]["message"]
    assert (answer["idempotent_replay"], again["idempotent_replay"]) == (False, True)
    assert again["committed_commit_seq"] == answer["committed_commit_seq"]
    shown = ok(await graph.get(ENTITY, type="Note", name="a"))
    assert shown["attributes"] == {"word_count": 7}
    assert len(ok(await graph.get(ENTITY, type="Note", name="b"))["outgoing"]) == 1


async def test_a_strict_import_with_a_bad_line_writes_nothing(graph: Api) -> None:
    before = dump(graph.store.location)
    content = "\n".join([LINES[0], LINES[3]]).encode()

    answer = await graph.post(IMPORT, content, {"idempotency-key": "i"}, strict=True, batch=1)

    check_refusal(answer, "invalid_request", "lines[2].properties.nope", "not declared")
    assert dump(graph.store.location) == before


async def test_an_import_of_nothing_is_nothing(graph: Api) -> None:
    answer = ok(await graph.post(IMPORT, b"\n\n", {"idempotency-key": "i"}))

    assert (answer["lines_read"], answer["batches"]) == (0, 0)


# -- graphs as such ----------------------------------------------------------------------------------------------


async def test_a_deleted_graph_is_gone_at_once_and_its_name_is_another_graph(graph: Api) -> None:
    assert ok(await graph.get("/v1/graphs"))["data"] == [{"graph_id": "main"}]
    await graph.started("a")

    assert ok(await graph.post("/v1/graph/delete", b"", confirm="main"))["deleted"] is True
    assert ok(await graph.get("/v1/graphs"))["data"] == []
    assert (await graph.get("/v1/graph/publication-status")).status_code == 404
    assert ok(await graph.post("/v1/graph/delete", b"", confirm="main"))["deleted"] is False

    assert ok(await graph.post("/v1/graph/create", b""))["commit_seq"] == 0
    assert ok(await graph.get("/v1/workflows/instances")) == {"instances": []}
    assert ok(await graph.get("/v1/ontology"))["entity_types"] == []


async def test_upkeep_removes_what_a_deleted_graph_left(graph: Api) -> None:
    await graph.started("a")
    await graph.sent(to="a")
    ok(await graph.post("/v1/graph/delete", b"", confirm="main"))

    await upkeep.clear_deleted_graphs(graph.app.store)

    left = {table for table, rows in dump(graph.store.location).items() if rows}
    assert left == {"environment", "api_key", "deleted_graph"}
    graph.store.clock.pass_ms(limits.HOUR_MS + 1)
    await upkeep.clear_deleted_graphs(graph.app.store)
    assert dump(graph.store.location)["deleted_graph"] == []


async def test_graphs_are_listed_in_pages_without_the_servers_own(graph: Api) -> None:
    for name in ("alpha", "hub", "zeta"):
        await graph.post("/v1/graph/create", b"", graph=name)
    ok(await graph.post("/v1/workflows/instances", {"id": "x", "workflow_type": "t", "version": "v1"}, graph="hub"))

    first = ok(await graph.get("/v1/graphs", limit=2))
    second = ok(await graph.get("/v1/graphs", limit=2, cursor=first["next_cursor"]))

    assert [one["graph_id"] for one in first["data"] + second["data"]] == ["alpha", "main", "zeta"]
    assert (first["has_more"], second["has_more"]) == (True, False)
    check_refusal(await graph.post("/v1/graph/create", b"", graph="hub"), "invalid_param", "graph", "'hub'")


async def test_a_commit_is_published_with_itself(graph: Api) -> None:
    status = ok(await graph.get("/v1/graph/publication-status"))

    assert (status["state"], status["head_seq"], status["published_seq"]) == ("current", 1, 1)
