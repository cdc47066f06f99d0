"""Handles, `client.workflows` and blobs (lbb-engine 3, 8.1)."""

import asyncio
from typing import Any

import httpx
import pytest

from lbb import LbbError, models
from lbb.workflows import WorkflowError, WorkflowHandle, WorkflowNamespace, WorkflowResult, WorkflowTurnFailed, workflow
from lbb.workflows import handle as handle_module
from tests.unit.workflow_server import Engine, refused

INSTANCES = "/v1/workflows/instances"
INSTANCE = {
    "id": "a-1",
    "workflow_type": "job",
    "version": "v1",
    "state": {"n": 1},
    "status": "idle",
    "pending_messages": 0,
    "completed_turns": 1,
    "history_through": 1,
    "sequence": 4,
    "created_at_ms": 1,
    "updated_at_ms": 2,
    "lease_ms": 60_000,
    "max_attempts": 3,
}


def a_turn(status: str = "completed", **fields: Any) -> dict[str, Any]:
    return {
        "workflow_id": "a-1",
        "number": 1,
        "message_id": "m-1",
        "message": {"add": 2},
        "version": "v1",
        "status": status,
        "attempt": 1,
        "created_at_ms": 1,
        "updated_at_ms": 2,
        "ready_at_ms": 1,
        "steps": [],
        "result": None,
        "state_after": None,
        "sequence": 3,
        **fields,
    }


def engine_with(route: str, *answers: Any) -> Engine:
    engine = Engine()
    engine.answer(route, *answers)
    return engine


def on(engine: Engine) -> WorkflowHandle:
    return WorkflowHandle(engine.client, "a-1")


def counter(initial_state: Any) -> Any:
    async def run(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=state)

    return workflow(name="counter", version="v1", initial_state=initial_state, on_message=run)


async def test_making_a_handle_sends_nothing() -> None:
    engine = Engine()

    assert on(engine).id == engine.client.workflows.handle("a-1").id == "a-1"
    assert engine.sent == []


async def test_client_workflows_is_one_namespace() -> None:
    client = Engine().client

    assert isinstance(client.workflows, WorkflowNamespace)
    assert client.workflows is client.workflows
    assert client.workflows.blobs is client.workflows.blobs


async def test_start_creates_the_instance_with_the_initial_state_and_defaults() -> None:
    engine = engine_with(INSTANCES, INSTANCE)

    handle = await counter({"count": 0}).start(engine.client, "counter-1")

    assert isinstance(handle, WorkflowHandle)
    assert handle.id == "counter-1"
    assert engine.body(INSTANCES) == {
        "id": "counter-1",
        "workflow_type": "counter",
        "version": "v1",
        "state": {"count": 0},
        "lease_ms": 60_000,
        "max_attempts": 3,
    }


async def test_start_sends_what_is_given_and_leaves_off_a_null_state() -> None:
    engine = engine_with(INSTANCES, INSTANCE)

    await engine.client.workflows.start(counter(None), "c", lease_ms=3_000, max_attempts=5, on_exhausted="skip")

    assert engine.body(INSTANCES) == {
        "id": "c",
        "workflow_type": "counter",
        "version": "v1",
        "lease_ms": 3_000,
        "max_attempts": 5,
        "on_exhausted": "skip",
    }


@pytest.mark.parametrize(
    ("call", "route", "body", "answer"),
    [
        (
            lambda h: h.send({"add": 2}, id="request-1"),
            INSTANCES + "/message",
            {"workflow_id": "a-1", "id": "request-1", "message": {"add": 2}},
            a_turn(),
        ),
        (
            lambda h: h.send(None, id="r/ü", origin={"kind": "manual", "note": "by hand"}),
            INSTANCES + "/message",
            {"workflow_id": "a-1", "id": "r/ü", "message": None, "origin": {"kind": "manual", "note": "by hand"}},
            a_turn(),
        ),
        (
            lambda h: h.send((1, 2**80), id="r", origin=models.WorkflowMessageOrigin(kind="manual")),
            INSTANCES + "/message",
            {"workflow_id": "a-1", "id": "r", "message": [1, 2**80], "origin": {"kind": "manual"}},
            a_turn(),
        ),
        (
            lambda h: h.signal("approval", {"approved": True}, turn=1, id="e-1"),
            "signal",
            {"workflow_id": "a-1", "turn": 1, "id": "e-1", "name": "approval", "value": {"approved": True}},
            a_turn(),
        ),
    ],
)
async def test_send_and_signal_are_repeated_until_answered_and_give_the_turn(
    call: Any, route: str, body: Any, answer: Any
) -> None:
    engine = engine_with(route, refused(503), httpx.ReadError("lost"), answer)

    turn = await call(on(engine))

    assert isinstance(turn, models.WorkflowTurn)
    assert engine.bodies(route) == [body] * 3


