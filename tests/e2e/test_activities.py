"""Model activities over HTTP: once under an effect id whatever happens in between, and every refusal (lbb-graph 3)."""

import asyncio
import contextlib
import gc
import json
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clock import MovableClock
from tests.e2e.api import Api, ok, serving
from tests.open_store import OpenStore, opened
from tests.unit import model_stub as stub
from tests.unit.local_server import LocalServer, local_server
from turnbuckle.http import activities
from turnbuckle.operations import budget
from turnbuckle.wire import limits

BASE = "/v1/workflows/activities"
SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}}}
REASON: dict[str, Any] = {"prompt": "which code?", "schema": SCHEMA, "effect_id": "p/define"}
DECIDE: dict[str, Any] = {
    "state": {"a": 1},
    "questions": {"q": {"instructions": "is it?", "criteria": {"yes": "it is", "no": "it is not"}}},
    "effect_id": "p/define",
}
EMBED: dict[str, Any] = {"texts": ["one", "two"], "effect_id": "p/define"}
GOOD = stub.always(stub.chat({"code": "A"}))
SOON_S = 5.0


@pytest.fixture
def model() -> Iterator[LocalServer]:
    """A provider of models; a test says how it behaves."""
    with local_server(GOOD) as server:
        yield server


@pytest.fixture
def file(model: LocalServer, tmp_path: Path) -> Path:
    path = tmp_path / "models.toml"
    path.write_text(
        f"""
        activities = {{ reason = "big", decide = "big", embed = "big" }}
        budgets = {{ test = 1.0 }}
        prices.large-1 = {{ usd_per_million_in = 1.0, usd_per_million_out = 10.0 }}
        [providers.big]
        kind = "openai"
        url = "{model.url}/v1"
        reason_model = "large-1"
        decide_model = "large-1"
        embed_model = "large-1"
        retries = 0
        timeout_s = 20
        """
    )
    return path


@pytest.fixture
async def api(open_store: OpenStore, file: Path) -> AsyncIterator[Api]:
    async with serving(open_store, mode="serve", models=file) as served:
        yield served


async def reason(api: Api, **fields: Any) -> httpx.Response:
    return await api.post(f"{BASE}/reason", {**REASON, **fields})


async def soon(answer: Any) -> Any:
    async with asyncio.timeout(SOON_S):
        return await answer


async def arrived(model: LocalServer, count: int = 1) -> None:
    async with asyncio.timeout(SOON_S):
        while len(model.received) < count:  # noqa: ASYNC110  the stub is in another thread
            await asyncio.sleep(0.005)


