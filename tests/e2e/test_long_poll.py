"""Requests that wait: a claim for a turn, a reader for a turn's end (lbb-engine 3.12, P19; decisions 14 and 45)."""

import asyncio
import json
import random
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from tests.clock import MovableClock
from tests.e2e.api import CLAIM, CONTROL, CREATE, KEY, MESSAGE, PAIRS, WORKFLOWS, Api, lease, ok
from tests.live_server import HEADERS as LIVE
from tests.live_server import live_server
from tests.open_store import OpenStore
from turnbuckle import upkeep
from turnbuckle.operations.upkeep import next_due_at
from turnbuckle.store.database import Job
from turnbuckle.wire import limits

HOUR = 3_600_000
TURN = f"{WORKFLOWS}/instances/turn"
SOON_S = 5.0  # far below the ten seconds after which a poll would end by itself


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON_S):
        while not condition():  # noqa: ASYNC110  the waiting room tells nobody who has come
            await asyncio.sleep(0.001)


async def soon(answer: Awaitable[Any]) -> Any:
    async with asyncio.timeout(SOON_S):
        return await answer


def waiting(api: Api, *pair: str) -> int:
    """How many claims wait for the pair."""
    topics = [topic for topic in api.app.room._waiters if topic[0] == "ready" and topic[2:] == (pair or ("t", "v1"))]
    return sum(api.app.room.count(topic) for topic in topics)


async def polls(api: Api, count: int = 1, worker: str = "w") -> list["asyncio.Task[Any]"]:
    """Claims that wait for a turn of t@v1."""
    before = waiting(api)
    tasks = [asyncio.create_task(api.claimed(wait_ms=HOUR, worker=f"{worker}{number}")) for number in range(count)]
    await until(lambda: waiting(api) == before + count)
    return tasks


def control(api: Api, action: str, **fields: Any) -> Awaitable[Any]:
    return api.post(CONTROL, {"workflow_id": "a", "action": action, **fields})


# -- what wakes a claim ------------------------------------------------------------------------------------------


async def _message(api: Api) -> Callable[[], Awaitable[Any]]:
    await api.started()
    return api.sent


async def _completed(api: Api) -> Callable[[], Awaitable[Any]]:
    held = await api.held()
    await api.sent(id="m-2")
    return lambda: api.turn("complete", held, state=1)


async def _continued(api: Api) -> Callable[[], Awaitable[Any]]:
    held = await api.held()
    return lambda: api.turn("complete", held, state=1, continuation={"message": 1})


async def _signalled(api: Api) -> Callable[[], Awaitable[Any]]:
    held = await api.held()
    ok(await api.turn("wait-signal", held, key="r", position=0, name="ok", timeout_ms=HOUR))
    signal = {"workflow_id": "a", "turn": 1, "id": "e", "name": "ok", "value": 1}
    return lambda: api.post(f"{WORKFLOWS}/turns/signal", signal)


async def _resumed(api: Api) -> Callable[[], Awaitable[Any]]:
    await api.started()
    await api.sent()
    ok(await control(api, "pause"))
    return lambda: control(api, "resume")


async def _woken(api: Api) -> Callable[[], Awaitable[Any]]:
    held = await api.held()
    ok(await api.turn("fail", held, error="later", retry_at_ms=api.store.clock.now_ms + HOUR))
    return lambda: control(api, "wake")


async def _retried(api: Api) -> Callable[[], Awaitable[Any]]:
    held = await api.held()
    ok(await api.turn("fail", held, error="no", non_retryable=True))
    return lambda: control(api, "retry", turn=1)


async def _skipped(api: Api) -> Callable[[], Awaitable[Any]]:
    held = await api.held()
    await api.sent(id="m-2")
    ok(await api.turn("fail", held, error="no", non_retryable=True))
    return lambda: control(api, "skip", turn=1)


async def _cancelled(api: Api) -> Callable[[], Awaitable[Any]]:
    await api.held()
    await api.sent(id="m-2")
    return lambda: control(api, "cancel_turn", turn=1)


async def _failed_and_skipped(api: Api) -> Callable[[], Awaitable[Any]]:
    held = await api.held(on_exhausted="skip", max_attempts=1)
    await api.sent(id="m-2")
    return lambda: api.turn("fail", held, error="no")


