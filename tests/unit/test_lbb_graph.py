"""The graph calls of both clients (lbb-graph 2, 8.2): what is sent, what comes back, what is tried again."""

import inspect
import json
import re
from typing import Any

import httpx
import pytest

from lbb import AsyncLbbClient, LbbClient, LbbError, graph_namespace, models
from tests.unit.lbb_scripted import ClientClass, MovedTime, Script, client_of, finish

both = pytest.mark.parametrize("cls", [LbbClient, AsyncLbbClient])

COMMITTED = {
    "commit_seq": 4,
    "idempotency_key": "k",
    "replayed": False,
    "graph_created": False,
    "entities_written": 1,
    "edges_written": 0,
    "visibility_token": "v",
    "owned": {"edges_retracted": 0, "fields_removed": 2, "entities_retracted": 0},
    "written_properties": [],
    "commit": {
        "commit_seq": 4,
        "entity_ids": [],
        "edge_event_ids": [],
        "observation_ids": [],
        "idempotent_replay": False,
        "visibility_token": "v",
    },
}
DRY_RAN = {"dry_run": True, "op_count": 1, "triplets": 0, "entity_properties": 1, "written_properties": []}
ROW = {"entity_properties": [{"type": "Note", "name": "n", "properties": {"text": "x"}}]}


def sent(script: Script) -> list[tuple[str, str, dict[str, str]]]:
    return [(r.method, r.url.path, dict(r.url.params)) for r in script.requests]


@both
def test_a_commit_has_a_key_of_its_own_or_the_given_one(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(httpx.Response(200, json=COMMITTED)), graph="g")

    assert finish(lambda: client.commit(ROW)) == COMMITTED
    finish(lambda: client.commit(ROW, idempotency_key="mine"))

    first, second = script.requests
    assert sent(script)[0] == ("POST", "/v1/graph/commit", {"graph": "g"})
    assert json.loads(first.content) == ROW
    assert re.fullmatch(r"facts\.create:\d{16}:[0-9a-f]{32}", first.headers["idempotency-key"])
    assert second.headers["idempotency-key"] == "mine"


@both
def test_a_commit_can_be_read_as_its_model(cls: ClientClass) -> None:
    client = client_of(cls, Script(httpx.Response(200, json=COMMITTED | {"unknown": 1})))

    committed = finish(lambda: client.commit_model(ROW))

    assert isinstance(committed, models.GraphCommitResponse)
    assert committed.commit_seq == 4
    assert committed.owned is not None
    assert committed.owned.fields_removed == 2


@both
def test_a_dry_run_says_so_and_has_no_key(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(httpx.Response(200, json=DRY_RAN)))

    assert finish(lambda: client.commit_dry_run(ROW)) == DRY_RAN
    assert finish(lambda: client.commit_dry_run_model(ROW)).entity_properties == 1

    assert sent(script) == [("POST", "/v1/graph/commit", {"dry_run": "true"})] * 2
    assert not any("idempotency-key" in request.headers for request in script.requests)


@both
@pytest.mark.parametrize(
    ("make", "sent_times"),
    [
        (lambda client: client.commit(ROW), 2),
        (lambda client: client.commit_dry_run(ROW), 2),
        (lambda client: client.ontology.evolve({"ops": []}), 2),
        (lambda client: client.use_workflow_starter("workflow"), 2),
        (lambda client: client.create_graph(), 1),
    ],
)
def test_what_may_be_repeated_is_tried_again_after_a_5xx(cls: ClientClass, make: Any, sent_times: int) -> None:
    busy = httpx.Response(503, json={"error": {"code": "server_busy", "message": "m", "type": "t"}})
    client = client_of(cls, script := Script(busy, httpx.Response(200, json=COMMITTED)), retry_delay=0)

    if sent_times == 1:
        with pytest.raises(LbbError):
            finish(lambda: make(client))
    else:
        finish(lambda: make(client))

    assert len(script.requests) == sent_times


@both
def test_the_ontology_is_changed_previewed_and_viewed(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(httpx.Response(200, json={"ontology_version": 2})))
    body = {"ops": [{"op": "add_entity_type", "name": "Note"}]}

    assert finish(lambda: client.ontology.evolve(body)) == {"ontology_version": 2}
    finish(lambda: client.ontology.evolve(body, dry_run=True))
    finish(client.ontology.view)
    finish(lambda: client.ontology.view(counts=True))

    assert sent(script) == [
        ("POST", "/v1/ontology/evolve", {}),
        ("POST", "/v1/ontology/evolve", {"dry_run": "true"}),
        ("GET", "/v1/ontology", {}),
        ("GET", "/v1/ontology", {"counts": "true"}),
    ]
    assert json.loads(script.requests[0].content) == body


@both
def test_one_record_is_read_by_what_was_given(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(), graph="g")

    finish(lambda: client.entities.detail(type="Note", key="k", edges=5, evidence=0, as_of_commit_seq=3))

    assert sent(script) == [
        ("GET", "/v1/graph/entity",
         {"graph": "g", "type": "Note", "key": "k", "edges": "5", "evidence": "0", "as_of_commit_seq": "3"}),
    ]  # fmt: skip


