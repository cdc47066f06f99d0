"""A reply that is lost on its way: each mutating route has one effect, and a repeat gets the same answer (B012).

The client is the real one. Routes that it repeats must see identical bytes twice; those that it sends once (claim,
heartbeat, fail, control) must leave the engine in the one state that their effect has.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from lbb import AsyncLbbClient, LbbError
from lbb.workflows import WorkflowContext, WorkflowDefinition, WorkflowHandle, WorkflowResult, WorkflowWorker
from tests.faults.deployment import Deployment, start, turn
from tests.faults.proxy import TURNS, Exchange, Proxy
from tests.faults.waiting import until

INSTANCES = "/v1/workflows/instances"


@pytest.fixture
def proxy(deployment: Deployment) -> Any:
    with Proxy(deployment.port) as proxy:
        yield proxy


@pytest.fixture
async def client(deployment: Deployment, proxy: Proxy) -> AsyncIterator[AsyncLbbClient]:
    async with deployment.client(proxy.address, retry_delay=0.01) as client:
        yield client


# -- what a client sends -----------------------------------------------------------------------------------------


async def test_create(client: AsyncLbbClient, proxy: Proxy, deployment: Deployment) -> None:
    proxy.lose_reply(INSTANCES)

    await start(client, "i", "job", {"n": 0})

    check_same_twice(proxy, INSTANCES)
    assert deployment.select("select count(*), sum(last_turn) from instance") == [(1, 0)]


async def test_send(client: AsyncLbbClient, proxy: Proxy, deployment: Deployment) -> None:
    handle = await start(client, "i", "job", {"n": 0})
    proxy.lose_reply(INSTANCES + "/message")

    sent = await handle.send({"add": 1}, id="m-1")

    check_same_twice(proxy, INSTANCES + "/message")
    assert sent.number == 1
    assert deployment.select("select message_id from message") == [(b"m-1",)]


async def test_signal(client: AsyncLbbClient, proxy: Proxy, deployment: Deployment) -> None:
    handle = await start(client, "i", "job", {"n": 0})
    await handle.send({"add": 1}, id="m-1")
    proxy.lose_reply(TURNS + "signal")

    await handle.signal("approval", {"ok": True}, turn=1, id="e-1")

    check_same_twice(proxy, TURNS + "signal")
    assert deployment.select("select event_id from signal") == [(b"e-1",)]
    assert deployment.select("select signal_count from turn") == [(1,)]


async def test_blob(client: AsyncLbbClient, proxy: Proxy, deployment: Deployment) -> None:
    """The repeat tells that the bytes were there: that is the one word by which its answer differs."""
    await start(client, "i", "job", {"n": 0})
    proxy.lose_reply("/v1/workflows/blobs")

    blob = await client.workflows.blobs.put(b"bytes", workflow_id="i")

    first, again = [json.loads(exchange.answer) for exchange in proxy.of("/v1/workflows/blobs")]
    assert (first.pop("created"), again.pop("created")) == (True, False)
    assert first == again
    assert again["key"] == blob.key
    assert deployment.select("select count(*) from blob") == [(1,)]


async def test_delete(client: AsyncLbbClient, proxy: Proxy, deployment: Deployment) -> None:
    """`deleted` is true only for the call that removed it, as the protocol says (lbb-engine 3.11)."""
    await (await start(client, "i", "job", {"n": 0})).send(1, id="m-1")
    proxy.lose_reply(INSTANCES + "/delete")

    told = await client.workflow_delete_instance("i")

    first, again = proxy.of(INSTANCES + "/delete")
    assert (first.body, json.loads(first.answer)["deleted"]) == (again.body, True)
    assert told.deleted is False
    for table in ("instance", "turn", "message", "state"):
        assert deployment.select(f"select count(*) from {table}") == [(0,)]


@pytest.mark.parametrize("action", ["pause", "resume", "wake", "retry", "skip", "cancel_turn"])
async def test_control_is_sent_once_and_a_repeat_by_hand_hits_nothing_else(
    client: AsyncLbbClient, proxy: Proxy, deployment: Deployment, action: str
) -> None:
    handle = await failed_instance(client)
    turn_number = (1,) if action in ("retry", "skip", "cancel_turn") else ()
    proxy.lose_reply(INSTANCES + "/control")

    with pytest.raises(httpx.RequestError):
        await getattr(handle, action)(*turn_number)
    (sent,) = proxy.of(INSTANCES + "/control")
    assert (sent.status, sent.was_lost) == (200, True)
    before = deployment.select("select head, pending, completed, paused_at_ms is null from instance")
    if turn_number:
        with pytest.raises(LbbError) as refusal:
            await getattr(handle, action)(*turn_number)
        assert (refusal.value.status_code, refusal.value.code) == (409, "conflict")
    else:
        await getattr(handle, action)()

    assert deployment.select("select head, pending, completed, paused_at_ms is null from instance") == before


async def failed_instance(client: AsyncLbbClient) -> WorkflowHandle:
    """Turn 1 has failed for good and holds the inbox, turn 2 waits behind it."""

    async def broken(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        raise ValueError("broken")

    handle = await start(client, "i", "job", {"n": 0}, max_attempts=1)
    await handle.send(1, id="m-1")
    await handle.send(2, id="m-2")
    assert await run_once(client, broken)
    assert (await handle.status()).status == "failed"
    return handle


# -- what a worker sends -----------------------------------------------------------------------------------------


class Job:
    """A workflow with a step that reports a cursor, and one wait; and how often its parts ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def add(self, ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        async def count(s: Any) -> int:
            self.ran.append(s.effect_id)
            await s.heartbeat({"half": True}, checkpoint={"at": 1})
            return int(message["add"])

        added = await ctx.step("count", count)
        if message.get("nap"):
            await ctx.sleep("nap", 0)
        if message.get("ask"):
            await ctx.wait_for_signal("ask", name="approval", timeout_ms=60_000)
        after = {"n": state["n"] + added}
        return ctx.continue_(after, {"add": 10}) if message.get("more") else WorkflowResult(state=after, result=added)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("route", ["operation", "progress", "checkpoint", "complete"])
async def test_a_workers_request_is_repeated_and_counts_once(
    client: AsyncLbbClient, proxy: Proxy, route: str, times: int
) -> None:
    job = Job()
    handle = await start(client, "i", "job", {"n": 0})
    await handle.send({"add": 1}, id="m-1")
    proxy.lose_reply(TURNS + route, times=times)

    await run_once(client, job.add)

    check_same_twice(proxy, TURNS + route, times)
    done = await turn(client, "i")
    assert (done["status"], done["attempt"], done["result"], len(done["steps"])) == ("completed", 1, 1, 1)
    assert ((await handle.status()).state, len(job.ran)) == ({"n": 1}, 1)


async def test_a_saved_sleep(client: AsyncLbbClient, proxy: Proxy) -> None:
    """Its repeat finds the lease given up, and is known all the same."""
    job = Job()
    await (await start(client, "i", "job", {"n": 0})).send({"add": 1, "nap": True}, id="m-1")
    proxy.lose_reply(TURNS + "checkpoint", meant=is_sleep)

    await run_once(client, job.add)
    await until(lambda: run_once(client, job.add), 10, "the sleep is over")

    first, again = filter(is_sleep, proxy.of(TURNS + "checkpoint"))
    assert (first.body, first.status, again.status) == (again.body, 200, 200)
    done = await turn(client, "i")
    assert (done["status"], done["attempt"], len(done["steps"]), len(job.ran)) == ("completed", 1, 2, 1)


async def test_a_wait_for_a_signal(client: AsyncLbbClient, proxy: Proxy) -> None:
    job = Job()
    handle = await start(client, "i", "job", {"n": 0})
    await handle.send({"add": 1, "ask": True}, id="m-1")
    proxy.lose_reply(TURNS + "wait-signal")

    await run_once(client, job.add)
    await handle.signal("approval", True, turn=1, id="e-1")
    await run_once(client, job.add)

    first, again = proxy.of(TURNS + "wait-signal")
    assert (first.body, first.status, again.status) == (again.body, 200, 200)
    done = await turn(client, "i")
    assert (done["status"], done["attempt"], len(done["steps"]), len(job.ran)) == ("completed", 1, 2, 1)


async def test_a_completion_with_continuation_while_another_message_waits(client: AsyncLbbClient, proxy: Proxy) -> None:
    """Its reply is lost twice: identical bytes, state applied once, one continuation, at the tail."""
    job = Job()
    handle = await start(client, "i", "job", {"n": 0})
    await handle.send({"add": 1, "more": True}, id="m-1")
    await handle.send({"add": 100}, id="m-2")
    proxy.lose_reply(TURNS + "complete", times=2)

    await run_once(client, job.add)
    assert (await handle.status()).state == {"n": 1}
    check_same_twice(proxy, TURNS + "complete", 2)
    while await run_once(client, job.add):
        pass

    turns = [await turn(client, "i", number) for number in (1, 2, 3)]
    assert [shown["message"]["add"] for shown in turns] == [1, 100, 10]
    assert [shown["state_after"]["n"] for shown in turns] == [1, 101, 111]
    assert (turns[0]["continued_to"], len(job.ran), (await handle.status()).pending_messages) == (3, 3, 0)


async def test_a_failure_is_sent_once_and_counts_once(client: AsyncLbbClient, proxy: Proxy) -> None:
    async def broken(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        raise ValueError("broken")

    handle = await start(client, "i", "job", {"n": 0})
    await handle.send({"add": 1}, id="m-1")
    proxy.lose_reply(TURNS + "fail")

    with pytest.raises(httpx.RequestError):
        await run_once(client, broken)
    await handle.resume()  # ends the delay before the second attempt
    await run_once(client, Job().add)

    assert len(proxy.of(TURNS + "fail")) == 1
    done = await turn(client, "i")
    assert (done["status"], done["attempt"]) == ("completed", 2)


# Lost claims and heartbeats cost one attempt of one turn: `test_leases.py`.


def is_sleep(exchange: Exchange) -> bool:
    return bool(exchange.json["kind"] == "sleep")


def check_same_twice(proxy: Proxy, path: str, lost: int = 1) -> None:
    """The request was sent once more than its reply was lost, each time the same, and answered the same."""
    exchanges = proxy.of(path)
    assert [exchange.was_lost for exchange in exchanges] == [True] * lost + [False]
    assert len({exchange.body for exchange in exchanges}) == 1
    assert {exchange.status for exchange in exchanges} == {200}
    assert len({exchange.answer for exchange in exchanges}) == 1, [exchange.answer for exchange in exchanges]


async def run_once(client: AsyncLbbClient, handler: Any) -> bool:
    return await WorkflowWorker(client, [job_workflow(handler)], worker="w").run_once()


def job_workflow(handler: Any) -> WorkflowDefinition:
    return WorkflowDefinition("job", "v1", {"n": 0}, handler)