async def _started_in_a_new_graph(api: Api) -> Callable[[], Awaitable[Any]]:
    async def start_and_send() -> Any:
        await api.started()
        return await api.sent()

    return start_and_send


@pytest.mark.parametrize(
    "prepare",
    [_message, _completed, _continued, _signalled, _resumed, _woken, _retried, _skipped, _cancelled,
     _failed_and_skipped, _started_in_a_new_graph],
    ids=lambda prepare: prepare.__name__.strip("_"),
)  # fmt: skip
async def test_whatever_makes_a_turn_ready_wakes_a_claim(
    api: Api, prepare: Callable[[Api], Awaitable[Callable[[], Awaitable[Any]]]]
) -> None:
    make_ready = await prepare(api)
    (poll,) = await polls(api)

    await make_ready()

    assert (await soon(poll))["turn"]["workflow_id"] == "a"


async def _sleep(api: Api, held: dict[str, Any]) -> int:
    ok(await api.turn("checkpoint", held, key="z", position=0, kind="sleep", delay_ms=200))
    return 200


async def _timeout(api: Api, held: dict[str, Any]) -> int:
    ok(await api.turn("wait-signal", held, key="r", position=0, name="ok", timeout_ms=200))
    return 200


async def _release(api: Api, held: dict[str, Any]) -> int:
    ok(await api.turn("fail", held, error="released", retry_at_ms=0))
    return 1_000


async def _failure(api: Api, held: dict[str, Any]) -> int:
    ok(await api.turn("fail", held, error="no"))
    return 1_000


@pytest.mark.parametrize("wait", [_sleep, _timeout, _release, _failure], ids=lambda wait: wait.__name__.strip("_"))
@pytest.mark.parametrize("is_waiting_before", [True, False])
async def test_a_timer_that_is_due_wakes_a_claim(
    api: Api, clock: MovableClock, wait: Callable[[Api, dict[str, Any]], Awaitable[int]], is_waiting_before: bool
) -> None:
    """Also of a turn that began to wait before the claim did: an empty claim learns the next due time."""
    held = await api.held()
    poll = (await polls(api))[0] if is_waiting_before else None
    wait_ms = await wait(api, held)
    poll = poll or (await polls(api))[0]
    begun = time.monotonic()
    clock.pass_ms(wait_ms)  # the alarm rings in real time, the store's clock is there already

    task = await soon(poll)

    assert (task["turn"]["number"], time.monotonic() - begun < wait_ms / 1_000 + 2) == (1, True)


async def test_a_lease_that_ends_wakes_a_claim_when_upkeep_has_seen_it(api: Api, clock: MovableClock) -> None:
    await api.held(lease_ms=500)
    (poll,) = await polls(api)
    clock.pass_ms(500)
    await upkeep.settle(api.app.store)
    clock.pass_ms(1_000)

    assert (await soon(poll))["turn"]["attempt"] == 2


async def test_a_claim_waits_for_all_its_types(api: Api) -> None:
    pairs = [{"workflow_type": "t", "version": f"v{number}"} for number in range(1, 201)]
    poll = asyncio.create_task(api.post(CLAIM, {"worker": "w", "workflows": pairs, "wait_ms": HOUR}))
    await until(lambda: waiting(api, "t", "v200") == 1)
    await api.started(version="v137")
    await api.sent()

    assert ok(await soon(poll))["task"]["turn"]["version"] == "v137"
    assert api.app.room._waiters == {}


# -- who is woken ------------------------------------------------------------------------------------------------


