"""Named workflows from both clients (lbb-graph 5.1, 5.2)."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from lbb import AsyncLbbClient, LbbClient, LbbError, ListPage, models
from tests.unit.lbb_scripted import ClientClass, Script, client_of, finish

both = pytest.mark.parametrize("cls", [LbbClient, AsyncLbbClient])

TYPE = {"workflow_type": "word-count", "version": "v1"}


def workflow(name: str = "notes") -> dict[str, Any]:
    return {
        "object": "workflow",
        "name": name,
        "starter": "workflow",
        "runs_in": "worker",
        "workflow": TYPE,
        "triggers": [{"id": "watch", "kind": "watch", "watch": {"class": "c", "fields": [], "exclude": []}}],
        "shards": 1,
        "window": 4,
        "batch": 16,
        "on_exhausted": "block",
        "paused": False,
        "status": {"state": "ready", "pending": 0},
        "created": "t",
        "updated": "t",
    }


def page(*rows: Any, cursor: str | None = None) -> httpx.Response:
    body = {"object": "list", "data": list(rows), "has_more": cursor is not None, "next_cursor": cursor}
    return httpx.Response(200, json=body)


FOUND = httpx.Response(200, json=workflow())
QUEUE = {"object": "list", "data": [], "has_more": False, "name": "notes", "trigger": "watch", "pending": 0}
RUN = {
    "id": "1-a-1",
    "workflow": "notes",
    "identity": "starter.notes",
    "turn": 1,
    "workflow_type": "word-count",
    "version": "v1",
    "started_at_ms": 1,
    "ended_at_ms": 2,
    "outcome": "done",
    "attempts": 1,
    "error": None,
    "queue_before": 0,
    "queue_after": 0,
    "phases": [],
    "steps": [],
}
STATS = {
    "name": "notes",
    "hours": 3,
    "from_ms": 1,
    "to_ms": 2,
    "runs": 1,
    "outcomes": {"done": 1},
    "running_ms": 1,
    "usage": {},
    "counts": {},
    "truncated": False,
}
REQUEUED = {"attempt": 1, "not_before": None, "requeued": [], "exhausted": []}
EVENTS = {"workflow": "notes", "accepted": 1, "duplicates": 0, "pending": 1}
NAMED = "/v1/workflows/named"


# The starter


@both
def test_a_starter_sends_only_what_was_given(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(FOUND), graph="main")

    made = finish(
        lambda: client.use_workflow_starter(
            "workflow", name="notes", class_="Note", fields=["text"], workflow=TYPE, owns={"properties": ["word_count"]}
        )
    )
    finish(lambda: client.use_workflow_starter("workflow@v1"))
    finish(
        lambda: client.use_workflow_starter(
            "values.extract",
            class_="Note",
            exclude=["x"],
            params={"a": 1},
            gate=0.8,
            budget_usd_per_month=2.5,
            batch=8,
        )
    )

    first, second, third = script.requests
    assert (first.method, first.url.path, dict(first.url.params)) == (
        "PUT", "/v1/workflows/triggered", {"graph": "main"},
    )  # fmt: skip
    assert json.loads(first.content) == {
        "starter": "workflow",
        "name": "notes",
        "watch": {"class": "Note", "fields": ["text"]},
        "workflow": TYPE,
        "owns": {"properties": ["word_count"]},
    }
    assert json.loads(second.content) == {"starter": "workflow@v1"}
    assert json.loads(third.content) == {
        "starter": "values.extract",
        "watch": {"class": "Note", "exclude": ["x"]},
        "params": {"a": 1},
        "gate": {"below": 0.8},
        "budget_usd_per_month": 2.5,
        "batch": 8,
    }
    assert made["name"] == "notes"


@both
@pytest.mark.parametrize("given", [{"fields": ["text"]}, {"exclude": []}])
def test_fields_without_their_class_are_refused_before_anything_is_sent(
    cls: ClientClass, given: dict[str, Any]
) -> None:
    client = client_of(cls, script := Script())

    with pytest.raises(ValueError, match="class_"):
        finish(lambda: client.use_workflow_starter("workflow", **given))

    assert script.requests == []


# By name


@both
@pytest.mark.parametrize(
    ("make", "sent", "body", "answer", "model"),
    [
        (lambda named: named.get("notes"), ("GET", NAMED, {"name": "notes"}), None, workflow(), models.NamedWorkflow),
        (
            lambda named: named.put({"name": "notes"}),
            ("PUT", NAMED, {}), {"name": "notes"}, workflow(), models.NamedWorkflow,
        ),
        (
            lambda named: named.delete("notes", confirm="notes"),
            ("DELETE", NAMED, {"name": "notes", "confirm": "notes"}), None, {"deleted": True},
            models.NamedWorkflowDeleteResponse,
        ),
        (
            lambda named: named.run("notes"),
            ("POST", NAMED + "/run", {"name": "notes"}), None, {"workflow": workflow(), "queued": True},
            models.NamedWorkflowRunResponse,
        ),
        (
            lambda named: named.pause("notes"),
            ("POST", NAMED + "/pause", {"name": "notes"}), {"paused": True}, workflow(), models.NamedWorkflow,
        ),
        (
            lambda named: named.pause("notes", False),
            ("POST", NAMED + "/pause", {"name": "notes"}), {"paused": False}, workflow(), models.NamedWorkflow,
        ),
        (
            lambda named: named.requeue("notes", {"workflow_id": "w", "turn": 1, "items": []}),
            ("POST", NAMED + "/requeue", {"name": "notes"}), {"workflow_id": "w", "turn": 1, "items": []}, REQUEUED,
            models.WorkflowRequeueResponse,
        ),
        (
            lambda named: named.queue("notes", trigger="watch", cursor="c", limit=5),
            ("GET", NAMED + "/queue", {"name": "notes", "trigger": "watch", "cursor": "c", "limit": "5"}), None, QUEUE,
            models.WorkflowQueueResponse,
        ),
        (
            lambda named: named.get_run("notes", "1-a-1"),
            ("GET", NAMED + "/runs/get", {"name": "notes", "id": "1-a-1"}), None,
            {"run": RUN, "calls": [], "calls_truncated": False}, models.NamedWorkflowRunAnswer,
        ),
        (
            lambda named: named.run_stats("notes", hours=3),
            ("GET", NAMED + "/runs/stats", {"name": "notes", "hours": "3"}), None, STATS, models.NamedWorkflowRunStats,
        ),
        (
            lambda named: named.run_results("notes", run="r", outcome="written,failed", iri="e/1"),
            ("GET", NAMED + "/runs/results", {"name": "notes", "run": "r", "outcome": "written,failed", "iri": "e/1"}),
            None, {"object": "list", "data": [], "has_more": False},
            models.NamedWorkflowRunResultsResponse,
        ),
        (
            lambda named: named.send_events("notes", [{"id": "1"}]),
            ("POST", NAMED + "/events", {"name": "notes"}), {"events": [{"id": "1"}]}, EVENTS,
            models.WorkflowStreamEventsResponse,
        ),
    ],
)  # fmt: skip
def test_each_call_sends_its_request_and_reads_its_answer(
    cls: ClientClass, make: Any, sent: Any, body: Any, answer: Any, model: type
) -> None:
    client = client_of(cls, script := Script(httpx.Response(503), httpx.Response(200, json=answer)), retry_delay=0)

    got = finish(lambda: make(client.workflows.named))

    assert isinstance(got, model)
    assert len(script.requests) == 2  # each of them may be sent again
    request = script.requests[1]
    assert (request.method, request.url.path, dict(request.url.params)) == sent
    assert (json.loads(request.content) if request.content else None) == body


@both
def test_an_unknown_name_is_a_refusal(cls: ClientClass) -> None:
    missing = httpx.Response(404, json={"error": {"code": "named_workflow_not_found", "message": "m", "type": "t"}})

    with pytest.raises(LbbError) as refused:
        finish(lambda: client_of(cls, Script(missing)).workflows.named.get("notes"))

    assert refused.value.code == "named_workflow_not_found"


@both
def test_lists_come_as_pages(cls: ClientClass) -> None:
    client = client_of(cls, script := Script(page(workflow("a"), cursor="c"), page(RUN)))

    workflows = finish(lambda: client.workflows.named.list(limit=1))
    runs = finish(lambda: client.workflows.named.runs("a", outcome="done", limit=2, cursor="x"))

    assert isinstance(workflows, ListPage)
    assert ([each.name for each in workflows], workflows.has_more, workflows.next_cursor) == (["a"], True, "c")
    assert ([run.outcome for run in runs], runs.has_more) == (["done"], False)
    assert [dict(request.url.params) for request in script.requests] == [
        {"limit": "1"},
        {"name": "a", "outcome": "done", "cursor": "x", "limit": "2"},
    ]


def test_all_reads_page_after_page() -> None:
    script = Script(page(workflow("a"), workflow("b"), cursor="2"), page(workflow("c")))

    names = [each.name for each in client_of(LbbClient, script).workflows.named.all()]

    assert names == ["a", "b", "c"]
    assert [dict(request.url.params) for request in script.requests] == [{}, {"cursor": "2"}]


def test_all_reads_page_after_page_without_blocking() -> None:
    client = client_of(AsyncLbbClient, Script(page(workflow("a"), cursor="2"), page(workflow("b"))))

    async def names() -> list[str]:
        return [each.name async for each in client.workflows.named.all()]

    assert asyncio.run(names()) == ["a", "b"]
