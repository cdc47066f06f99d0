"""Captures: a turn that reads and thinks, and writes nothing (lbb-graph 6.1)."""

import inspect
from typing import Any

import pytest

from lbb import models
from lbb.workflows import (
    ActivityCapture,
    CapturedReview,
    FailedInstance,
    LbbActivities,
    OwnedWrite,
    OwnedWriteResult,
    WorkflowResult,
    capture_activities,
    entity_ref,
    lbb_activities,
)
from lbb.workflows import capture as captures
from lbb.workflows.capture_check import shape_errors
from tests.unit.workflow_server import Engine, Json, ended, failure, make_task, refused, run_turn

COMMIT = "/v1/graph/commit"
IRI = "https://littlebigbrain.com/e/" + "0" * 31 + "1"
NOTE = entity_ref(IRI, "Note")
ROW = {**NOTE, "properties": {"word_count": 3}}
DRY_RAN = {"dry_run": True, "op_count": 1, "triplets": 0, "entity_properties": 1, "written_properties": []}
REVIEW = {"kind": "answer", "title": "Why?", "question": {"prompt": "Why?"}}
COST = {"model": "mock", "tokens_in": 1, "tokens_out": 1, "cost_micro_usd": 1, "cached": False}


def a_write(**fields: Any) -> OwnedWrite:
    return OwnedWrite(**{"subjects": [NOTE], "properties": ["word_count"], "entity_properties": [ROW], **fields})


def captured(engine: Engine, **options: Any) -> ActivityCapture:
    return capture_activities(lbb_activities(engine.client), **options)


async def run(engine: Engine, call: Any, task: Json = None) -> list[Any]:
    """Run a turn whose handler makes the call; what it got."""
    got: list[Any] = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        got.append(await call(ctx))
        return WorkflowResult(state=None)

    await run_turn(handler, task, engine=engine)
    return got


def dry_running(answer: Json = DRY_RAN) -> Engine:
    engine = Engine()
    engine.answer(COMMIT, answer)
    return engine


# Writes


async def test_a_write_is_dry_run_without_key_and_fence_and_kept() -> None:
    capture = captured(engine := dry_running())

    (result,) = await run(engine, lambda ctx: capture.activities.write_owned(ctx, "write", a_write(), graph="main"))

    (sent,) = [sent for sent in engine.sent if sent.route == COMMIT]
    assert sent.params == {"graph": "main", "dry_run": "true"}
    assert "idempotency-key" not in sent.headers
    assert sent.body == {
        "entity_properties": [ROW],
        "edge_idempotency": "skip_unchanged",
        "replace_owned": {"subjects": [NOTE], "properties": ["word_count"]},
    }
    (write,) = capture.result().writes
    assert (write.step_key, write.graph, write.body, write.check) == ("write", "main", sent.body, "dry_run")
    assert (write.errors, write.report) == ([], models.GraphCommitDryRunResponse.model_validate(DRY_RAN))
    assert isinstance(result, OwnedWriteResult)
    assert (result.commit_seq, result.replayed, result.owned) == (None, False, None)
    assert (result.entities_written, result.edges_written) == (0, 0)
    assert [body["key"] for body in engine.bodies("checkpoint")] == ["write"]


async def test_a_write_may_be_made_in_the_step() -> None:
    capture = captured(engine := dry_running())

    async def made(s: Any) -> OwnedWrite:
        return a_write(entity_properties=[{**NOTE, "properties": {"effect": s.effect_id}}])

    await run(engine, lambda ctx: capture.activities.write_owned(ctx, "write", made))

    (write,) = capture.result().writes
    assert write.body is not None
    assert write.body["entity_properties"][0]["properties"] == {"effect": "pre/write"}


async def test_a_refused_write_is_kept_with_the_servers_words() -> None:
    capture = captured(engine := dry_running(refused(400, "rdf_native_graph")))

    await run(engine, lambda ctx: capture.activities.write_owned(ctx, "write", a_write()))

    (write,) = capture.result().writes
    assert (write.check, write.errors, write.report) == ("dry_run", ["no"], None)
    assert "complete" in engine.routes()


@pytest.mark.parametrize("status", [429, 503])
async def test_a_check_that_could_not_be_made_now_fails_the_step_and_keeps_nothing(status: int) -> None:
    capture = captured(engine := dry_running(refused(status)))

    await run(engine, lambda ctx: capture.activities.write_owned(ctx, "write", a_write()))

    assert failure(engine, is_permanent=False)
    assert capture.result().writes == []