async def test_one_ready_turn_wakes_one_claim(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others go on waiting, and do not even look."""
    await api.started()
    waiters = await polls(api, 20)
    writes: list[Job] = []
    submit = api.store.database.submit

    def note(job: Job) -> None:
        writes.append(job)
        submit(job)

    monkeypatch.setattr(api.store.database, "submit", note)
    await api.sent()

    done, others = await asyncio.wait(waiters, timeout=SOON_S, return_when=asyncio.FIRST_COMPLETED)
    await until(lambda: waiting(api) == 19)

    assert [task.result()["turn"]["number"] for task in done] == [1]
    assert len(writes) <= 3  # the message, its claim, and one look of the next in line
    api.app.room.close()
    assert [await soon(task) for task in others] == [None] * 19


async def test_the_claim_that_has_waited_longest_is_served(api: Api) -> None:
    await api.started()
    first, _, _ = [poll for worker in ("x", "y", "z") for poll in await polls(api, worker=worker)]
    await api.sent()

    assert (await soon(first))["turn"]["worker"] == "x0"


@pytest.mark.parametrize("count", [50])
async def test_many_turns_that_become_ready_at_once_are_all_handed_out(api: Api, count: int) -> None:
    for number in range(count):
        await api.started(f"i{number}")
    waiters = await polls(api, count + 10)
    await asyncio.gather(*(api.sent(to=f"i{number}") for number in range(count)))

    async with asyncio.timeout(20):
        while sum(poll.done() for poll in waiters) < count:
            await asyncio.wait([poll for poll in waiters if not poll.done()], return_when=asyncio.FIRST_COMPLETED)

    served = [poll.result()["turn"]["workflow_id"] for poll in waiters if poll.done()]
    left = [poll for poll in waiters if not poll.done()]
    assert sorted(served) == sorted(f"i{number}" for number in range(count))
    assert await api.claimed() is None
    api.app.room.close()
    assert [await soon(poll) for poll in left] == [None] * 10
    assert (api.app.room._waiters, api.app.room._timers) == ({}, {})


async def test_many_turns_that_are_due_at_one_moment_are_all_handed_out(api: Api, clock: MovableClock) -> None:
    """One alarm rings for all of them; each claim that finds one calls the next."""
    for number in range(10):
        await api.started(f"i{number}")
        await api.sent(to=f"i{number}")
        held = lease(await api.claimed())
        ok(await api.turn("checkpoint", held, key="z", position=0, kind="sleep", delay_ms=300))
    waiters = await polls(api, 10)
    clock.pass_ms(300)

    served = await soon(asyncio.gather(*waiters))

    assert sorted(task["turn"]["workflow_id"] for task in served) == sorted(f"i{number}" for number in range(10))


# -- closed connections ------------------------------------------------------------------------------------------


class Caller:
    """One request to the app whose connection the test closes."""

    def __init__(self, api: Api, path: str, body: Any) -> None:
        self._body, self._gone = json.dumps(body).encode(), asyncio.Event()
        self._is_read = False
        self.sent: list[dict[str, Any]] = []
        headers = [(b"authorization", f"Bearer {KEY}".encode())]
        scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
        self.task = asyncio.create_task(api.app(scope, self._receive, self._send))

    def close(self) -> None:
        self._gone.set()

    async def _receive(self) -> dict[str, Any]:
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    def answer(self) -> Any:
        return json.loads(self.sent[1]["body"])


async def test_a_closed_connection_is_given_no_turn(api: Api) -> None:
    """B001: it was assigned to a worker that had gone, and sat there until its timeout."""
    await api.started()
    gone = Caller(api, CLAIM, {"worker": "gone", "workflows": PAIRS, "wait_ms": HOUR})
    await until(lambda: waiting(api) == 1)
    (poll,) = await polls(api)
    gone.close()
    await soon(gone.task)
    await api.sent()

    task = await soon(poll)

    assert (task["turn"]["worker"], task["turn"]["attempt"]) == ("w0", 1)


async def test_a_wake_up_of_a_closed_connection_goes_to_another(api: Api) -> None:
    """It had been called already when it closed."""
    await api.started()
    gone = Caller(api, CLAIM, {"worker": "gone", "workflows": PAIRS, "wait_ms": HOUR})
    await until(lambda: waiting(api) == 1)
    (poll,) = await polls(api)
    (topic,) = api.app.room._waiters
    first = next(iter(api.app.room._waiters[topic]))
    gone.close()
    await asyncio.sleep(0)  # the close has been received, its request has not run on yet
    api.app.room.announce([(topic, 0)], 0)
    called = first.called.done()
    await soon(gone.task)

    assert called
    assert waiting(api) == 1  # the other has looked, found nothing, and waits on
    await api.sent()
    assert (await soon(poll))["turn"]["worker"] == "w0"


def test_a_worker_that_hung_up_is_given_no_turn(open_store: OpenStore) -> None:
    """The same over real connections."""
    claim = json.dumps({"worker": "gone", "workflows": PAIRS, "wait_ms": HOUR}).encode()
    with live_server(open_store.database) as url, httpx.Client(base_url=url, headers=LIVE) as client:
        ok(client.post(CREATE, json={"id": "a", "workflow_type": "t", "version": "v1"}))
        with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as worker:
            lines = [f"POST {CLAIM} HTTP/1.1", "host: x", f"content-length: {len(claim)}"]
            lines += [f"{name}: {value}" for name, value in LIVE.items()]
            worker.sendall("\r\n".join([*lines, "", ""]).encode() + claim)
            until_waiting(client, 1)
        until_waiting(client, 0)
        ok(client.post(MESSAGE, json={"workflow_id": "a", "id": "m-1", "message": 1}))

        task = ok(client.post(CLAIM, json={"worker": "stays", "workflows": PAIRS, "wait_ms": HOUR}))["task"]

    assert (task["turn"]["worker"], task["turn"]["attempt"]) == ("stays", 1)


def until_waiting(client: httpx.Client, count: int) -> None:
    """Asks until the server says that so many claims wait."""
    give_up_at = time.monotonic() + SOON_S
    while [pair["waiting"] for pair in ok(client.get(f"{WORKFLOWS}/served"))["pairs"]] != [count]:
        assert time.monotonic() < give_up_at


async def test_all_connections_may_close(api: Api) -> None:
    await api.started()
    callers = [Caller(api, CLAIM, {"worker": "w", "workflows": PAIRS, "wait_ms": HOUR}) for _ in range(10)]
    await until(lambda: waiting(api) == 10)
    for caller in callers:
        caller.close()
    await soon(asyncio.gather(*(caller.task for caller in callers)))

    assert (api.app.room._waiters, api.app.room._timers) == ({}, {})
    await api.sent()
    assert (await api.claimed())["turn"]["attempt"] == 1


@pytest.mark.parametrize("seed", range(3))
async def test_no_wake_up_is_lost_among_workers_that_come_and_go(api: Api, seed: int) -> None:
    """Messages in bursts, claims that hang up at random moments: whatever is ready is handed out while one waits."""
    choose, count = random.Random(seed), 60
    for number in range(count):
        await api.started(f"i{number}")
    handed_out: list[str] = []
    callers: set[Caller] = set()

    async def work() -> None:
        while len(handed_out) < count:
            caller = Caller(api, CLAIM, {"worker": "w", "workflows": PAIRS, "wait_ms": HOUR})
            callers.add(caller)
            if choose.random() < 0.5:
                await asyncio.wait({caller.task}, timeout=choose.random() / 50)
                caller.close()
            await caller.task
            callers.discard(caller)
            if caller.sent and (task := caller.answer()["task"]) is not None:
                handed_out.append(task["turn"]["workflow_id"])
        for caller in callers:
            caller.close()

    async def send() -> None:
        for number in range(count):
            await api.sent(to=f"i{number}")
            if choose.random() < 0.3:
                await asyncio.sleep(choose.random() / 50)

    async with asyncio.timeout(60):
        await asyncio.gather(send(), *(work() for _ in range(8)))

    assert sorted(handed_out) == sorted(f"i{number}" for number in range(count))
    assert (api.app.room._waiters, api.app.room._timers) == ({}, {})


# -- how long ----------------------------------------------------------------------------------------------------


async def test_without_a_wait_an_empty_claim_answers_at_once(api: Api) -> None:
    await api.started()

    assert await soon(api.claimed()) is None


@pytest.mark.parametrize("wait_ms", [1, 50, HOUR, 2**53 - 1])
async def test_a_wait_ends_with_no_task_and_is_cut_to_ten_seconds(
    api: Api, wait_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert limits.POLL_MS == 10_000
    monkeypatch.setattr(limits, "POLL_MS", 100)  # so that the test need not wait for it
    await api.held()
    begun = time.monotonic()

    assert await soon(api.claimed(wait_ms=wait_ms)) is None
    assert await soon(api.get(TURN, id="a", turn=1, wait_ms=wait_ms))

    assert time.monotonic() - begun >= 2 * min(wait_ms, 100) / 1_000


# -- the end of a turn -------------------------------------------------------------------------------------------


async def _complete(api: Api, held: dict[str, Any]) -> str:
    ok(await api.turn("complete", held, state=1, result="done"))
    return "completed"


async def _fail(api: Api, held: dict[str, Any]) -> str:
    ok(await api.turn("fail", held, error="no", non_retryable=True))
    return "failed"


async def _cancel(api: Api, held: dict[str, Any]) -> str:
    ok(await control(api, "cancel_turn", turn=1))
    return "cancelled"


async def _expire(api: Api, held: dict[str, Any]) -> str:
    api.store.clock.pass_ms(HOUR)
    await upkeep.settle(api.app.store)
    return "failed"


@pytest.mark.parametrize("end", [_complete, _fail, _cancel, _expire], ids=lambda end: end.__name__.strip("_"))
async def test_everybody_who_waits_for_a_turn_is_told_its_end(
    api: Api, end: Callable[[Api, dict[str, Any]], Awaitable[str]]
) -> None:
    held = await api.held(max_attempts=1)
    readers = [asyncio.create_task(api.get(TURN, id="a", turn=1, wait_ms=HOUR)) for _ in range(5)]
    await until(lambda: sum(map(len, api.app.room._waiters.values())) == 5)

    status = await end(api, held)

    for reader in readers:
        assert ok(await soon(reader))["status"] == status
    assert api.app.room._waiters == {}


async def test_a_turn_that_has_ended_or_is_not_there_is_answered_at_once(api: Api) -> None:
    held = await api.held()
    ok(await api.turn("complete", held, state=1, result=5))

    assert ok(await soon(api.get(TURN, id="a", turn=1, wait_ms=HOUR)))["result"] == 5
    for instance, number in (("a", 2), ("nobody", 1)):
        assert (await soon(api.get(TURN, wait_ms=HOUR, id=instance, turn=number))).status_code == 404


async def test_a_failure_that_time_alone_tells_is_settled_before_it_is_told(api: Api) -> None:
    """A reader may be ahead of a heartbeat that is just being committed: what it calls failed may go on."""
    held = await api.held(max_attempts=1)
    api.store.clock.pass_ms(HOUR)

    assert ok(await api.get(TURN, id="a", turn=1, wait_ms=HOUR))["status"] == "failed"

    assert await api.app.store.read(next_due_at) is None  # nothing is left for upkeep to settle
    assert (await api.turn("heartbeat", held)).status_code == 409


async def test_a_turn_that_goes_away_while_one_waits_is_told(api: Api) -> None:
    """B079: waiting for the result of what is not there never ended."""
    await api.held()
    reader = asyncio.create_task(api.get(TURN, id="a", turn=1, wait_ms=HOUR))
    await until(lambda: len(api.app.room._waiters) == 1)
    ok(await api.post(f"{WORKFLOWS}/instances/delete", {"workflow_id": "a"}))

    answer: httpx.Response = await soon(reader)

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "instance_not_found")


# -- the server stops --------------------------------------------------------------------------------------------


async def test_a_server_that_stops_answers_all_who_wait_at_once(api: Api) -> None:
    await api.held()
    claims = await polls(api, 5)
    reader = asyncio.create_task(api.get(TURN, id="a", turn=1, wait_ms=HOUR))
    await until(lambda: sum(map(len, api.app.room._waiters.values())) == 6)

    api.app.room.close()

    assert [await soon(claim) for claim in claims] == [None] * 5
    assert ok(await soon(reader))["status"] == "running"
    assert ok(await api.get("/health"))["status"] == "draining"


async def test_who_comes_while_it_stops_does_not_wait(api: Api) -> None:
    """And a turn that is ready is left to a server that stays: here the worker's next call would find nobody."""
    await api.started()
    await api.sent()
    api.app.room.close()

    answer = await soon(api.post(CLAIM, {"worker": "w", "workflows": PAIRS, "wait_ms": HOUR}))

    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "stopping")
    assert ok(await soon(api.get(TURN, id="a", turn=1, wait_ms=HOUR)))["attempt"] == 0