async def waiting(api: Api, count: int) -> None:
    """Until so many requests wait for an answer that is on its way."""
    async with asyncio.timeout(SOON_S):
        while sum(map(len, api.app.room._waiters.values())) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def refusal(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@contextlib.contextmanager
def slow(model: LocalServer, then: Any = GOOD) -> Iterator[threading.Event]:
    """The model answers when the event is set."""
    release = threading.Event()
    model.behave = stub.held(release, then)
    try:
        yield release
    finally:
        release.set()


# -- once --------------------------------------------------------------------------------------------------------


async def test_an_answer_costs_once(api: Api, model: LocalServer) -> None:
    first = ok(await reason(api))
    again = ok(await reason(api, label="again", workflow={"identity": "a", "turn": 2, "run_id": "other"}))

    assert first == {
        "value": {"code": "A"},
        "model": "large-1-2027",
        "tokens_in": 11,
        "tokens_out": 7,
        "cost_micro_usd": 81,
        "cached": False,
    }
    assert again == {**first, "tokens_in": 0, "tokens_out": 0, "cost_micro_usd": 0, "cached": True}
    assert len(model.received) == 1


@pytest.mark.parametrize("spelled", [b'{"b":[1,2.0],"a":"x"}', b'{ "a":"\\u0078", "b":[1e0,2] }'])
async def test_the_same_json_in_another_spelling_is_the_same_request(
    api: Api, model: LocalServer, spelled: bytes
) -> None:
    ok(await reason(api, schema={"a": "x", "b": [1, 2]}, max_tokens=8_000))

    body = b'{"effect_id":"p/define","schema":%s,"prompt":"which code?"}' % spelled  # 8,000 is what is meant unsaid
    assert ok(await api.post(f"{BASE}/reason", body))["cached"]
    assert len(model.received) == 1


@pytest.mark.parametrize("change", [{"prompt": "x"}, {"schema": {}}, {"system": "x"}, {"max_tokens": 7}])
async def test_another_input_under_the_id_is_a_conflict(api: Api, change: dict[str, Any]) -> None:
    ok(await reason(api))

    assert refusal(await reason(api, **change)) == (409, "activity_effect_conflict")


async def test_many_equal_requests_at_once_make_one_call(api: Api, model: LocalServer) -> None:
    with slow(model) as release:
        requests = [asyncio.create_task(reason(api)) for _ in range(8)]
        await arrived(model)
        await waiting(api, 7)
        release.set()
        answers = [ok(answer) for answer in await soon(asyncio.gather(*requests))]

    assert sorted(answer["cached"] for answer in answers) == [False] + [True] * 7
    assert {json.dumps(answer["value"]) for answer in answers} == {'{"code": "A"}'}
    assert len(model.received) == 1


async def test_when_the_call_fails_one_of_those_who_wait_makes_its_own(api: Api, model: LocalServer) -> None:
    with slow(model, stub.in_turn(stub.error("500 Oops"), GOOD)) as release:
        requests = [asyncio.create_task(reason(api)) for _ in range(4)]
        await arrived(model)
        await waiting(api, 3)
        release.set()
        answers = await soon(asyncio.gather(*requests))

    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 503]
    assert len(model.received) == 2


async def test_a_call_goes_on_when_its_client_has_gone(api: Api, model: LocalServer) -> None:
    """A worker that was killed comes back with the same effect id."""
    with slow(model) as release:
        lost = asyncio.create_task(reason(api))
        await arrived(model)
        lost.cancel()
        again = asyncio.create_task(reason(api))
        await waiting(api, 1)
        release.set()
        answer = ok(await soon(again))

    assert (answer["cached"], len(model.received)) == (True, 1)


