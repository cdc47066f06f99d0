"""Owned writes and requeues (lbb-graph 5.5, 5.9, 5.10)."""

import threading
from typing import Any

import httpx
import pytest

from lbb import AsyncLbbClient, models
from lbb.workflows import (
    FailedInstance,
    OwnedWrite,
    OwnedWriteResult,
    WorkflowResult,
    entity_ref,
    lbb_activities,
    owned_commit_body,
    requeue_failed,
    write_owned,
)
from tests.unit.workflow_server import Engine, Json, ended, failure, make_task, refused, run_turn, saved

COMMIT = "/v1/graph/commit"
REQUEUE = "/v1/workflows/named/requeue"
NAMESPACE = "https://littlebigbrain.com/e/"
ID, OTHER_ID = "0" * 31 + "1", "0" * 31 + "2"
NOTE, OTHER = entity_ref(NAMESPACE + ID, "Note", "Monday"), entity_ref(NAMESPACE + OTHER_ID, "Note")
SOURCE = {"type": "Source", "name": "s", "key": "k"}
COMMITTED = {
    "commit_seq": 41,
    "idempotency_key": "pre/write",
    "replayed": False,
    "owned": {"edges_retracted": 1, "fields_removed": 2, "entities_retracted": 0, "unheard_of": 1},
    "entities_written": 3,
    "edges_written": 4,
    "unheard_of": {},
}
FENCE = {"workflow_id": "a-1", "turn": 3, "token": "T"}


def a_write(**fields: Any) -> OwnedWrite:
    rows = [{**NOTE, "properties": {"word_count": 3}}]
    return OwnedWrite(**{"subjects": [NOTE], "properties": ["word_count"], "entity_properties": rows, **fields})


def answering(answer: Json = COMMITTED, route: str = COMMIT) -> Engine:
    engine = Engine()
    engine.answer(route, answer)
    return engine


def in_graph(name: str | None, engine: Engine) -> Engine:
    engine.client = AsyncLbbClient("http://engine.test", graph=name, transport=httpx.MockTransport(engine._reply))
    return engine


async def written(engine: Engine, write: Any, task: Json = None, **options: Any) -> OwnedWriteResult | None:
    """Run a turn that writes in the step `write`. What the handler got."""
    got: list[OwnedWriteResult] = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        got.append(await lbb_activities(engine.client).write_owned(ctx, "write", write, **options))
        return WorkflowResult(state=None)

    await run_turn(handler, task, engine=engine)
    return got[0] if got else None


async def test_the_commit_carries_key_fence_and_what_it_replaces() -> None:
    engine = answering()

    result = await written(engine, a_write())

    assert engine.body(COMMIT) == {
        "entity_properties": [{**NOTE, "properties": {"word_count": 3}}],
        "edge_idempotency": "skip_unchanged",
        "replace_owned": {"subjects": [NOTE], "properties": ["word_count"]},
        "workflow_fence": FENCE,
    }
    (sent,) = [sent for sent in engine.sent if sent.route == COMMIT]
    assert (sent.headers["idempotency-key"], sent.params) == ("pre/write", {"graph": "main"})
    assert result == OwnedWriteResult(
        commit_seq=41,
        idempotency_key="pre/write",
        replayed=False,
        owned=models.OwnedOutputsOutcome(edges_retracted=1, fields_removed=2, entities_retracted=0),
        entities_written=3,
        edges_written=4,
    )


async def test_everything_of_the_write_is_sent_and_nothing_empty() -> None:
    engine = answering()
    edge = {"source": NOTE, "relation": "HAS", "target": SOURCE}

    write = a_write(relations=("HAS",), properties=(), retract_entities=(OTHER,), triplets=[edge], entity_properties=[])
    await written(engine, write, edge_idempotency="append")

    assert engine.body(COMMIT) == {
        "triplets": [edge],
        "edge_idempotency": "append",
        "replace_owned": {"subjects": [NOTE], "relations": ["HAS"], "retract_entities": [OTHER]},
        "workflow_fence": FENCE,
    }


async def test_subjects_alone_are_sent_to_erase_what_was_there() -> None:
    engine = answering()

    await written(engine, a_write(entity_properties=[]))

    assert engine.body(COMMIT)["replace_owned"] == {"subjects": [NOTE], "properties": ["word_count"]}


async def test_a_write_of_nothing_sends_nothing_and_is_saved() -> None:
    engine = answering()

    result = await written(engine, OwnedWrite(subjects=[], properties=["word_count"]))

    assert result == OwnedWriteResult(idempotency_key="pre/write")
    assert (result.commit_seq, result.replayed, result.entities_written, result.edges_written) == (None, False, 0, 0)
    assert COMMIT not in engine.routes()
    assert "checkpoint" in engine.routes()


async def test_a_replayed_step_commits_nothing() -> None:
    engine = answering()

    result = await written(engine, a_write(), make_task([saved("write", COMMITTED)]))

    assert isinstance(result, OwnedWriteResult)
    assert result.commit_seq == 41
    assert engine.routes() == ["claim", "complete"]


