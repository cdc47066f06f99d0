"""Each call of the SDK about graphs, workflows and people against the real server: names, bodies and answers fit.

The unit tests of `lbb` script the server; here nothing is scripted.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from lbb import AsyncLbbClient, LbbError, models
from lbb.workflows import (
    ActivityCaptureResult,
    FailedInstance,
    LbbActivities,
    OwnedWrite,
    TriggeredWorkflowDefinition,
    WorkflowContext,
    WorkflowResult,
    WorkflowStepContext,
    capture_activities,
    entity_ref,
    fan_in_identity,
    lbb_activities,
    triggered_workflow,
    workflow,
)
from turnbuckle.testing import Engine

ONTOLOGY = {
    "ops": [
        {"op": "add_entity_type", "name": "Note"},
        {"op": "add_property", "name": "text", "value_type": "text"},
        {"op": "add_property", "name": "word_count", "value_type": "i64"},
        {"op": "add_relation", "name": "ABOUT", "domain": ["Note"], "range": ["Note"]},
    ]
}
TYPE = {"workflow_type": "word-count", "version": "v1"}
LABELS = "SELECT ?label WHERE { ?s <http://www.w3.org/2000/01/rdf-schema#label> ?label } ORDER BY ?label"
QUESTION = {"kind": "answer", "key": "why", "title": "Why?", "question": {"prompt": "Why?"}}


def note(name: str, **properties: Any) -> dict[str, Any]:
    return {"type": "Note", "name": name, "properties": {"text": name, **properties}}


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with Engine() as engine:
        yield engine


@pytest.fixture
async def client(engine: Engine) -> AsyncLbbClient:
    """A client of a graph with the class Note and two notes."""
    client = engine.client()
    await client.create_graph()
    await client.ontology.evolve(ONTOLOGY)
    await client.commit({"entity_properties": [note("Monday"), note("Tuesday")]})
    return client


async def iri_of(client: AsyncLbbClient, name: str) -> str:
    detail = await client.entities.detail(type="Note", name=name)
    iri: str = detail["metadata"]["iri"]
    return iri


# Graphs


async def test_a_graph_is_created_once(client: AsyncLbbClient) -> None:
    with pytest.raises(LbbError) as refused:
        await client.create_graph()

    assert (refused.value.status_code, refused.value.code) == (409, "conflict")


async def test_a_graph_is_declared_and_viewed(client: AsyncLbbClient) -> None:
    planned = await client.ontology.evolve({"ops": [{"op": "add_entity_type", "name": "Plan"}]}, dry_run=True)
    view = await client.ontology.view(counts=True)

    assert (planned["dry_run"], planned["no_op"]) == (True, False)
    assert [(each["name"], each.get("count")) for each in view["entity_types"]] == [("Note", 2)]
    models.OntologyResponse.model_validate(view)
    models.OntologyEvolveResponse.model_validate(planned)


async def test_commits_and_their_dry_run_fit_their_models(client: AsyncLbbClient) -> None:
    edge = {"source": {"type": "Note", "name": "Monday"}, "relation": "ABOUT", "target": note("Wednesday")}
    edge["target"] = {"type": "Note", "name": "Wednesday"}
    body = {"triplets": [edge], "entity_properties": [note("Monday", word_count=1)]}

    planned = await client.commit_dry_run_model(body)
    first = await client.commit_model(body, idempotency_key="k")
    again = await client.commit_model(body, idempotency_key="k")

    assert (planned.triplets, planned.entity_properties) == (1, 1)
    assert (first.commit_seq, first.replayed, first.edges_written) == (2, False, 1)
    assert (again.commit_seq, again.replayed) == (2, True)


async def test_a_bad_row_is_refused_with_its_place(client: AsyncLbbClient) -> None:
    with pytest.raises(LbbError) as refused:
        await client.commit({"entity_properties": [note("Monday"), note("Friday", unheard_of=1)]})

    assert refused.value.status_code == 400
    assert refused.value.param is not None
    assert refused.value.param.startswith("entity_properties[1]")


async def test_records_are_read_by_id_by_name_and_in_the_past(client: AsyncLbbClient) -> None:
    await client.commit({"entity_properties": [note("Monday", word_count=7)]})
    id = (await client.entities.detail(type="Note", name="Monday"))["entity"]["id"]

    now = await client.entities.detail(id=id, edges=5, evidence=0, consistency="strong")
    before = await client.entities.detail(id=id, as_of_commit_seq=1)

    assert (now["attributes"]["word_count"], "word_count" in before["attributes"]) == (7, False)
    with pytest.raises(LbbError) as missing:
        await client.entities.detail(type="Note", name="Sunday")
    assert missing.value.code == "not_found"


async def test_queries_answer_rows_pages_and_truth(client: AsyncLbbClient) -> None:
    await client.commit({"entity_properties": [note("Wednesday")]})

    page = await client.sparql(LABELS, limit=2, consistency="strong", profile=True)
    rest = await client.sparql(LABELS, limit=2, cursor=page.next_cursor)
    past = await client.sparql(LABELS, as_of_commit_seq=1)
    truth = await client.sparql("ASK { ?s ?p ?o }", min_indexed_seq=2)

    assert [row["label"] for row in page] == ["Monday", "Tuesday"]
    assert page.row_page is not None
    assert (page.row_page["total"], page.row_page["has_more"]) == (3, True)
    assert [row["label"] for row in rest] == ["Wednesday"]
    assert (len(past), truth.boolean) == (2, True)
    with pytest.raises(LbbError) as refused:
        await client.sparql("SELECT WHERE")
    assert refused.value.status_code == 400


async def test_another_graph_is_filled_by_lines_and_deleted(client: AsyncLbbClient) -> None:
    other = client.graph("other")
    await other.raw_request("POST", "/v1/graph/create")
    await other.ontology.evolve(ONTOLOGY)

    imported = await other.facts.import_ndjson([note("a"), note("b")], strict=True)
    created = await other.facts.create({"entity_properties": [note("c")]})

    assert (imported["error_count"], imported["imported_entity_properties"]) == (0, 2)
    status = await other.wait_for_published(created["commit_seq"])
    assert (status["state"], status["published_seq"]) == ("current", created["commit_seq"])
    assert len(await other.sparql(LABELS)) == 3
    assert (await other.delete(confirm="other"))["deleted"] is True
    assert len(await client.sparql(LABELS)) == 2


async def test_an_rdf_native_graph_refuses_records(engine: Engine) -> None:
    rdf = engine.client().graph("rdf")

    imported = await rdf.facts.import_rdf('<http://a/s> <http://a/p> "x" .')

    assert imported["triples_read"] == 1
    assert (await rdf.sparql("SELECT ?o WHERE { ?s ?p ?o }")).rows() == [{"o": "x"}]
    with pytest.raises(LbbError) as refused:
        await rdf.facts.create({"entity_properties": [note("a")]})
    assert refused.value.code == "rdf_native_graph"


async def test_models_answer_without_a_worker(client: AsyncLbbClient) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    questions = {"q": {"instructions": "?", "criteria": {"a": "A", "b": "B"}}}

    reasoned = [await client.reason_activity("p", schema, effect_id="e", label="l") for _ in range(2)]
    decided = await client.decide_activity({"x": 1}, questions, effect_id="e")
    embedded = await client.embed_activity(["a", "b"])

    assert [answer["cached"] for answer in reasoned] == [False, True]
    assert reasoned[0]["value"] == reasoned[1]["value"]
    assert sum(decided["answers"]["q"]["probabilities"].values()) == pytest.approx(1)
    assert [len(vector) for vector in embedded["vectors"]] == [embedded["dim"]] * 2
    with pytest.raises(LbbError) as refused:
        await client.reason_activity("another", schema, effect_id="e")
    assert refused.value.code == "activity_effect_conflict"


# Named workflows


async def test_a_named_workflow_from_its_making_to_its_end(client: AsyncLbbClient) -> None:
    made = await client.use_workflow_starter(
        "workflow", name="notes", class_="Note", fields=["text"], workflow=TYPE, owns={"properties": ["word_count"]}
    )
    named = client.workflows.named
    found = await named.get("notes")

    assert (made["name"], found.name, found.workflow.workflow_type) == ("notes", "notes", "word-count")
    assert [each.name for each in await named.list(limit=5)] == ["notes"]
    assert [each.name async for each in named.all()] == ["notes"]
    assert (await named.pause("notes")).paused is True
    assert (await named.pause("notes", False)).paused is False
    assert (await named.run("notes")).queued is True
    assert (await named.queue("notes", limit=5)).name == "notes"
    assert list(await named.runs("notes", outcome="done", limit=5)) == []
    assert (await named.run_stats("notes", hours=1)).runs == 0
    assert (await named.run_results("notes", outcome="written,failed")).data == []
    with pytest.raises(LbbError) as missing:
        await named.get_run("notes", "1791967648726-starter.notes-1")
    assert missing.value.code == "workflow_run_not_found"
    assert (await named.delete("notes", confirm="notes")).deleted is True
    with pytest.raises(LbbError) as gone:
        await named.get("notes")
    assert gone.value.code == "named_workflow_not_found"


async def test_a_named_workflow_is_put_by_all_its_settings(client: AsyncLbbClient) -> None:
    body = {
        "name": "notes",
        "workflow": TYPE,
        "triggers": [{"watch": {"class": "Note"}}, {"id": "answers", "review": {}}],
        "shards": 2,
        "fan_in": "sum",
    }

    put = await client.workflows.named.put(body)
    again = await client.workflows.named.put(body)

    assert (put.shards, put.fan_in, [trigger.kind for trigger in put.triggers]) == (2, "sum", ["watch", "review"])
    assert again.updated == put.updated


async def test_an_undeclared_class_is_refused_by_its_parameter(client: AsyncLbbClient) -> None:
    with pytest.raises(LbbError) as refused:
        await client.use_workflow_starter("workflow", name="notes", class_="Nothing", workflow=TYPE)

    assert refused.value.code == "workflow_param_invalid"
    assert "watch" in (refused.value.param or "")


# A turn


def counter(lbb: LbbActivities, version: str = "v1") -> TriggeredWorkflowDefinition:
    @triggered_workflow(name="word-count", version=version)
    async def count(ctx: WorkflowContext, message: models.WorkflowTriggerMessage, state: Any) -> Any:
        refs = [entity_ref(iri, "Note") for iri in message.instances]
        rows = [{**ref, "properties": {"word_count": 5}} for ref in refs]
        write = OwnedWrite(subjects=refs, properties=["word_count"], entity_properties=rows)
        written = await lbb.write_owned(ctx, "write", write, graph=message.graph)
        return WorkflowResult(state=state, result=[written.commit_seq, written.replayed])

    return count


def trigger(*instances: str) -> dict[str, Any]:
    return {
        "type": "instances",
        "workflow": "notes",
        "graph": "main",
        "as_of_commit_seq": 1,
        "reason": "changed",
        "instances": list(instances),
        "removed": [],
    }


async def test_an_owned_write_of_a_crashed_worker_is_committed_once(engine: Engine, client: AsyncLbbClient) -> None:
    definition = counter(lbb_activities(client))
    handle = await definition.start(client, "count-1")
    await handle.send(trigger(await iri_of(client, "Monday")), id="m-1")

    engine.crash_before_save("write")
    await engine.run_to_end(definition)

    assert await handle.result(1, timeout=0) == [2, True]
    monday = await client.entities.detail(type="Note", name="Monday")
    assert (monday["attributes"]["word_count"], monday["entity"]["name"]) == (5, "Monday")
    assert (await client.graph("main").publication_status())["head_seq"] == 2


async def test_a_worker_that_lost_its_turn_writes_nothing_and_says_nothing(
    engine: Engine, client: AsyncLbbClient
) -> None:
    lbb = lbb_activities(client)
    caught: list[BaseException] = []

    @workflow(name="late", version="v1", initial_state={})
    async def late(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        async def make(s: Any) -> OwnedWrite:
            await handle.cancel_turn(1)  # what a lease that ended or a person does to it
            return OwnedWrite(subjects=[], entity_properties=[note("Monday", word_count=9)])

        try:
            await lbb.write_owned(ctx, "write", make)
        except Exception as error:
            caught.append(error)
        return WorkflowResult(state="never")

    handle = await late.start(client, "late-1")
    await handle.send({}, id="m-1")
    ran = await engine.run(late)

    assert (await handle.status()).state == {}
    assert "word_count" not in (await client.entities.detail(type="Note", name="Monday"))["attributes"]
    assert (caught, ran.errors) == ([], [])


async def test_what_a_step_asks_of_a_model_is_in_the_run(engine: Engine, client: AsyncLbbClient) -> None:
    lbb = lbb_activities(client)

    @workflow(name="ask", version="v1", initial_state={})
    async def ask(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        answer = await ctx.step(
            "define",
            lambda s: lbb.reason("p", schema, effect_id=s.effect_id, instance="e/1"),
            model=models.ReasonActivityResponse,
        )
        return WorkflowResult(state=answer.value)

    handle = await ask.start(client, "ask-1")
    await handle.send({}, id="m-1")
    engine.crash_before_save("define")
    await engine.run_to_end(ask)

    turn = (await handle.history()).turns[0]
    assert turn.run is not None
    assert turn.run.usage is None  # the second attempt's answer was cached, and cost nothing
    calls = (await client.raw_request("GET", "/v1/models/calls")).data["calls"]
    assert [(call["job"], call["step"], call["instance"], call["scope"]) for call in calls] == [
        ("reason", "define", "e/1", "live")
    ]


async def test_a_person_is_asked_answers_late_and_is_heard(engine: Engine, client: AsyncLbbClient) -> None:
    lbb = lbb_activities(client)

    @workflow(name="why", version="v1", initial_state={})
    async def why(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        asked = await lbb.wait_for_review(ctx, "ask", QUESTION, timeout_ms=60_000)
        return WorkflowResult(state=state, result=asked.answer.note if asked.answer else None)

    handle = await why.start(client, "why-1")
    await handle.send({}, id="m-1")
    await engine.run(why)
    (item,) = await lbb.review_items(["why", "other"])
    assert (item.status, await lbb.review_item("other")) == ("open", None)
    await client.reviews.answer(item.id, answer={"decision": "accept", "note": "because"})
    await engine.run_to_end(why)

    assert await handle.result(1, timeout=0) == "because"
    assert [found.id for found in (await lbb.list_reviews(status="answered")).data] == [item.id]


async def captured_on(
    engine: Engine, client: AsyncLbbClient, iri: str, graph: str | None = "main"
) -> ActivityCaptureResult:
    capture = capture_activities(lbb_activities(client), workflow="notes")
    definition = counter(capture.activities, version="test")
    handle = await definition.start(client, "test-1")
    await handle.send({**trigger(iri), "graph": graph}, id="m-1")
    await engine.run(definition)
    return capture.result()


async def test_a_captured_write_is_checked_and_not_made(engine: Engine, client: AsyncLbbClient) -> None:
    (write,) = (await captured_on(engine, client, await iri_of(client, "Monday"))).writes

    assert (write.check, write.errors) == ("dry_run", [])
    assert write.report is not None
    assert write.report.entity_properties == 1
    assert (await client.graph("main").publication_status())["head_seq"] == 1


async def test_a_captured_write_on_an_rdf_native_graph_says_so(engine: Engine, client: AsyncLbbClient) -> None:
    await client.graph("rdf").facts.import_rdf('<http://a/s> <http://a/p> "x" .')

    (write,) = (await captured_on(engine, client, await iri_of(client, "Monday"), graph="rdf")).writes

    assert (write.check, write.report) == ("dry_run", None)
    assert len(write.errors) == 1


async def test_instances_go_back_to_their_watch(engine: Engine, client: AsyncLbbClient) -> None:
    await client.use_workflow_starter("workflow", name="notes", class_="Note", workflow=TYPE)
    lbb, answers = lbb_activities(client), []

    @triggered_workflow(name="word-count", version="v1")
    async def give_back(ctx: WorkflowContext, message: models.WorkflowTriggerMessage, state: Any) -> None:
        failed = [FailedInstance(iri, "cannot read it") for iri in message.instances]
        answers.append(await lbb.requeue(ctx, "again", failed))

    iri = await iri_of(client, "Monday")
    await client.workflows.handle("starter.notes").send(trigger(iri), id="m-1")
    await engine.run(give_back)

    assert isinstance(answers[0], models.WorkflowRequeueResponse)
    assert (answers[0].attempt, answers[0].requeued, answers[0].exhausted) == (1, [iri], [])


async def test_an_answer_and_a_fan_in_reach_their_handlers(engine: Engine, client: AsyncLbbClient) -> None:
    await client.workflows.named.put(
        {
            "name": "notes",
            "workflow": TYPE,
            "triggers": [{"watch": {"class": "Note"}}, {"id": "answers", "review": {}}],
            "fan_in": "sum",
        }
    )
    lbb, heard = lbb_activities(client), []

    @triggered_workflow(name="word-count", version="v1")
    async def count(ctx: WorkflowContext, message: models.WorkflowTriggerMessage, state: Any) -> None:
        async def tell(s: WorkflowStepContext) -> None:
            to = client.workflows.handle(fan_in_identity("notes", "sum"))
            await to.send({"notes": len(message.instances)}, id=s.effect_id)

        await ctx.step("ask", lambda: lbb.review(QUESTION, workflow=ctx.workflow_name), model=models.ReviewItem)
        await ctx.step("tell", tell)

    @count.on_review
    async def hear(ctx: WorkflowContext, message: Any, state: Any) -> None:
        heard.append(message["review_item"]["answer"]["note"])

    @count.on_fan_in
    async def add(ctx: WorkflowContext, message: Any, state: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state={"notes": state.get("notes", 0) + message["notes"]})

    await engine.run(count)  # the watch sends the two notes that are there
    (item,) = await lbb.review_items(["why"])
    await client.reviews.answer(item.id, answer={"decision": "accept", "note": "because"})
    await engine.run(count)

    assert heard == ["because"]
    assert (await client.workflows.handle("starter.notes.sum").status()).state == {"notes": 2}