async def test_a_call_that_fails_when_its_client_has_gone_is_logged_alone(
    api: Api, model: LocalServer, caplog: pytest.LogCaptureFixture
) -> None:
    with slow(model, stub.in_turn(stub.error("500 Oops"), GOOD)) as release:
        lost = asyncio.create_task(reason(api))
        await arrived(model)
        lost.cancel()
        again = asyncio.create_task(reason(api))
        await waiting(api, 1)
        release.set()
        assert not ok(await soon(again))["cached"]
    gc.collect()

    rows = ok(await api.get("/v1/models/calls"))["calls"]
    assert sorted(row["ok"] for row in rows) == [False, True]
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_another_server_on_the_store_waits_too(
    open_store: OpenStore, file: Path, model: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hears no announcement of the first one and looks again by itself."""
    monkeypatch.setattr(activities, "LOOK_AGAIN_S", 0.01)
    async with serving(open_store, models=file) as one:
        with _other_face(open_store) as other_store:
            async with serving(other_store, models=file) as other:
                with slow(model) as release:
                    first = asyncio.create_task(reason(one))
                    await arrived(model)
                    second = asyncio.create_task(reason(other))
                    await waiting(other, 1)
                    release.set()
                    answers = ok(await soon(first)), ok(await soon(second))

    assert [answer["cached"] for answer in answers] == [False, True]
    assert len(model.received) == 1


@contextlib.contextmanager
def _other_face(store: OpenStore) -> Iterator[OpenStore]:
    with opened(store.location) as other:
        other.clock.now_ms = store.clock.now_ms
        yield other


async def test_a_call_whose_server_died_is_made_again_after_its_lease(
    open_store: OpenStore, file: Path, model: LocalServer, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is paid twice, which the log of its provider shows; nobody waits for ever (decision 31)."""
    monkeypatch.setattr(activities, "LOOK_AGAIN_S", 0.01)
    with slow(model) as release:
        async with serving(open_store, models=file) as one:
            dead = asyncio.create_task(reason(one))
            await arrived(model)
        with pytest.raises((asyncio.CancelledError, RuntimeError)):
            await dead
        async with serving(open_store, models=file) as other:
            again = asyncio.create_task(reason(other))
            await waiting(other, 1)
            clock.pass_ms(limits.CALL_LEASE_MS)
            await arrived(model, 2)
            release.set()
            assert not ok(await soon(again))["cached"]
            assert ok(await reason(other))["cached"]


async def test_a_long_call_keeps_its_lease(
    api: Api, model: LocalServer, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activities, "RENEW_S", 0.01)
    monkeypatch.setattr(activities, "LOOK_AGAIN_S", 0.01)
    with slow(model) as release:
        first = asyncio.create_task(reason(api))
        await arrived(model)
        second = asyncio.create_task(reason(api))
        for _ in range(4):
            clock.pass_ms(limits.CALL_LEASE_MS - 1_000)
            await _renewed(api, clock)
        release.set()
        assert not ok(await soon(first))["cached"]
        assert ok(await soon(second))["cached"]

    assert len(model.received) == 1


async def _renewed(api: Api, clock: MovableClock) -> None:
    async with asyncio.timeout(SOON_S):
        while True:
            rows = await api.app.store.read(lambda tx: tx.rows("activity_old", before_ms=2**60, limit=1, nothing=None))
            if rows[0][5] == clock.now_ms + limits.CALL_LEASE_MS:
                return
            await asyncio.sleep(0.005)


async def test_those_who_wait_are_told_when_the_server_stops(api: Api, model: LocalServer) -> None:
    with slow(model) as release:
        first = asyncio.create_task(reason(api))
        await arrived(model)
        second = asyncio.create_task(reason(api))
        await waiting(api, 1)
        api.app.room.close()
        assert refusal(await soon(second)) == (503, "stopping")
        release.set()
        assert ok(await soon(first))["value"] == {"code": "A"}


# -- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behave", "status", "code", "retryable"),
    [
        (stub.error("400 Bad", "too many tokens"), 422, "activity_request_refused", False),
        (stub.always(stub.chat("no JSON")), 422, "activity_request_refused", False),
        (stub.always(stub.chat({"code": 7})), 422, "activity_request_refused", False),
        (stub.error("429 Too Many", "slow", "Retry-After: 70"), 429, "rate_limited", None),
        (stub.error("500 Oops"), 503, "model_unavailable", None),
        (stub.hang_up, 503, "model_unavailable", None),
        (stub.raw(b"<html>"), 503, "model_unavailable", None),
        (stub.error("401 Unauthorized"), 503, "models_not_configured", False),
    ],
)
async def test_a_failure_is_told_logged_and_not_stored(
    api: Api, model: LocalServer, behave: Any, status: int, code: str, retryable: bool | None
) -> None:
    model.behave = behave
    failed = await reason(api)

    error = failed.json()["error"]
    assert (failed.status_code, error["code"], error.get("retryable")) == (status, code, retryable)
    assert error.get("retry_after_seconds") == (70 if code == "rate_limited" else None)
    (row,) = ok(await api.get("/v1/models/calls"))["calls"]
    assert (row["ok"], row["error"] in error["message"]) == (False, True)

    model.behave = GOOD
    assert not ok(await reason(api))["cached"]


async def test_a_spent_budget_names_the_next_month_and_forbids_a_retry(api: Api, clock: MovableClock) -> None:
    graph_id = await api.app.store.write(lambda tx: _graph(tx))
    await api.app.store.write(lambda tx: budget.charge(tx, graph_id, "test", None, 1_000_000))

    error = (await reason(api)).json()["error"]
    assert (error["code"], error["retryable"]) == ("workflow_budget_exceeded", False)
    assert (error["retry_at_ms"] - 1_801_440_000_000, isinstance(error["retry_at_ms"], int)) == (0, True)  # 2027-02-01

    clock.now_ms = error["retry_at_ms"]
    ok(await reason(api))