async def test_a_commit_that_got_no_answer_is_sent_again_with_the_same_key() -> None:
    engine = Engine()
    engine.answer(COMMIT, refused(503), {**COMMITTED, "replayed": True})

    result = await written(engine, a_write())

    first, second = [sent for sent in engine.sent if sent.route == COMMIT]
    assert (first.raw, first.headers["idempotency-key"]) == (second.raw, second.headers["idempotency-key"])
    assert result is not None
    assert result.replayed


async def test_a_lost_fence_ends_the_turn_in_silence() -> None:
    engine = answering(refused(409, "workflow_fence_lost"))

    assert await written(engine, a_write()) is None

    assert engine.routes() == ["claim", "operation", COMMIT]


@pytest.mark.parametrize(
    ("workers", "target", "is_fenced"),
    [
        ("main", None, True),
        ("main", "main", True),
        ("main", "other", False),
        (None, None, True),
        (None, "other", True),
    ],
)
async def test_only_a_write_to_the_turns_graph_is_fenced(
    workers: str | None, target: str | None, is_fenced: bool
) -> None:
    engine = in_graph(workers, answering())

    await written(engine, a_write(), graph=target)

    assert ("workflow_fence" in engine.body(COMMIT)) is is_fenced
    (sent,) = [sent for sent in engine.sent if sent.route == COMMIT]
    assert sent.params.get("graph") == (target or workers)


async def test_a_write_through_a_client_of_another_graph_is_not_fenced() -> None:
    engine, elsewhere = Engine(), in_graph("other", answering())

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await write_owned(elsewhere.client, ctx, "write", a_write())
        return WorkflowResult(state=None)

    await run_turn(handler, engine=engine)

    assert "workflow_fence" not in elsewhere.body(COMMIT)


@pytest.mark.parametrize("form", ["async", "sync", "sync returning an awaitable"])
async def test_the_write_may_be_made_in_the_step(form: str) -> None:
    engine = answering()
    threads: list[threading.Thread] = []

    def made(s: Any) -> OwnedWrite:
        threads.append(threading.current_thread())
        return a_write(entity_properties=[{**NOTE, "properties": {"effect": s.effect_id}}])

    async def made_async(s: Any) -> OwnedWrite:
        return made(s)

    forms: dict[str, Any] = {
        "async": made_async,
        "sync": made,
        "sync returning an awaitable": lambda s: made_async(s),
    }
    await written(engine, forms[form])

    assert engine.body(COMMIT)["entity_properties"][0]["properties"] == {"effect": "pre/write"}
    assert (threads[0] is threading.main_thread()) is (form != "sync")


async def test_a_function_that_makes_no_write_fails_the_turn_for_good() -> None:
    engine = answering()

    await written(engine, lambda s: {"subjects": []})

    assert "OwnedWrite" in failure(engine, is_permanent=True)


async def test_the_steps_options_are_passed_on() -> None:
    engine = answering()

    await written(engine, a_write(), kind="tool", timeout_ms=9_000, heartbeat_timeout_ms=8_000)

    begun = engine.body("operation")
    assert (begun["key"], begun["kind"], begun["timeout_ms"]) == ("write", "tool", 9_000)
    assert begun["heartbeat_timeout_ms"] == 8_000


@pytest.mark.parametrize(
    "field", ["subjects", "relations", "properties", "retract_entities", "triplets", "entity_properties"]
)
@pytest.mark.parametrize("given", ["word_count", NOTE])
def test_one_name_or_reference_in_place_of_a_list_is_told(field: str, given: Any) -> None:
    """The letters of a name are no names: each would be a property to remove."""
    with pytest.raises(TypeError, match=f"^{field} of an OwnedWrite is a list, got "):
        a_write(**{field: given})


def test_the_body_as_a_model() -> None:
    body = owned_commit_body(a_write())

    assert isinstance(body, models.TripletCommitFile)
    assert body.edge_idempotency == "skip_unchanged"
    assert body.replace_owned is not None
    assert [subject.name for subject in body.replace_owned.subjects] == ["Monday"]
    assert owned_commit_body(OwnedWrite(subjects=[])) is None


async def test_rows_may_be_models() -> None:
    engine = answering()
    row = models.EntityPropertiesInput(type="Note", name="n", properties={"a": 1})

    await written(engine, a_write(entity_properties=[row]))

    assert engine.body(COMMIT)["entity_properties"] == [{"type": "Note", "name": "n", "properties": {"a": 1}}]


# Run results (5.9)


async def reported(write: OwnedWrite) -> tuple[list[Json], Json]:
    """The inputs the turn reports, and what its step saved."""
    engine = answering()
    await written(engine, write, make_task(results_max=9))
    return ended(engine)["results"]["inputs"], engine.body("checkpoint")["output"]