async def test_a_bad_shape_is_told_without_asking_the_server() -> None:
    capture = captured(engine := dry_running())
    write = a_write(triplets=[{"source": NOTE, "relation": "HAS", "target": {"type": "Source"}}])

    await run(engine, lambda ctx: capture.activities.write_owned(ctx, "write", write))

    (kept,) = capture.result().writes
    assert (kept.check, kept.errors) == ("shape", ["`triplets[0].target` needs a name that is not blank"])
    assert COMMIT not in engine.routes()


async def test_without_a_client_only_the_shape_is_checked() -> None:
    engine = dry_running()
    live = lbb_activities(engine.client)
    capture = captures.ActivityCapture(live, None, "test")

    await run(engine, lambda ctx: capture.activities.write_owned(ctx, "write", a_write()))

    (write,) = capture.result().writes
    assert (write.check, write.errors, write.report) == ("shape", [], None)
    assert COMMIT not in engine.routes()


async def test_another_client_may_check_the_writes() -> None:
    engine, checking = Engine(), dry_running()
    capture = captured(engine, client=checking.client)

    await run(engine, lambda ctx: capture.activities.write_owned(ctx, "write", a_write()))

    assert checking.routes() == [COMMIT]


async def test_a_write_of_nothing_is_kept_and_not_checked() -> None:
    capture = captured(engine := dry_running())

    await run(engine, lambda ctx: capture.activities.write_owned(ctx, "write", OwnedWrite(subjects=[])))

    (write,) = capture.result().writes
    assert (write.body, write.check, write.errors) == (None, "shape", [])
    assert COMMIT not in engine.routes()


# The shape

_ENTITY = {"type": "Note", "name": "n"}
_EDGE = {"source": _ENTITY, "relation": "HAS", "target": _ENTITY}


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ({"triplets": [_EDGE], "entity_properties": [_ENTITY], "replace_owned": {"subjects": [_ENTITY]}}, []),
        ({"triplets": [{**_EDGE, "source": {"type": " ", "name": "n"}}]}, ["triplets[0].source"]),
        ({"triplets": [_EDGE, {**_EDGE, "target": "n"}]}, ["triplets[1].target"]),
        ({"triplets": [{**_EDGE, "target": {}}]}, ["triplets[0].target"] * 2),
        ({"triplets": [{**_EDGE, "relation": ""}]}, ["triplets[0].relation"]),
        ({"entity_properties": [{"type": "Note"}]}, ["entity_properties[0]"]),
        ({"entity_properties": [{"entity_id": "0" * 32}]}, []),
        ({"entity_properties": [{**_ENTITY, "properties": {" ": 1}}]}, ["entity_properties[0].properties"]),
        (
            {"entity_properties": [{**_ENTITY, "properties": [{"field": "a", "value": {"i64": 1}}, {"value": {}}]}]},
            ["entity_properties[0].properties[1].field"],
        ),
        ({"entity_properties": [{**_ENTITY, "remove_fields": ["a", ""]}]}, ["entity_properties[0].remove_fields[1]"]),
        ({"replace_owned": {"subjects": []}}, ["replace_owned"]),
        ({"replace_owned": {"subjects": [_ENTITY] * 600, "retract_entities": [_ENTITY] * 401}}, ["replace_owned"]),
        ({"replace_owned": {"subjects": [_ENTITY] * 600, "retract_entities": [_ENTITY] * 400}}, []),
        (
            {"replace_owned": {"subjects": [_ENTITY], "relations": ["R"] * 65, "properties": ["p"] * 64}},
            ["replace_owned.relations"],
        ),
        ({"replace_owned": {"subjects": [_ENTITY], "properties": ["p", ""]}}, ["replace_owned.properties[1]"]),
        (
            {"replace_owned": {"subjects": [{"type": "", "name": "n"}], "retract_entities": [{"type": "N"}]}},
            ["replace_owned.subjects[0]", "replace_owned.retract_entities[0]"],
        ),
    ],
)
def test_the_shape_check_begins_with_the_place(body: Json, places: list[str]) -> None:
    assert [error.split("`")[1] for error in shape_errors(body)] == places


# Models and reads


async def test_model_calls_run_and_name_the_test_and_the_step() -> None:
    engine = Engine()
    for name, answer in {
        "reason": {"value": 1},
        "decide": {"answers": {}},
        "embed": {"vectors": [], "dim": 1},
    }.items():
        engine.answer(f"/v1/workflows/activities/{name}", {**answer, **COST})
    lbb = captured(engine, workflow="notes").activities

    async def call(s: Any) -> None:
        await lbb.reason("p", {}, effect_id=s.effect_id)
        await lbb.decide({}, {}, effect_id=s.effect_id)
        await lbb.embed(["a"], effect_id=s.effect_id)

    await run(engine, lambda ctx: ctx.step("define", call))

    bodies = [sent.body for sent in engine.sent if "activities" in sent.route]
    assert [(body["test"], body["workflow"]["step"]) for body in bodies] == [({"workflow": "notes"}, "define")] * 3
    assert ended(engine)["usage"]["calls"] == 3