def _graph(tx: Any) -> str:
    from turnbuckle.operations import graph

    return graph.use(tx, "test", "main")


async def test_without_a_model_the_refusal_says_how_to_name_one(open_store: OpenStore) -> None:
    async with serving(open_store, mode="serve") as api:
        answer = await reason(api)

        assert refusal(answer) == (503, "models_not_configured")
        assert "--models" in answer.json()["error"]["message"]
        assert answer.json()["error"]["retryable"] is False


async def test_a_stored_answer_is_given_though_the_model_has_gone(open_store: OpenStore, file: Path) -> None:
    async with serving(open_store, models=file) as api:
        ok(await reason(api))
    async with serving(open_store, mode="serve") as api:
        assert ok(await reason(api))["cached"]
        assert refusal(await reason(api, prompt="x")) == (409, "activity_effect_conflict")


LONG = "x" * (limits.PROMPT_CHARS + 1)
OPTIONS = {f"o{n}": "" for n in range(65)}
QUESTION = DECIDE["questions"]["q"]
BAD: list[tuple[str, dict[str, Any], str | None]] = [
    ("reason", {"prompt": ""}, "prompt"),
    ("reason", {"prompt": 7}, "prompt"),
    ("reason", {"prompt": LONG}, "prompt"),
    ("reason", {"prompt": "x" * 100_001, "system": "x" * 100_000}, "prompt"),
    ("reason", {"system": LONG}, "system"),
    ("reason", {"schema": []}, "schema"),
    ("reason", {"schema": None}, "schema"),
    ("reason", {"schema": "object"}, "schema"),
    ("reason", {"schema": {"type": "text"}}, "schema.type"),
    ("reason", {"schema": {"properties": {"a": {"$ref": "http://127.0.0.1/s"}}}}, "schema.properties.a.$ref"),
    ("reason", {"schema": {"$ref": "#"}}, "schema"),
    ("reason", {"schema": {"pattern": "("}}, "schema.pattern"),
    ("reason", {"schema": {"description": "x" * limits.SCHEMA_BYTES}}, "schema"),
    ("reason", {"max_tokens": 0}, "max_tokens"),
    ("reason", {"max_tokens": 32_001}, "max_tokens"),
    ("reason", {"max_tokens": 1.5}, "max_tokens"),
    ("reason", {"temperature": 1}, "temperature"),
    ("decide", {"state": "x" * (limits.DECISION_STATE_CHARS + 1)}, "state"),
    ("decide", {"questions": {}}, "questions"),
    ("decide", {"questions": {f"q{n}": QUESTION for n in range(65)}}, "questions"),
    ("decide", {"questions": {"q r": QUESTION}}, None),
    ("decide", {"questions": {"q": {"instructions": "?", "criteria": {"one": ""}}}}, None),
    ("decide", {"questions": {"q": {"instructions": "?", "criteria": OPTIONS}}}, None),
    ("decide", {"questions": {"q": {"criteria": {"a": "", "b": ""}}}}, None),
    ("decide", {"questions": {"q": {**QUESTION, "weight": 1}}}, None),
    ("embed", {"texts": []}, "texts"),
    ("embed", {"texts": "one"}, "texts"),
    ("embed", {"texts": [""]}, "texts[...]"),
    ("embed", {"texts": ["x" * 8_001]}, "texts[...]"),
    ("embed", {"texts": ["x"] * 257}, "texts"),
    *((job, {"effect_id": "a b"}, "effect_id") for job in ("reason", "decide", "embed")),
    ("reason", {"effect_id": ""}, "effect_id"),
    ("reason", {"effect_id": "x" * 201}, "effect_id"),
    ("reason", {"effect_id": "x\n"}, "effect_id"),
    ("reason", {"label": "x" * 65}, "label"),
    ("reason", {"workflow": {"identity": "a/b", "turn": 1}}, "workflow.identity"),
    ("reason", {"workflow": {"identity": "a", "turn": 0}}, "workflow.turn"),
    ("reason", {"workflow": {"identity": "a", "turn": 1, "step": "x y"}}, "workflow.step"),
    ("reason", {"workflow": {"identity": "a", "turn": 1, "instance": "x" * 513}}, "workflow.instance"),
    ("reason", {"workflow": {"identity": "a"}}, "workflow.turn"),
    ("reason", {"workflow": {"identity": "a", "turn": 1, "token": "t"}}, "workflow.token"),
    ("reason", {"test": {"workflow": ""}}, "test.workflow"),
    ("reason", {"test": {"workflow": "a b"}}, "test.workflow"),
]  # fmt: skip