async def test_each_subject_is_reported_with_its_fields_and_edges() -> None:
    region = {"page": 2, "x0": 0.0, "y0": 0.0, "x1": 1.0, "y1": 0.5, "confidence": 0.4}
    edge = {
        "source": NOTE,
        "relation": "HAS",
        "target": SOURCE,
        "confidence": 0.9,
        "evidence": {"text": "three words", "source_id": "doc", "region": region},
    }
    typed = {**OTHER, "properties": [{"field": "word_count", "value": {"i64": 5}}]}
    write = a_write(
        subjects=[NOTE, OTHER, {"type": "Note", "name": "gone"}],
        triplets=[edge, {"source": SOURCE, "relation": "OF", "target": NOTE}],
        entity_properties=[{**NOTE, "properties": {"word_count": 3.0}}, typed],
    )

    inputs, output = await reported(write)

    field = {"property": "word_count", "quote": "", "outcome": "written"}
    assert inputs == [
        {
            "iri": NAMESPACE + ID,
            "label": "Monday",
            "outcome": "written",
            "values": [
                {**field, "value": "3"},
                {
                    "property": "HAS",
                    "value": "s",
                    "quote": "three words",
                    "outcome": "written",
                    "support": "0.9",
                    "source": "doc",
                    "region": {name: value for name, value in region.items() if name != "confidence"},
                },
            ],
        },
        {"iri": NAMESPACE + OTHER_ID, "label": "", "outcome": "written", "values": [{**field, "value": "5"}]},
        {"label": "gone", "outcome": "no_value", "values": []},
    ]
    assert output["lbb_step_results"] == 1
    assert (output["run"], output["results"], output["value"]["commit_seq"]) == ("run-1", inputs, 41)


async def test_a_refused_commit_reports_nothing() -> None:
    engine = answering(refused(400))

    await written(engine, a_write(), make_task(results_max=9))

    assert "results" not in ended(engine)


# Requeue (5.5)


ANSWER = {"attempt": 1, "not_before": "2027-01-01T00:01:00Z", "requeued": ["e/1"], "exhausted": []}


async def requeued(engine: Engine, failed: list[FailedInstance], **task: Any) -> list[Any]:
    got: list[Any] = []

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        got.append(await requeue_failed(engine.client, ctx, "again", failed))
        return WorkflowResult(state=None)

    turn = {"workflow_id": "starter.notes.2", **task.pop("turn", {})}
    await run_turn(handler, make_task(turn=turn, **task), engine=engine)
    return got


async def test_failed_instances_are_given_back_in_one_step() -> None:
    engine = answering(ANSWER, REQUEUE)

    got = await requeued(engine, [FailedInstance("e/1", "x" * 2_000), FailedInstance("e/2")])

    assert engine.body(REQUEUE) == {
        "workflow_id": "starter.notes.2",
        "turn": 3,
        "items": [{"instance": "e/1", "error": "x" * 1_000}, {"instance": "e/2"}],
    }
    assert engine.sent[2].params == {"graph": "main", "name": "notes"}
    assert engine.body("operation")["key"] == "again"
    assert got == [models.WorkflowRequeueResponse.model_validate(ANSWER)]


async def test_nothing_failed_takes_no_step() -> None:
    engine = Engine()

    assert await requeued(engine, []) == [None]
    assert engine.routes() == ["claim", "complete"]


@pytest.mark.parametrize("identity", ["a-1", "starter.notes.007"])
async def test_an_instance_of_no_named_workflow_can_give_nothing_back(identity: str) -> None:
    engine = Engine()

    await requeued(engine, [FailedInstance("e/1")], turn={"workflow_id": identity})

    assert "no named workflow" in failure(engine, is_permanent=True)
    assert engine.routes() == ["claim", "fail"]


async def test_more_than_64_instances_are_refused_before_anything_is_sent() -> None:
    engine = Engine()

    await requeued(engine, [FailedInstance(f"e/{number}") for number in range(65)])

    assert "at most 64" in failure(engine, is_permanent=True)
    assert engine.routes() == ["claim", "fail"]


async def test_a_requeue_is_tried_again_and_reports_its_instances_as_failed() -> None:
    engine = Engine()
    engine.answer(REQUEUE, refused(503), ANSWER)

    await requeued(engine, [FailedInstance("e/1", "why")], results_max=9)

    assert len(engine.bodies(REQUEUE)) == 2
    assert ended(engine)["results"]["inputs"] == [
        {"iri": "e/1", "label": "", "outcome": "failed", "values": [], "error": "why"}
    ]


async def test_another_graph_is_named_in_the_query() -> None:
    engine = answering(ANSWER, REQUEUE)

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        await lbb_activities(engine.client).requeue(ctx, "again", [FailedInstance("e/1")], graph="other")
        return WorkflowResult(state=None)

    await run_turn(handler, make_task(turn={"workflow_id": "starter.notes"}), engine=engine)

    assert engine.sent[2].params == {"graph": "other", "name": "notes"}