@pytest.mark.parametrize(
    ("call", "body"),
    [
        (lambda h: h.pause(), {"action": "pause"}),
        (lambda h: h.resume(), {"action": "resume"}),
        (lambda h: h.retry(2), {"action": "retry", "turn": 2}),
        (lambda h: h.skip(2), {"action": "skip", "turn": 2}),
        (lambda h: h.cancel_turn(2), {"action": "cancel_turn", "turn": 2}),
        (lambda h: h.wake(), {"action": "wake"}),
    ],
)
async def test_control_is_sent_and_gives_the_instance(call: Any, body: Any) -> None:
    engine = engine_with(INSTANCES + "/control", INSTANCE)

    assert isinstance(await call(on(engine)), models.WorkflowInstance)
    assert engine.body(INSTANCES + "/control") == {"workflow_id": "a-1", **body}


async def test_control_is_never_sent_twice() -> None:
    engine = engine_with(INSTANCES + "/control", refused(503))

    with pytest.raises(LbbError):
        await on(engine).retry(1)
    assert len(engine.sent) == 1


async def test_status_inbox_history_and_list_read() -> None:
    engine = Engine()
    engine.answer(INSTANCES + "/get", INSTANCE)
    inbox = {
        "workflow_id": "a-1",
        "workflow_type": "job",
        "version": "v1",
        "status": "idle",
        "messages": [],
        "pending_messages": 0,
    }
    engine.answer(INSTANCES + "/inbox", inbox)
    engine.answer(INSTANCES + "/history", {"turns": [a_turn()]})
    engine.answer(INSTANCES, {"instances": [INSTANCE], "next_after": "a-1"})
    handle = on(engine)

    assert (await handle.status()).state == {"n": 1}
    assert (await handle.inbox(after=1, limit=2, payloads=True)).pending_messages == 0
    assert (await handle.inbox()).messages == []
    assert (await handle.history(after=1, limit=2)).turns[0].number == 1
    assert (
        await engine.client.workflows.list(after="a", limit=1, workflow_type="job", status="idle")
    ).next_after == "a-1"
    assert [sent.params for sent in engine.sent] == [
        {"graph": "main", "id": "a-1"},
        {"graph": "main", "id": "a-1", "after": "1", "limit": "2", "payloads": "true"},
        {"graph": "main", "id": "a-1"},
        {"graph": "main", "id": "a-1", "after": "1", "limit": "2"},
        {"graph": "main", "after": "a", "limit": "1", "workflow_type": "job", "status": "idle"},
    ]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda h: h.send({"a": {1}}, id="m"), WorkflowError, "message.a is of type set"),
        (lambda h: h.send({"a": float("nan")}, id="m"), WorkflowError, "message.a is NaN"),
        (lambda h: h.signal("ok", [b"x"], turn=1, id="e"), WorkflowError, r'signal "ok"\[0\] is of type bytes'),
        (lambda h: h.send("x" * 262_143, id="m"), ValueError, "message is 262,145 bytes of JSON, the limit is 262,144"),
        (lambda h: h.signal("ok", "x" * 262_143, turn=1, id="e"), ValueError, 'signal "ok" is 262,145 bytes'),
    ],
)
async def test_values_that_cannot_be_saved_are_refused_before_anything_is_sent(
    call: Any, error: type[Exception], says: str
) -> None:
    engine = Engine()

    with pytest.raises(error, match=says):
        await call(on(engine))
    assert engine.sent == []


async def test_a_message_of_256_kib_is_sent() -> None:
    engine = engine_with(INSTANCES + "/message", a_turn())

    await on(engine).send("x" * 262_142, id="m")

    assert len(engine.body(INSTANCES + "/message")["message"]) == 262_142


# handle.result


