"""Reads as the held turn: which credential is accepted, when it is renewed, how reads end (lbb-engine 5.12)."""

import asyncio
import json
import math
from typing import Any

import httpx
import pytest

from lbb import AsyncLbbClient, AsyncWorkflowTurnReader, LbbClient, LbbError, WorkflowExecutionError, WorkflowTurnReader
from tests.unit.lbb_scripted import ClientClass, MovedTime, client_of, finish

both = pytest.mark.parametrize("cls", [LbbClient, AsyncLbbClient])

CREDENTIAL = {
    "token": "lbb_wke_first.-_1",
    "graph_id": "main",
    "graph_epoch": "18446744073709551615",
    "workflow_id": "a-1",
    "turn": 3,
    "attempt": 2,
    "run_id": "1800000000000-a-1-3",
    "issued_at_ms": 1_000_000,
    "expires_at_ms": 1_060_000,
    "operations": ["sparql_read"],
}
TASK = {
    "token": "lease-token",
    "turn": {"workflow_id": "a-1", "number": 3, "attempt": 2, "run": {"id": "1800000000000-a-1-3"}},
    "execution_credential": CREDENTIAL,
}


def task(**changed: Any) -> dict[str, Any]:
    return {**TASK, "execution_credential": {k: v for k, v in {**CREDENTIAL, **changed}.items() if v is not ...}}


class Server:
    """Gives credentials and answers reads; each takes the seconds it is told."""

    def __init__(self, time: MovedTime) -> None:
        self.time = time
        self.requests: list[httpx.Request] = []
        self.renewed: dict[str, Any] = {}  # what a new credential has differently
        self.read: httpx.Response | Exception = httpx.Response(200, json={"rows": []})
        self.renewal_takes = self.read_takes = 0.0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.url.path == "/v1/workflows/turns/execution-credential":
            self.time.now += self.renewal_takes
            new = {**CREDENTIAL, "token": f"lbb_wke_{len(self.requests)}", **self.renewed}
            return httpx.Response(200, json={k: v for k, v in new.items() if v is not ...})
        self.time.now += self.read_takes
        if isinstance(self.read, Exception):
            raise self.read
        return self.read

    @property
    def paths(self) -> list[str]:
        return [request.url.path.rsplit("/", 1)[1] for request in self.requests]


class Reading:
    """A reader of either kind over a server, its time moved by hand."""

    def __init__(self, cls: ClientClass, given: Any = TASK) -> None:
        self.time = MovedTime()
        self.server = Server(self.time)
        client = client_of(cls, self.server, api_key="key", graph="other", environment="e")
        client._chance = self.time.chance()
        self.reader = client.workflow_turn_reader(given)

    def sparql(self, request: Any = None, **arguments: Any) -> Any:
        return finish(lambda: self.reader.sparql({"query": "ASK {}"} if request is None else request, **arguments))


@both
def test_a_read_renews_first_and_then_reads_with_the_new_credential(cls: ClientClass) -> None:
    reading = Reading(cls)

    assert reading.sparql({"query": "ASK {}", "limit": 5}) == {"rows": []}

    renewal, read = reading.server.requests
    assert (renewal.method, renewal.url.path) == ("POST", "/v1/workflows/turns/execution-credential")
    assert renewal.headers["authorization"] == "Bearer key"
    assert json.loads(renewal.content) == {"workflow_id": "a-1", "turn": 3, "token": "lease-token"}
    assert (read.method, read.url.path) == ("POST", "/v1/query/sparql-text")
    assert read.headers["authorization"] == "Bearer lbb_wke_1"
    assert json.loads(read.content) == {"query": "ASK {}", "limit": 5}
    for request in (renewal, read):
        query = dict(request.url.params)
        assert query == {"graph": "main", "stack": "e", "expected_graph_epoch": CREDENTIAL["graph_epoch"]}


def test_the_client_classes_give_their_reader() -> None:
    assert isinstance(Reading(LbbClient).reader, WorkflowTurnReader)
    assert isinstance(Reading(AsyncLbbClient).reader, AsyncWorkflowTurnReader)


@both
def test_a_credential_is_used_while_it_outlives_the_read_by_a_second(cls: ClientClass) -> None:
    reading = Reading(cls)

    for moved in (0, 29, 0.5):  # 60 s, then 31 s left: enough for 30 s and one more; then not
        reading.time.now += moved
        reading.sparql()

    assert reading.server.paths == [
        "execution-credential",
        "sparql-text",
        "sparql-text",
        "execution-credential",
        "sparql-text",
    ]