@both
def test_another_graph_has_the_same_calls(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(httpx.Response(200, json=COMMITTED)), graph="main")
    other = client.graph("other")

    finish(lambda: other.facts.create(ROW, idempotency_key="k"))
    finish(lambda: other.ontology.view())
    finish(lambda: other.entities.detail(id="1"))
    finish(lambda: other.use_workflow_starter("workflow", name="n"))
    finish(lambda: other.delete(confirm="other"))

    assert sent(script) == [
        ("POST", "/v1/graph/commit", {"graph": "other"}),
        ("GET", "/v1/ontology", {"graph": "other"}),
        ("GET", "/v1/graph/entity", {"graph": "other", "id": "1"}),
        ("PUT", "/v1/workflows/triggered", {"graph": "other"}),
        ("POST", "/v1/graph/delete", {"graph": "other", "confirm": "other"}),
    ]


@both
def test_rows_are_imported_as_lines(cls: ClientClass) -> None:
    facts = client_of(cls, script := Script()).graph("g").facts

    finish(lambda: facts.import_ndjson([{"type": "Note", "name": "ü"}, {"type": "Note", "name": "b"}], strict=True))
    finish(lambda: facts.import_ndjson(b'{"a":1}\n', idempotency_key="k"))

    first, second = script.requests
    assert first.content == '{"type":"Note","name":"ü"}\n{"type":"Note","name":"b"}\n'.encode()
    assert (first.url.path, dict(first.url.params)) == ("/v1/graph/import", {"graph": "g", "strict": "true"})
    assert first.headers["content-type"] == "application/x-ndjson"
    assert first.headers["idempotency-key"].startswith("facts.import:")
    assert (second.content, second.headers["idempotency-key"]) == (b'{"a":1}\n', "k")


@both
@pytest.mark.parametrize(
    ("format", "content_type"),
    [
        ("ntriples", "application/n-triples"),
        ("turtle", "text/turtle"),
        ("nquads", "application/n-quads"),
        ("trig", "application/trig"),
    ],
)
def test_rdf_is_imported_under_its_type(cls: ClientClass, format: str, content_type: str) -> None:
    client = client_of(cls, script := Script())

    finish(lambda: client.graph("g").facts.import_rdf("<a> <b> <c> .", format=format, base_iri="http://x/"))

    request = script.request
    assert request.headers["content-type"] == content_type
    assert dict(request.url.params) == {"graph": "g", "format": format, "base_iri": "http://x/"}
    assert (request.url.path, request.content) == ("/v1/graph/import/rdf", b"<a> <b> <c> .")
    assert "idempotency-key" in request.headers


@both
def test_another_rdf_format_is_refused_before_anything_is_sent(cls: ClientClass) -> None:
    client = client_of(cls, script := Script())

    with pytest.raises(ValueError, match="ntriples"):
        finish(lambda: client.graph("g").facts.import_rdf("", format="rdfxml"))

    assert script.requests == []


def status(state: str, published_seq: int) -> httpx.Response:
    return httpx.Response(200, json={"state": state, "published_seq": published_seq})


@both
def test_publication_is_waited_for(cls: ClientClass, monkeypatch: pytest.MonkeyPatch) -> None:
    time = MovedTime()
    stop_the_clock(monkeypatch, time)
    answers = (status("queued", 9), status("current", 8), status("current", 9))
    client = client_of(cls, script := Script(*answers))

    done = finish(lambda: client.graph("g").wait_for_published(9, poll_interval=0.5))

    assert done["published_seq"] == 9
    assert (len(script.requests), time.slept) == (3, [0.5, 0.5])


@both
def test_a_publication_that_is_late_or_blocked_is_an_error(cls: ClientClass, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_the_clock(monkeypatch, MovedTime())

    with pytest.raises(TimeoutError, match="within 1 s"):
        finish(lambda: client_of(cls, Script(status("queued", 1))).graph("g").wait_for_published(2, timeout=1))
    with pytest.raises(RuntimeError, match="blocked"):
        finish(lambda: client_of(cls, Script(status("blocked", 1))).graph("g").wait_for_published(2))


def stop_the_clock(monkeypatch: pytest.MonkeyPatch, time: MovedTime) -> None:
    monkeypatch.setattr(graph_namespace.time, "monotonic", lambda: time.now)
    monkeypatch.setattr(graph_namespace.time, "sleep", time.sleep)
    monkeypatch.setattr(graph_namespace.asyncio, "sleep", time.sleep_async)


@both
def test_a_call_shows_its_signature_and_its_text(cls: ClientClass) -> None:
    client = client_of(cls, Script())

    parameters = inspect.signature(client.sparql).parameters

    assert list(parameters)[:3] == ["query", "cursor", "reason"]
    assert [n for n, p in parameters.items() if p.kind is not inspect.Parameter.KEYWORD_ONLY] == ["query"]
    assert "SELECT" in client.sparql.__doc__
    assert inspect.iscoroutinefunction(client.sparql) is (cls is AsyncLbbClient)
