"""Asking a person from a turn (lbb-graph 4.5 to 4.7)."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from lbb import models
from lbb.workflows import ReviewWaitResult, WorkflowResult, lbb_activities
from lbb.workflows.review import review_body
from tests.unit.workflow_server import Engine, Json, ended, failure, make_task, refused, run_turn, saved

REVIEWS = "/v1/reviews"
GET = "/v1/reviews/get"
REQUEST = {
    "kind": "choice",
    "key": "floor:hall",
    "title": "Which floor?",
    "question": {"options": [{"id": "tiles", "label": "Tiles"}]},
    "evidence": None,
}
ANSWER = {"decision": "choose", "option": "tiles", "by": "key:1", "at": "2027-01-01T00:00:00Z"}
SIGNAL = "review.rev_1"
FACTS = {"entity_properties": [{"type": "Room", "name": "hall"}]}


def item(**fields: Any) -> dict[str, Any]:
    """An open item that waits, as the server answers it."""
    return {
        "id": "rev_1",
        "object": "review_item",
        "key": "floor:hall",
        "kind": "choice",
        "scope": "live",
        "status": "open",
        "revision": 1,
        "title": "Which floor?",
        "question": REQUEST["question"],
        "origin": {"kind": "agent"},
        "created": "2027-01-01T00:00:00Z",
        "updated": "2027-01-01T00:00:00Z",
        "wait": {"identity": "a-1", "turn": 3, "signal": SIGNAL},
        "facts": FACTS,
        "unknown": 1,
        **fields,
    }


ANSWERED = item(status="answered", answer=ANSWER)


def waited(output: Json) -> Json:
    """The answer of turns/wait-signal: a signal that came before the wait."""
    step = saved("floor.answer", output, "signal", delay_ms=1_000, signal_name=SIGNAL)
    return {"status": "running", "steps": [saved("floor.ask", item()), step]}


class Asking:
    """A turn that waits for a review; `result` is what it got."""

    def __init__(self, engine: Engine, **options: Any) -> None:
        self._lbb = lbb_activities(engine.client)
        self._options = {"timeout_ms": 1_000, **options}
        self.result: ReviewWaitResult | None = None

    async def __call__(self, ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        self.result = await self._lbb.wait_for_review(ctx, "floor", REQUEST, **self._options)
        return WorkflowResult(state=self.result.answered)


def asked_steps(*more: Json) -> list[Json]:
    return [saved("floor.ask", item(facts=None)), *more]


def signal_step(output: Json) -> Json:
    return saved("floor.answer", output, "signal", delay_ms=1_000, signal_name=SIGNAL)


async def test_the_item_names_the_turn_that_waits_and_the_worker_is_free() -> None:
    engine = Engine()
    engine.answer(REVIEWS, item())
    engine.answer("wait-signal", {"status": "waiting", "steps": asked_steps(signal_step(None))})

    await run_turn(Asking(engine), engine=engine)

    assert engine.body(REVIEWS) == {
        **{name: value for name, value in REQUEST.items() if name != "evidence"},
        "origin": {"kind": "agent", "id": "a-1"},
        "wait": {"identity": "a-1", "turn": 3, "signal": ""},
    }
    assert engine.body("operation")["key"] == "floor.ask"
    waits = engine.body("wait-signal")
    assert (waits["key"], waits["name"], waits["timeout_ms"]) == ("floor.answer", SIGNAL, 1_000)
    assert "complete" not in engine.routes()
    assert "idempotency-key" not in engine.sent[2].headers


async def test_the_saved_item_leaves_out_its_facts() -> None:
    engine = Engine()
    engine.answer(REVIEWS, item())
    engine.answer("wait-signal", {"status": "waiting", "steps": asked_steps(signal_step(None))})

    await run_turn(Asking(engine), engine=engine)

    output = engine.body("checkpoint")["output"]
    assert "facts" not in output
    assert output["id"] == "rev_1"


async def test_an_item_that_is_answered_already_is_not_waited_for() -> None:
    engine = Engine()
    engine.answer(REVIEWS, ANSWERED)

    await run_turn(asking := Asking(engine), engine=engine)

    assert asking.result is not None
    assert (asking.result.answered, asking.result.answer) == (True, models.ReviewAnswer.model_validate(ANSWER))
    assert "wait-signal" not in engine.routes()


async def test_an_answer_that_comes_as_the_signal_is_returned_with_the_item_as_asked() -> None:
    engine = Engine()
    engine.answer(REVIEWS, item())
    engine.answer("wait-signal", waited({"received": True, "value": ANSWER}))

    await run_turn(asking := Asking(engine), engine=engine)

    assert asking.result is not None
    assert asking.result.answer is not None
    assert (asking.result.answer.option, asking.result.item.status) == ("tiles", "open")
    assert GET not in engine.routes()


async def test_a_replay_asks_and_reads_nothing_again() -> None:
    engine = Engine()
    task = make_task(asked_steps(signal_step({"received": True, "value": ANSWER})))

    await run_turn(asking := Asking(engine), task, engine=engine)

    assert asking.result is not None
    assert asking.result.answered
    assert engine.routes() == ["claim", "complete"]


async def test_after_a_timeout_an_answer_whose_signal_did_not_arrive_counts() -> None:
    engine = Engine()
    engine.answer(GET, ANSWERED)
    task = make_task(asked_steps(signal_step({"received": False})))

    await run_turn(asking := Asking(engine), task, engine=engine)

    assert asking.result is not None
    assert (asking.result.answered, asking.result.item.status) == (True, "answered")
    assert asking.result.answer == models.ReviewAnswer.model_validate(ANSWER)
    assert engine.body("operation")["key"] == "floor.read"
    assert engine.sent[2].params == {"graph": "main", "id": "rev_1"}
    assert "facts" not in engine.body("checkpoint")["output"]


@pytest.mark.parametrize("now", [item(), item(status="withdrawn", answer=ANSWER)])
async def test_after_a_timeout_an_item_without_an_answer_is_given_back_as_it_is_now(now: Json) -> None:
    engine = Engine()
    engine.answer(GET, now)
    task = make_task(asked_steps(signal_step({"received": False})))

    await run_turn(asking := Asking(engine), task, engine=engine)

    assert asking.result is not None
    assert (asking.result.answered, asking.result.answer) == (False, None)
    assert asking.result.item.status == now["status"]


@pytest.mark.parametrize("identity", ["starter.notes", "starter.notes.2", "starter.notes.sum"])
async def test_an_instance_of_a_named_workflow_may_not_wait(identity: str) -> None:
    engine = Engine()

    await run_turn(Asking(engine), make_task(turn={"workflow_id": identity}), engine=engine)

    assert "review trigger" in failure(engine, is_permanent=True)
    assert engine.routes() == ["claim", "fail"]


@pytest.mark.parametrize("wait", [None, {"identity": "a-1", "turn": 3, "signal": ""}])
async def test_an_item_that_names_no_signal_fails_the_turn_for_good(wait: Json) -> None:
    engine = Engine()
    engine.answer(REVIEWS, item(wait=wait))

    await run_turn(Asking(engine), engine=engine)

    assert "names no signal" in failure(engine, is_permanent=True)


async def test_a_signal_that_is_no_answer_fails_the_turn_for_good() -> None:
    engine = Engine()
    task = make_task(asked_steps(signal_step({"received": True, "value": "tiles"})))

    await run_turn(Asking(engine), task, engine=engine)

    assert "carries no answer" in failure(engine, is_permanent=True)


async def test_a_failed_filing_is_tried_again_with_the_same_body() -> None:
    engine = Engine()
    engine.answer(REVIEWS, refused(503), ANSWERED)

    await run_turn(Asking(engine), engine=engine)

    first, second = engine.bodies(REVIEWS)
    assert first == second
    assert ended(engine)["state"] is True


# The body (4.5)


@pytest.mark.parametrize(
    ("given", "argument", "workflow", "origin_id"),
    [
        (None, "notes", {"name": "notes"}, "starter:notes"),
        ("mine", "notes", {"name": "mine"}, "starter:mine"),
        ({"name": "mine", "run": "r"}, None, {"name": "mine", "run": "r"}, "starter:mine"),
    ],
)
def test_the_workflow_is_the_requests_or_the_arguments(
    given: Any, argument: Any, workflow: Json, origin_id: str
) -> None:
    body = review_body({**REQUEST, "workflow": given}, argument, None)

    assert (body["workflow"], body["origin"]) == (workflow, {"kind": "agent", "id": origin_id})
    assert "wait" not in body


async def test_a_waiting_run_is_part_of_the_named_workflow() -> None:
    engine = Engine()
    engine.answer(REVIEWS, ANSWERED)

    await run_turn(Asking(engine, workflow="notes"), engine=engine)

    body = engine.body(REVIEWS)
    assert body["workflow"] == {"name": "notes", "identity": "a-1", "turn": 3}
    assert body["origin"] == {"kind": "agent", "id": "starter:notes"}


async def test_an_item_outside_of_a_turn_has_an_agent_as_its_origin() -> None:
    engine = Engine()
    engine.answer(REVIEWS, item())

    filed = await lbb_activities(engine.client).review(REQUEST)

    assert isinstance(filed, models.ReviewItem)
    assert engine.body(REVIEWS)["origin"] == {"kind": "agent"}
    assert filed.facts is not None


def test_a_given_origin_is_kept() -> None:
    origin = {"kind": "integration", "id": "mail"}

    assert review_body({**REQUEST, "origin": origin}, "notes", None)["origin"] == origin


def test_a_request_may_be_a_model() -> None:
    request = models.ReviewCreateRequest.model_validate({**REQUEST, "origin": {"kind": "person"}})

    body = review_body(request, None, None)

    assert body == {name: value for name, value in REQUEST.items() if value is not None} | {
        "origin": {"kind": "person"}
    }


@pytest.mark.parametrize("kind", ["change", None, ""])
async def test_another_kind_is_refused_before_anything_is_sent(kind: Any) -> None:
    engine = Engine()

    with pytest.raises(ValueError, match="kind of a review item"):
        await lbb_activities(engine.client).review({**REQUEST, "kind": kind})

    assert engine.sent == []


async def test_a_workflow_without_a_name_is_no_workflow() -> None:
    with pytest.raises(ValueError, match="a review item's workflow has a name, got"):
        await lbb_activities(Engine().client).review(REQUEST, workflow={"identity": "a-1"})


# Items of any length (ours: the store takes 256 KiB, a step 64)

LONG_EVIDENCE = [{"quote": "q" * 4_000} for _ in range(40)]
LONG_QUESTION = {"output": "x" * 200_000, "options": [{"id": "good", "label": "Good"}], "confidence": 0.5}


@pytest.mark.parametrize(
    ("long", "question"),
    [
        ({"evidence": LONG_EVIDENCE}, REQUEST["question"]),
        ({"question": LONG_QUESTION}, {"confidence": 0.5}),
        ({"question": LONG_QUESTION, "evidence": LONG_EVIDENCE}, {"confidence": 0.5}),
    ],
)
async def test_an_item_too_long_for_a_step_is_waited_for_and_kept_in_short(long: Json, question: Json) -> None:
    engine = Engine()
    engine.answer(REVIEWS, item(**long))
    engine.answer("wait-signal", {"status": "waiting", "steps": asked_steps(signal_step(None))})

    await run_turn(Asking(engine), engine=engine)

    kept = engine.body("checkpoint")["output"]
    assert len(json.dumps(kept)) < 48 * 1024
    assert (kept["id"], kept["wait"]["signal"]) == ("rev_1", SIGNAL)
    assert {name: value for name, value in kept["question"].items() if value is not None} == question
    assert engine.routes().count("wait-signal") == 1


# Reading (4.7)


async def test_items_are_read_by_key_a_hundred_at_a_time_each_key_once() -> None:
    engine = Engine()
    page = {"object": "list", "data": [item(), ANSWERED], "has_more": False}
    engine.answer(REVIEWS, page)
    keys = [f"k{number}" for number in range(150)]

    items = await lbb_activities(engine.client).review_items([*keys, "k0", "k3"])

    first, second = engine.sent
    assert (first.params["limit"], first.params["key"].split(",")) == ("100", keys[:100])
    assert (second.params["limit"], second.params["key"].split(",")) == ("50", keys[100:])
    assert [found.status for found in items] == ["open", "answered"] * 2


async def test_keys_too_long_for_one_address_are_read_in_more_requests() -> None:
    engine = Engine()
    engine.answer(REVIEWS, {"object": "list", "data": [], "has_more": False})
    keys = [f"{number:03}" + 252 * "é" for number in range(100)]  # as long as a key may be, six letters each in a URL

    await lbb_activities(engine.client).review_items(keys)

    assert [key for sent in engine.sent for key in sent.params["key"].split(",")] == keys
    assert max(len(quote(sent.params["key"])) for sent in engine.sent) <= 16 * 1024
    assert all(int(sent.params["limit"]) == sent.params["key"].count(",") + 1 for sent in engine.sent)


async def test_a_key_with_a_comma_is_not_read_as_two() -> None:
    engine = Engine()
    engine.answer(REVIEWS, {"object": "list", "data": [], "has_more": False})

    assert await lbb_activities(engine.client).review_items(["a,b"]) == []
    assert engine.sent == []


async def test_one_key_in_place_of_the_list_is_told() -> None:
    with pytest.raises(TypeError, match="takes a list of keys, got one string"):
        await lbb_activities(Engine().client).review_items("floor:hall")


async def test_no_keys_ask_for_nothing() -> None:
    engine = Engine()

    assert await lbb_activities(engine.client).review_items([]) == []
    assert engine.sent == []


@pytest.mark.parametrize(("found", "id"), [([item()], "rev_1"), ([], None)])
async def test_one_item_is_read_by_its_key(found: list[Json], id: str | None) -> None:
    engine = Engine()
    engine.answer(REVIEWS, {"object": "list", "data": found, "has_more": False})

    one = await lbb_activities(engine.client).review_item("k")

    assert (one and one.id) == id


async def test_items_are_listed_by_filters() -> None:
    engine = Engine()
    engine.answer(REVIEWS, {"object": "list", "data": [], "has_more": False})

    await lbb_activities(engine.client).list_reviews(status="open", origin_id="starter:notes", limit=5)

    assert engine.sent[0].params == {"graph": "main", "status": "open", "origin_id": "starter:notes", "limit": "5"}


# Run results (5.9)


SUBJECT = {"iri": "e/1", "name": "Hall"}
VALUE = {
    **REQUEST,
    "kind": "value",
    "subject": SUBJECT,
    "question": {"property": "width_cm", "value": 60.0, "confidence": 0.75},
    "evidence": [
        {"quote": "60 cm", "source_id": "s", "region": {"page": 1, "x0": 0, "y0": 0, "x1": 1, "y1": 1, "confidence": 1}}
    ],
}


async def results_of(answer: Json, request: Json, **task: Any) -> Json:
    engine = Engine()
    engine.answer(REVIEWS, answer)

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        lbb = lbb_activities(engine.client)
        await ctx.step("ask", lambda: lbb.review(request), model=models.ReviewItem)
        return WorkflowResult(state=None)

    await run_turn(handler, make_task(results_max=9, **task), engine=engine)
    return ended(engine).get("results")


async def test_a_review_is_reported_on_its_subject() -> None:
    results = await results_of(item(), VALUE)

    assert results["inputs"] == [
        {
            "iri": "e/1",
            "label": "Hall",
            "outcome": "review",
            "values": [
                {
                    "property": "width_cm",
                    "value": "60",
                    "quote": "60 cm",
                    "outcome": "review",
                    "support": "0.75",
                    "source": "s",
                    "review_item": "rev_1",
                    "region": {"page": 1, "x0": 0, "y0": 0, "x1": 1, "y1": 1},
                }
            ],
        }
    ]


async def test_an_answered_review_has_no_value_any_more() -> None:
    (found,) = (await results_of(ANSWERED, VALUE))["inputs"]

    assert (found["outcome"], found["values"][0]["outcome"]) == ("no_value", "answered")


async def test_a_review_without_subject_is_not_reported() -> None:
    assert await results_of(item(), REQUEST) is None