@both
def test_a_shorter_read_needs_a_shorter_life(cls: ClientClass) -> None:
    reading = Reading(cls)

    for moved in (0, 57, 0.1):
        reading.time.now += moved
        reading.sparql(timeout=2)

    assert reading.server.paths.count("execution-credential") == 2


@both
def test_life_is_counted_from_the_start_of_the_renewal(cls: ClientClass) -> None:
    reading = Reading(cls)
    reading.server.renewal_takes = 29.5

    reading.sparql()
    reading.sparql()

    assert reading.server.paths.count("execution-credential") == 2


@both
def test_a_credential_whose_life_passed_before_the_read_is_a_timeout(cls: ClientClass) -> None:
    reading = Reading(cls)
    reading.server.renewed = {"expires_at_ms": 1_005_000}
    reading.server.renewal_takes = 5

    with pytest.raises(TimeoutError, match="life"):
        reading.sparql()
    assert reading.server.paths == ["execution-credential"]


def test_a_blocking_read_that_outlasts_its_credential_is_a_timeout() -> None:
    reading = Reading(LbbClient)
    reading.server.renewed = {"expires_at_ms": 1_010_000}
    reading.server.read_takes = 10

    with pytest.raises(TimeoutError, match="life"):
        reading.sparql()

    reading.server.read = httpx.ReadTimeout("slow")
    with pytest.raises(TimeoutError, match="during the read"):
        reading.sparql()


