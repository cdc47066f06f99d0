"""How runs and sessions of the second API end when much happens at once (decisions 35, 37, 38 and 52)."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.open_store import OpenStore
from tests.store.calls import refused
from tests.store.hub_calls import HubStore, hub_store
from turnbuckle.operations import doctor, upkeep
from turnbuckle.store.database import read, write
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.limits import HOUR_MS


@pytest.fixture
def hub(open_store: OpenStore) -> Any:
    """Whatever the test did, it must have left every row sound."""
    yield hub_store(open_store)
    assert read(open_store.database, doctor.problems) == []


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """All works in threads that begin together: what each gave, or the refusal it met."""
    barrier = threading.Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        barrier.wait(10)
        try:
            return work()
        except HubRefused as refusal:
            return refusal.code

    with ThreadPoolExecutor(len(works)) as threads:
        return [done.result(30) for done in [threads.submit(run, work) for work in works]]


# -- races -------------------------------------------------------------------------------------------------------


def test_a_limit_holds_when_many_come_at_once(hub: HubStore) -> None:
    hub.set_limits(executions_per_session=5)
    session = hub.session()

    answers = at_once(*[lambda: hub.execute(session)] * 12)

    assert answers.count("limit_exceeded") == 7
    assert len(hub.open_runs(session)) == 5
    row = hub.session_row(session)
    assert row is not None
    assert row.executions == 5


def test_no_run_is_left_in_a_session_that_closes_meanwhile(hub: HubStore) -> None:
    session = hub.session()

    answers = at_once(*[lambda: hub.execute(session)] * 6, lambda: hub.close(session), *[hub.claim] * 3)
    hub.clock.pass_ms(5_001)
    hub.settle()

    made = [answer for answer in answers[:6] if answer != "session_not_open"]
    assert all(hub.row(run).status == "stopped" for run in made)
    assert hub.open_runs(session) == []
    closed = hub.session_row(session)
    assert closed is not None
    assert (closed.status, closed.executions) == ("closed", len(made))


def test_one_of_many_gets_an_alias(hub: HubStore) -> None:
    answers = at_once(*[lambda: hub.session("the-one")] * 8)

    assert answers.count("alias_in_use") == 7


def test_a_run_that_is_stopped_as_it_is_claimed_ends_once(hub: HubStore) -> None:
    session = hub.session()
    runs = [hub.execute(session) for _ in range(6)]
    for _ in range(3):
        hub.start()

    at_once(*[lambda run=run: hub.stop(run) for run in runs], *[hub.claim] * 3, lambda: hub.settle())
    hub.clock.pass_ms(5_001)
    hub.settle()

    assert [hub.row(run).status for run in runs].count("stopped") == 3
    stopped = [run for run in runs if hub.row(run).status == "stopped"]
    assert all(hub.row(run).events == 1 for run in stopped)  # flow.exited, once


# -- branches ----------------------------------------------------------------------------------------------------


def test_the_branches_of_a_run_stop_with_it(hub: HubStore) -> None:
    run = hub.execute(hub.session())
    hub.start()
    branches = [hub.branch(run, name) for name in ("b1", "b2")]

    hub.stop(run)
    hub.clock.pass_ms(5_001)
    hub.settle()

    assert hub.row(run).status == "stopped"
    assert all(hub.is_idle(branch) for branch in branches)
    with refused("conflict", "takes no further branches"):
        hub.branch(run, "b3")


def test_a_branch_without_attempts_left_fails_the_run(hub: HubStore) -> None:
    run = hub.execute(hub.session())
    hub.start()
    lost, other = hub.branch(run, "b1"), hub.branch(run, "b2")
    task = hub.claim()
    assert task is not None
    assert task.turn.workflow_id == lost

    hub.clock.pass_ms(HOUR_MS)
    write(hub.database, upkeep.settle)
    hub.settle()

    row = hub.row(run)
    assert (row.status, row.error is not None and b"attempts_exhausted" in row.error) == ("failed", True)
    assert hub.is_idle(other)
    assert hub.is_idle(f"exec.{run}")


# -- deletion ----------------------------------------------------------------------------------------------------


def test_a_deleted_session_leaves_no_row(hub: HubStore) -> None:
    session = hub.session()
    runs = [hub.execute(session) for _ in range(25)]
    for _ in range(5):
        hub.start()

    hub.delete(session)
    hub.clock.pass_ms(5_001)
    hub.settle()

    assert hub.session_row(session) is None
    assert hub.claim() is None
    with pytest.raises(AssertionError):
        hub.row(runs[0])
    assert hub.session() != session


def test_a_session_of_many_runs_closes_piece_by_piece(hub: HubStore) -> None:
    session = hub.session()
    runs = [hub.execute(session) for _ in range(120)]

    hub.close(session)
    closing = hub.session_row(session)
    assert closing is not None
    assert closing.status == "closing"
    hub.settle()

    assert {hub.row(run).status for run in runs} == {"stopped"}
    closed = hub.session_row(session)
    assert closed is not None
    assert closed.status == "closed"