async def test_result_waits_at_the_server_and_gives_the_result_of_a_completed_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handle_module, "_LEAST_POLL_SECONDS", 0.001)
    engine = engine_with(INSTANCES + "/turn", a_turn("queued"), a_turn("running"), a_turn(result={"total": 5}))

    assert await on(engine).result(1) == {"total": 5}
    assert [sent.params for sent in engine.sent] == [
        {"graph": "main", "id": "a-1", "turn": "1", "wait_ms": "10000"}
    ] * 3


async def test_result_waits_no_longer_than_its_timeout() -> None:
    engine = engine_with(INSTANCES + "/turn", a_turn("running"))

    with pytest.raises(TimeoutError, match=r"turn 1 of a-1 is still running after 0\.02 s"):
        await on(engine).result(1, timeout=0.02)
    assert int(engine.sent[0].params["wait_ms"]) <= 20


async def test_a_timeout_of_zero_looks_once() -> None:
    engine = engine_with(INSTANCES + "/turn", a_turn("running"))

    with pytest.raises(TimeoutError):
        await on(engine).result(1, timeout=0)
    assert [sent.params["wait_ms"] for sent in engine.sent] == ["0"]


async def test_result_does_not_ask_in_a_tight_loop() -> None:
    engine = engine_with(INSTANCES + "/turn", a_turn("running"))
    waiting = asyncio.create_task(on(engine).result(1))
    await asyncio.sleep(0.03)
    waiting.cancel()

    assert len(engine.sent) == 1


@pytest.mark.parametrize("status", ["failed", "cancelled"])
async def test_result_of_a_turn_that_failed_or_was_cancelled_raises_with_the_turn(status: str) -> None:
    engine = engine_with(INSTANCES + "/turn", a_turn(status, error="ValueError: boom"))

    with pytest.raises(WorkflowTurnFailed, match=f"turn 1 of a-1 is {status}: ValueError: boom") as caught:
        await on(engine).result(1)
    assert caught.value.turn.status == status


async def test_result_of_an_unknown_turn_is_a_404_at_once() -> None:
    engine = engine_with(INSTANCES + "/turn", refused(404, "turn_not_found"))

    with pytest.raises(LbbError) as caught:
        await on(engine).result(9)
    assert caught.value.status_code == 404
    assert len(engine.sent) == 1


# Blobs


BLOB = {"key": "notes/ab", "sha256": "ab", "bytes": 3, "created": True}


async def test_put_sends_raw_bytes_and_is_repeated() -> None:
    engine = engine_with("/v1/workflows/blobs", refused(503), BLOB)

    blob = await engine.client.workflows.blobs.put("ßx", workflow_id="a-1")

    assert isinstance(blob, models.WorkflowBlob)
    assert [sent.raw for sent in engine.sent] == ["ßx".encode()] * 2
    assert engine.sent[0].headers["content-type"] == "application/octet-stream"
    assert engine.sent[0].params == {"graph": "main", "workflow_id": "a-1"}


async def test_put_json_is_compact_and_unescaped() -> None:
    engine = engine_with("/v1/workflows/blobs", BLOB)

    await engine.client.workflows.blobs.put_json({"a": ["ß", 1.0]}, workflow_id="a-1")

    assert engine.sent[0].raw == '{"a":["ß",1.0]}'.encode()


async def test_a_blob_is_read_as_bytes_text_and_json() -> None:
    engine = engine_with("/v1/workflows/blobs", httpx.Response(200, content='["ß"]'.encode()))
    blobs = engine.client.workflows.blobs

    assert await blobs.get("k") == '["ß"]'.encode()
    assert await blobs.get_text("k") == '["ß"]'
    assert await blobs.get_json("k") == ["ß"]


async def test_a_blob_that_is_no_json_names_its_key() -> None:
    engine = engine_with("/v1/workflows/blobs", httpx.Response(200, content=b"\xff"))

    with pytest.raises(ValueError, match="blob 'k' holds no JSON"):
        await engine.client.workflows.blobs.get_json("k")


async def test_more_than_8_mib_is_refused_before_it_is_sent() -> None:
    engine = engine_with("/v1/workflows/blobs", BLOB)
    blobs = engine.client.workflows.blobs

    with pytest.raises(ValueError, match="at most 8,388,608 bytes, got 8,388,609"):
        await blobs.put(b"x" * (8 * 1024 * 1024 + 1), workflow_id="a-1")
    assert engine.sent == []
    await blobs.put(b"x" * (8 * 1024 * 1024), workflow_id="a-1")
    assert len(engine.sent) == 1