async def test_an_async_read_that_outlasts_its_credential_is_a_timeout() -> None:
    async def serve(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("credential"):
            return httpx.Response(200, json={**CREDENTIAL, "expires_at_ms": 1_000_050})
        await asyncio.sleep(30)
        raise AssertionError("the read was not ended")

    client = AsyncLbbClient(transport=httpx.MockTransport(serve))

    with pytest.raises(TimeoutError):
        await client.workflow_turn_reader(TASK).sparql({"query": "ASK {}"})


@both
@pytest.mark.parametrize("status", [401, 403, 429, 500])
def test_a_refused_read_is_not_sent_again(cls: ClientClass, status: int) -> None:
    reading = Reading(cls)
    reading.server.read = httpx.Response(status, json={"error": {"code": "no", "message": "no"}})

    with pytest.raises(LbbError) as refused:
        reading.sparql()
    assert refused.value.status_code == status
    assert reading.server.paths == ["execution-credential", "sparql-text"]


@both
def test_a_read_without_an_answer_is_not_sent_again(cls: ClientClass) -> None:
    reading = Reading(cls)
    reading.server.read = httpx.ConnectError("gone")

    with pytest.raises(httpx.ConnectError):
        reading.sparql()
    assert len(reading.server.requests) == 2


@both
@pytest.mark.parametrize(
    "changed",
    [
        {"token": "lbb_sk_test_1"},
        {"token": "lbb_wke_"},
        {"token": "lbb_wke_a b"},
        {"token": ...},
        {"graph_id": ""},
        {"graph_id": ...},
        {"graph_epoch": 7},
        {"graph_epoch": "07"},
        {"graph_epoch": "-1"},
        {"graph_epoch": "18446744073709551616"},
        {"expires_at_ms": 0},
        {"expires_at_ms": True},
        {"expires_at_ms": ...},
        {"issued_at_ms": 999_999},  # more than 60 s of life
        {"issued_at_ms": 1_060_000},  # none
        {"issued_at_ms": "1000000"},
        {"operations": []},
        {"operations": ["sparql_read", "owned_write"]},
        {"operations": ["file_read"]},
        {"workflow_id": "a-2"},
        {"turn": 4},
        {"turn": "3"},
        {"turn": True},
        {"attempt": 1},
        {"run_id": "other"},
    ],
)
def test_a_credential_that_is_not_for_this_turn_is_refused(cls: ClientClass, changed: dict[str, Any]) -> None:
    field = next(iter(changed))
    with pytest.raises(WorkflowExecutionError, match=field) as at_start:
        Reading(cls, task(**changed))
    assert "lbb_sk_test_1" not in str(at_start.value)

    reading = Reading(cls)
    reading.server.renewed = changed
    with pytest.raises(WorkflowExecutionError, match=field):
        reading.sparql()
    assert reading.server.paths == ["execution-credential"]


@both
@pytest.mark.parametrize("changed", [{"graph_id": "moved"}, {"graph_epoch": "7"}])
def test_a_renewal_that_changes_the_graph_is_refused(cls: ClientClass, changed: dict[str, Any]) -> None:
    reading = Reading(cls)
    reading.server.renewed = changed

    with pytest.raises(WorkflowExecutionError, match=next(iter(changed.values()))):
        reading.sparql()
    assert reading.server.paths == ["execution-credential"]


@both
def test_a_renewal_without_its_time_is_a_server_to_upgrade(cls: ClientClass) -> None:
    reading = Reading(cls, task(issued_at_ms=...))  # fine in the task: its life is never counted
    reading.server.renewed = {"issued_at_ms": ...}

    with pytest.raises(RuntimeError, match="issued_at_ms"):
        reading.sparql()


@both
@pytest.mark.parametrize(
    "given", [{}, {"turn": {}}, {**TASK, "execution_credential": None}, {**TASK, "turn": None}, None]
)
def test_a_task_without_a_credential_is_refused(cls: ClientClass, given: Any) -> None:
    with pytest.raises(WorkflowExecutionError):
        Reading(cls, given)


@both
@pytest.mark.parametrize("seconds", [0, -1, 30.001, math.inf, math.nan])
def test_a_timeout_out_of_range_is_refused_before_anything_is_sent(cls: ClientClass, seconds: float) -> None:
    reading = Reading(cls)

    with pytest.raises(WorkflowExecutionError, match="timeout"):
        reading.sparql(timeout=seconds)
    assert reading.server.requests == []


@both
@pytest.mark.parametrize("request_", [{"query": "ASK {}", "graph": "x"}, ["ASK {}"], "ASK {}"])
def test_a_request_with_other_fields_is_refused_before_anything_is_sent(cls: ClientClass, request_: Any) -> None:
    reading = Reading(cls)

    with pytest.raises(WorkflowExecutionError):
        reading.sparql(request_)
    assert reading.server.requests == []


@both
def test_all_documented_fields_are_sent(cls: ClientClass) -> None:
    request = dict.fromkeys(("query", "cursor", "as_of_commit_seq", "limit", "offset", "entailment", "profile"), 1)
    reading = Reading(cls)

    reading.sparql(request)

    assert json.loads(reading.server.requests[-1].content) == request


@both
def test_a_closed_reader_refuses_to_read(cls: ClientClass) -> None:
    reading = Reading(cls)
    reading.reader.close()

    with pytest.raises(WorkflowExecutionError, match="closed"):
        reading.sparql()
    assert reading.server.requests == []


def test_the_error_is_a_value_error() -> None:
    assert issubclass(WorkflowExecutionError, ValueError)


class Hanging:
    """Credentials at once; a read hangs until it is cancelled."""

    def __init__(self) -> None:
        self.reading = asyncio.Event()
        self.was_cancelled = False

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("credential"):
            return httpx.Response(200, json=CREDENTIAL)
        self.reading.set()
        try:
            return await asyncio.Future()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise


async def test_closing_ends_the_reads_that_run() -> None:
    server = Hanging()
    reader = AsyncLbbClient(transport=httpx.MockTransport(server)).workflow_turn_reader(TASK)
    read = asyncio.create_task(reader.sparql({"query": "ASK {}"}))
    await server.reading.wait()

    reader.close()

    with pytest.raises(WorkflowExecutionError, match="closed"):
        await read
    assert server.was_cancelled


async def test_a_cancelled_caller_is_cancelled_and_its_read_with_it() -> None:
    server = Hanging()
    reader = AsyncLbbClient(transport=httpx.MockTransport(server)).workflow_turn_reader(TASK)
    read = asyncio.create_task(reader.sparql({"query": "ASK {}"}))
    await server.reading.wait()

    read.cancel()
    reader.close()

    with pytest.raises(asyncio.CancelledError):
        await read
    assert server.was_cancelled


async def test_reads_side_by_side_share_one_renewal() -> None:
    reading = Reading(AsyncLbbClient)

    await asyncio.gather(*(reading.reader.sparql({"query": "ASK {}"}) for _ in range(5)))

    assert reading.server.paths.count("execution-credential") == 1