async def test_reads_run_and_the_ontology_is_only_previewed() -> None:
    engine = Engine()
    engine.answer("/v1/query/sparql-text", {"results": '{"head":{},"boolean":true}'})
    engine.answer("/v1/reviews", {"object": "list", "data": [], "has_more": False})
    lbb = captured(engine).activities

    assert (await lbb.sparql("ASK", as_of_commit_seq=1)).boolean is True
    assert await lbb.review_items(["k"]) == []
    assert await lbb.review_item("k") is None
    assert (await lbb.list_reviews(status="open")).data == []
    await lbb.ontology()
    await lbb.evolve([], dry_run=False)

    assert engine.sent[-1].params["dry_run"] == "true"


def test_every_activity_is_captured_or_handed_on() -> None:
    """One that was forgotten would run as the live one does."""
    public = {name for name, member in vars(LbbActivities).items() if inspect.isfunction(member) and name[0] != "_"}

    assert public <= vars(captures._CapturedActivities).keys()


# Reviews


async def test_a_review_is_kept_and_an_open_item_given_back() -> None:
    capture = captured(engine := Engine())

    first = await capture.activities.review(REVIEW, workflow="notes")
    second = await capture.activities.review({**REVIEW, "key": "mine"})

    assert (first.id, first.key, first.status, first.scope, first.revision) == (
        "captured_1", "captured_1", "open", "test", 1,
    )  # fmt: skip
    assert (second.id, second.key) == ("captured_2", "mine")
    assert engine.sent == []
    kept = capture.result().reviews
    assert [type(review) for review in kept] == [CapturedReview, CapturedReview]
    assert kept[0].request == {
        **REVIEW,
        "workflow": {"name": "notes"},
        "origin": {"kind": "agent", "id": "starter:notes"},
    }


async def test_a_wait_for_review_ends_at_once_unanswered_and_takes_no_step() -> None:
    capture = captured(engine := Engine())

    (result,) = await run(engine, lambda ctx: capture.activities.wait_for_review(ctx, "ask", REVIEW, timeout_ms=1))

    assert (result.answered, result.answer, result.item.id) == (False, None, "captured_1")
    assert engine.routes() == ["claim", "complete"]
    assert capture.result().reviews[0].request["wait"] == {"identity": "a-1", "turn": 3, "signal": ""}


async def test_a_wait_on_a_trigger_shard_fails_as_the_live_one() -> None:
    capture = captured(engine := Engine())
    task = make_task(turn={"workflow_id": "starter.notes"})

    await run(engine, lambda ctx: capture.activities.wait_for_review(ctx, "ask", REVIEW, timeout_ms=1), task)

    assert "review trigger" in failure(engine, is_permanent=True)
    assert capture.result().reviews == []


# Requeue and results


async def test_a_requeue_sends_nothing_and_takes_no_step() -> None:
    capture = captured(engine := Engine())

    got = await run(engine, lambda ctx: capture.activities.requeue(ctx, "again", [FailedInstance("e/1", "why")]))

    assert got == [None]
    assert engine.routes() == ["claim", "complete"]
    assert capture.result().results == [{"iri": "e/1", "label": "", "outcome": "failed", "values": [], "error": "why"}]


async def test_what_a_turn_did_is_kept_in_order_and_reported_too() -> None:
    capture = captured(engine := dry_running())
    lbb = capture.activities

    async def all_of_it(ctx: Any) -> None:
        await lbb.review({**REVIEW, "subject": {"name": "Hall"}})
        await lbb.write_owned(ctx, "write", a_write())
        await lbb.requeue(ctx, "again", [FailedInstance("e/9")])

    await run(engine, all_of_it, make_task(results_max=9))

    assert [result["outcome"] for result in capture.result().results] == ["review", "written", "failed"]
    assert [found["outcome"] for found in ended(engine)["results"]["inputs"]] == ["review", "written", "failed"]


async def test_a_reset_forgets_everything_but_the_numbers() -> None:
    capture = captured(engine := dry_running())
    await capture.activities.review({**REVIEW, "subject": {"name": "Hall"}})
    await run(engine, lambda ctx: capture.activities.write_owned(ctx, "write", a_write()))
    before = capture.result()

    capture.reset()
    after = capture.result()

    assert (len(before.writes), len(before.reviews), len(before.results)) == (1, 1, 2)
    assert (after.writes, after.reviews, after.results) == ([], [], [])
    assert (await capture.activities.review(REVIEW)).id == "captured_2"
