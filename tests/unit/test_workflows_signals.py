"""`WorkflowWorker.run`: its own loop, and the signals that stop it (lbb-engine 5.10)."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lbb import LbbError
from lbb.workflows import WorkflowResult, WorkflowWorker
from tests.unit.workflow_server import Engine, make_task, make_worker, refused

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def kill_process(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def kill_this_thread(number: signal.Signals) -> None:
    signal.pthread_kill(threading.get_ident(), number)


def kill_when_claiming(
    engine: Engine,
    worker: WorkflowWorker,
    *numbers: signal.Signals,
    kill: Callable[[signal.Signals], None] = kill_process,
) -> None:
    """Send these signals to this process once a claim was sent, each after the one before was handled."""

    def is_stopping() -> bool:
        return worker._serving is not None and worker._serving._is_stopping

    def watch() -> None:
        handled: Callable[[], object] = lambda: engine.bodies("claim")
        for number in numbers:
            while not handled():
                time.sleep(0.001)
            kill(number)
            handled = is_stopping

    threading.Thread(target=watch, daemon=True).start()


async def forever(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
    await asyncio.Event().wait()
    return WorkflowResult(state=None)


def test_sigterm_drains_and_the_handlers_before_are_restored() -> None:
    engine = Engine(make_task())
    before = [signal.getsignal(number) for number in SIGNALS]

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.01)
        engine.idle()
        return WorkflowResult(state="finished")

    make_worker(engine, handler).run()

    assert engine.body("complete")["state"] == "finished"
    assert [signal.getsignal(number) for number in SIGNALS] == before


@pytest.mark.parametrize(
    "numbers", [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT,), (signal.SIGTERM, signal.SIGINT)]
)
def test_a_second_sigterm_or_one_sigint_releases_at_once(numbers: Any) -> None:
    engine = Engine(make_task())
    worker = make_worker(engine, forever)
    kill_when_claiming(engine, worker, *numbers)

    worker.run()

    assert engine.routes() == ["claim", "fail"]
    assert "released" in engine.body("fail")["error"]


def test_a_second_sigint_ends_the_process_with_keyboard_interrupt() -> None:
    engine = Engine()
    worker = make_worker(engine, forever)
    kill_when_claiming(engine, worker, signal.SIGINT, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        worker.run()


def test_a_signal_that_another_thread_takes_is_heard() -> None:
    """The loop has nothing to wake it: no turn, no timer, a claim that is not answered."""
    engine = Engine()
    worker = make_worker(engine, forever)
    kill_when_claiming(engine, worker, signal.SIGINT, signal.SIGINT, kill=kill_this_thread)

    with pytest.raises(KeyboardInterrupt):
        worker.run()


def test_what_woke_the_loop_before_is_restored() -> None:
    engine = Engine()
    engine.answer("claim", refused(401))
    before = signal.set_wakeup_fd(-1)

    with pytest.raises(LbbError):
        make_worker(engine, forever).run()

    assert signal.set_wakeup_fd(before) == -1


def test_off_the_main_thread_no_handler_is_installed_and_stop_ends_the_run() -> None:
    engine = Engine()
    worker = make_worker(engine, forever)
    before = [signal.getsignal(number) for number in SIGNALS]
    running = threading.Thread(target=worker.run)
    running.start()
    while not engine.bodies("claim"):
        time.sleep(0.001)
    assert [signal.getsignal(number) for number in SIGNALS] == before

    worker.stop()
    serving = worker._serving  # the claim waits on the other thread's loop; it is answered there
    assert serving is not None
    serving.loop.call_soon_threadsafe(engine.idle)
    running.join(2)

    assert not running.is_alive()


def test_run_raises_the_refusal_of_a_claim() -> None:
    engine = Engine()
    engine.answer("claim", refused(401, "unauthorized"))

    with pytest.raises(LbbError):
        make_worker(engine, forever).run()


def test_one_client_serves_one_loop_after_another() -> None:
    engine = Engine(make_task(), make_task())

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        worker.stop()
        engine.idle()
        return WorkflowResult(state=None)

    worker = make_worker(engine, handler)
    worker.run()
    worker.run()

    assert engine.routes().count("complete") == 2


def test_a_sigterm_that_comes_before_the_loop_runs_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    engine.idle()
    worker = make_worker(engine, forever)
    new_event_loop = asyncio.new_event_loop

    def kill_first() -> asyncio.AbstractEventLoop:
        loop = new_event_loop()
        run_until_complete = loop.run_until_complete

        def run(future: Any) -> Any:
            monkeypatch.undo()
            loop.run_until_complete = run_until_complete  # type: ignore[method-assign]
            os.kill(os.getpid(), signal.SIGTERM)
            return run_until_complete(future)

        loop.run_until_complete = run  # type: ignore[method-assign]
        return loop

    monkeypatch.setattr(asyncio, "new_event_loop", kill_first)
    worker.run()

    assert engine.routes() == []


STUCK = """
    import asyncio, sys, threading, time
    sys.path.insert(0, {root!r})
    from lbb.workflows import WorkflowResult
    from tests.unit.workflow_server import Engine, make_task, make_worker

    engine = Engine(make_task(token="ends"), make_task(token="stuck"))

    async def handler(ctx, state, message):
        if ctx._parts.attempt.task.token == "ends":
            await ctx.step("quick", lambda: time.sleep(0.05))
            return WorkflowResult(state=None)
        print("stuck", flush=True)
        await ctx.step("stuck", lambda: time.sleep(300))

    async def give_late(body):
        if len(engine.bodies("claim")) < 3:
            return await engine._claimed()
        if body["wait_ms"] == 0:
            return {{"task": None}}
        await asyncio.sleep(0.1)
        return {{"task": make_task(token="late")}}

    engine.answer("claim", give_late)
    make_worker(engine, handler, concurrency=3, drain_seconds=0.2).run()
    print(sorted((sent.route, sent.body["token"]) for sent in engine.sent if sent.route in ("complete", "fail")))
    print("claims", engine.routes().count("claim"), flush=True)
"""


def test_the_process_ends_soon_after_the_drain_whatever_a_stuck_sync_step_does() -> None:
    """One turn ends in time, one is stuck in a thread for 300 s, one claim waits at the server."""
    root = str(Path(__file__).parents[2])
    code = textwrap.dedent(STUCK).format(root=root)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "stuck\n"

    process.terminate()
    stopped_at = time.monotonic()
    told = process.stdout.read().splitlines()
    process.wait(5)

    assert told == ["[('complete', 'ends'), ('fail', 'late'), ('fail', 'stuck')]", "claims 3"]
    assert process.returncode == 0
    assert time.monotonic() - stopped_at < 0.2 + 1.0