@pytest.mark.parametrize(("job", "change", "param"), BAD, ids=[f"{j}-{p}-{n}" for n, (j, _, p) in enumerate(BAD)])
async def test_a_bad_request_is_told_by_its_field_and_reaches_no_model(
    api: Api, model: LocalServer, job: str, change: dict[str, Any], param: str | None
) -> None:
    body = {**{"reason": REASON, "decide": DECIDE, "embed": EMBED}[job], **change}

    answer = await api.post(f"{BASE}/{job}", body)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "invalid_param"), answer.text
    if param is not None:
        assert error["param"].replace("[0]", "[...]") == param
    assert model.received == []
    assert ok(await api.get("/v1/models/calls"))["calls"] == []


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'{"prompt": NaN}', b'{"prompt":"a","prompt":"b"}', b"\xff"])
async def test_what_is_no_request_is_refused(api: Api, body: bytes) -> None:
    assert (await api.post(f"{BASE}/reason", body)).status_code == 400


async def test_null_counts_as_absent(api: Api) -> None:
    fields = dict.fromkeys(("system", "max_tokens", "effect_id", "label", "workflow", "test"))

    assert not ok(await reason(api, **fields))["cached"]


async def test_the_largest_request_is_taken(api: Api, model: LocalServer) -> None:
    texts = [f"{number:03d}" + "ä" * 7_997 for number in range(256)]
    model.behave = stub.always(stub.embeddings(*([1.0, 2.0] for _ in texts)))

    assert len(ok(await api.post(f"{BASE}/embed", {"texts": texts}))["vectors"]) == 256


# -- the other two -----------------------------------------------------------------------------------------------


async def test_a_decision_names_its_choice(api: Api, model: LocalServer) -> None:
    model.behave = stub.by_request(
        lambda body: stub.chat({"q": {"yes": 1, "no": 3}}) if "response_format" in body else stub.chat("A")
    )

    answer = ok(await api.post(f"{BASE}/decide", DECIDE))

    shares = {"yes": 0.25, "no": 0.75}
    assert answer["answers"] == {"q": {"choice": "no", "confidence": 0.75, "probabilities": shares}}
    assert ok(await api.post(f"{BASE}/decide", DECIDE))["cached"]


async def test_vectors_are_stored_like_any_answer(api: Api, model: LocalServer) -> None:
    model.behave = stub.always(stub.embeddings([0.5, 1], [1, 0]))

    first, again = [ok(await api.post(f"{BASE}/embed", {**EMBED, "test": {"workflow": "t"}})) for _ in range(2)]

    assert first == {
        "vectors": [[0.5, 1.0], [1.0, 0.0]],
        "model": "embed-1",
        "dim": 2,
        "tokens_in": 5,
        "cost_micro_usd": 5,
        "cached": False,
    }
    assert again == {**first, "tokens_in": 0, "cost_micro_usd": 0, "cached": True}


async def test_one_id_serves_the_three(api: Api, open_store: OpenStore) -> None:
    async with serving(open_store) as mocked:
        for job, body in (("reason", REASON), ("decide", DECIDE), ("embed", EMBED)):
            assert not ok(await mocked.post(f"{BASE}/{job}", body))["cached"]
        jobs = [row["job"] for row in ok(await mocked.get("/v1/models/calls"))["calls"]]
        assert sorted(jobs) == ["decide", "embed", "reason"]
