"""The levers of the suite do what they say: a fault suite whose faults do not happen proves nothing."""

import asyncio
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.faults.clock import MovableClock
from tests.faults.deployment import Deployment, start, turn, until_status
from tests.faults.processes import ROOT, Nursery
from tests.faults.proxy import Proxy
from tests.faults.sink import Effect, Output, Sink, count
from tests.faults.waiting import wait_until

SEND = "/v1/workflows/instances/message"


async def test_a_lost_reply_reached_the_server_and_a_lost_request_did_not(deployment: Deployment) -> None:
    with Proxy(deployment.port) as proxy:
        async with deployment.client(proxy.address, max_retries=0) as client:
            counter = await start(client, "c-1", "mixed", None)
            proxy.lose_request(SEND)
            with pytest.raises(httpx.RequestError):
                await counter.send(1, id="never-heard")
            proxy.lose_reply(SEND)
            with pytest.raises(httpx.RequestError):
                await counter.send(2, id="heard")
            await counter.send(3, id="answered")

        lost, unanswered, answered = proxy.of(SEND)

    assert (lost.status, lost.was_lost) == (None, True)
    assert (unanswered.status, unanswered.was_lost) == (200, True)
    assert (answered.status, answered.was_lost) == (200, False)
    assert deployment.select("select message_id from message order by number") == [(b"heard",), (b"answered",)]


async def test_a_frozen_worker_does_nothing_until_it_is_thawed(deployment: Deployment) -> None:
    worker = deployment.start_worker("w", "mixed", claim_wait_ms=100)
    worker.wait_for_line("worker w starts")
    worker.freeze()
    async with deployment.client() as client:
        counter = await start(client, "c-1", "mixed", {"done": [], "heard": []})
        await counter.send({"label": "a", "steps": 1, "work_ms": 0, "is_sync": True}, id="m-1")
        await asyncio.sleep(0.3)  # nothing can be waited for: nothing must happen
        assert (await turn(client, "c-1"))["status"] in ("queued", "running")
        assert deployment.sink.effects() == []
        worker.thaw()

        await until_status(client, "c-1", "completed")


def test_a_moved_clock_moves_the_servers_time_and_never_back(nursery: Nursery, tmp_path: Path) -> None:
    clock = MovableClock(tmp_path / "clock")
    deployment = Deployment(nursery, tmp_path, clock)
    deployment.start_server()

    def served_at_ms() -> int:
        key = {"authorization": f"Bearer {deployment.key}"}
        body = {"id": "x", "workflow_type": "mixed", "version": "v1"}
        with httpx.Client(base_url=deployment.address, headers=key) as http:
            http.post("/v1/workflows/instances", json=body).raise_for_status()
            http.post("/v1/workflows/instances/delete", json={"workflow_id": "x"}).raise_for_status()
            made: int = http.post("/v1/workflows/instances", json=body).json()["created_at_ms"]
            http.post("/v1/workflows/instances/delete", json={"workflow_id": "x"}).raise_for_status()
            return made

    before = served_at_ms()
    clock.pass_ms(3_600_000)
    ahead = served_at_ms()
    clock.set_ms(-3_600_000)
    after = served_at_ms()

    assert 3_600_000 <= ahead - before < 3_660_000
    assert 0 < after - ahead < 60_000


def test_a_killed_child_and_a_failed_one_tell_their_code(nursery: Nursery, deployment: Deployment) -> None:
    worker = deployment.start_worker("w", "mixed")
    worker.wait_for_line("worker w starts")

    worker.kill()
    failed = deployment.start_worker("", "mixed")

    assert worker.code == -9
    assert failed.wait(20) == 1
    assert "worker is a name that is not empty" in failed.said()


def test_the_nursery_ends_its_children_when_the_tests_end() -> None:
    """However they end: the nursery sees its stdin close, also when the test process is killed."""
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tests.faults.processes import Nursery\n"
        "child = Nursery().start('work', 'w', Path(sys.argv[1]), address='http://127.0.0.1:9', key=None,"
        " folder='.', worker='w', workflows=['mixed'], graph='main')\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, "/dev/null"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as tests:
        assert tests.stdout is not None
        child = Path(f"/proc/{int(tests.stdout.readline())}")
        assert child.exists()

        tests.kill()

        wait_until(lambda: not child.exists(), 10, "the child has ended")


def test_a_step_with_two_ids_or_two_outputs_is_counted(tmp_path: Path) -> None:
    place = ("i", 1, "s")
    same = [Effect(place, "id", "run-1", 1), Effect(place, "id", "run-2", 2)]
    other = [Effect(place, "another id", "run-3", 3)]

    once = count(same, [Output(place, "run-2"), Output(place, "run-2")], {place: "run-2"})
    assert (once.steps, once.resends, once.with_two_effect_ids, once.with_two_outputs) == (1, 1, 0, 0)
    assert count(same + other, []).with_two_effect_ids == 1
    assert count(same, [Output(place, "run-1"), Output(place, "run-2")]).with_two_outputs == 1
    assert count(same, [Output(place, "run-1")], {place: "run-2"}).with_two_outputs == 1


def test_the_sink_keeps_whole_lines_of_several_writers(tmp_path: Path) -> None:
    sink = Sink(tmp_path)
    run = sink.send(("i", 1, "s"), "id")
    (tmp_path / "effects.jsonl").open("a").write('{"place": ["i", 1')  # a line that is just being written

    assert [(effect.effect_id, effect.run) for effect in sink.effects()] == [("id", run)]
    assert sink.times_sent(("i", 1, "s")) == 1
