"""What time alone has decided holds for whoever comes first: a reader, a repeated request, a claim or upkeep.

Each was found by the model test (tests/model).
"""

from collections.abc import Callable

import pytest
from msgspec import json

from tests.clock import START_MS
from tests.store.calls import (
    Store,
    begin,
    bytes_of,
    claimed,
    claimed_turn,
    complete,
    control,
    current,
    fail,
    history,
    inbox_by_type,
    inspect,
    listen,
    refused,
    save,
    settle,
    signal_to,
    sleep,
    start,
)
from turnbuckle.wire.turn import WorkflowTurnTask

HOUR = 3_600_000
SKIPPING = {"messages": 3, "max_attempts": 1, "on_exhausted": "skip", "lease_ms": 2_000}


def _completes(store: Store) -> Callable[[], object]:
    task = claimed_turn(store, **SKIPPING)
    complete(store, task)
    return lambda: complete(store, task)


def _signals(store: Store) -> Callable[[], object]:
    claimed_turn(store, **SKIPPING)
    signal_to(store)
    return lambda: signal_to(store)


def _parks(call: Callable[[Store, WorkflowTurnTask], object]) -> Callable[[Store], Callable[[], object]]:
    def park(store: Store) -> Callable[[], object]:
        task = claimed_turn(store, **SKIPPING)
        call(store, task)
        store.clock.pass_ms(HOUR)
        return lambda: call(store, task)

    return park


@pytest.mark.parametrize(
    "first",
    [_completes, _signals, _parks(lambda s, t: sleep(s, t, 1)), _parks(lambda s, t: listen(s, t, timeout_ms=1))],
    ids=["completion", "signal", "sleep", "wait"],
)
def test_a_repeat_that_finds_an_ended_attempt_leaves_no_turn_stuck(
    store: Store, first: Callable[[Store], Callable[[], object]]
) -> None:
    """It let the failed turn go, but not the instance: no later message of it was ever claimed again."""
    repeat = first(store)
    failing = claimed(store).turn.number if current(store).status != "running" else 1
    store.clock.pass_ms(2_000)

    repeat()

    assert claimed(store).turn.number == failing + 1


def test_a_turn_that_time_lets_go_of_is_history_for_every_reader(store: Store) -> None:
    """Pages of the history and of the inbox, and its end: the moment the lease ended, not when somebody looked."""
    claimed_turn(store, **SKIPPING)
    store.clock.pass_ms(HOUR)

    def everything() -> list[bytes]:
        pages = [history(store), history(store, limit=1), history(store, after=1), inbox_by_type(store)]
        return [bytes_of(one) for one in (*pages, inspect(store))]

    before = everything()
    assert [(one.number, one.finished_at_ms) for one in history(store).turns] == [(1, START_MS + 2_000)]
    assert (inspect(store).pending_messages, inspect(store).history_through) == (2, 1)
    settle(store)

    assert everything() == before


@pytest.mark.parametrize("action", ["resume", "wake"])
def test_a_turn_that_is_ready_keeps_its_place_when_it_is_hurried(store: Store, action: str) -> None:
    """`wake` again and again moved it behind all others."""
    fail(store, claimed_turn(store), retry_at_ms=START_MS + 1_000)
    store.clock.pass_ms(HOUR)

    control(store, action)

    assert current(store).ready_at_ms == START_MS + 1_000


def test_a_begin_with_other_timeouts_is_the_same_begin(store: Store) -> None:
    """P26: under one token the step's time runs since it first began."""
    task = claimed_turn(store)
    first = begin(store, task, timeout_ms=5_000)
    store.clock.pass_ms(3_000)

    assert bytes_of(begin(store, task, timeout_ms=9_000)) == bytes_of(first)


@pytest.mark.parametrize("call", [lambda s, t: sleep(s, t, 5), lambda s, t: listen(s, t)], ids=["sleep", "wait"])
def test_a_lost_token_hears_of_no_conflict_when_it_parks(
    store: Store, call: Callable[[Store, WorkflowTurnTask], object]
) -> None:
    lost = claimed_turn(store, lease_ms=2_000)
    save(store, lost)
    store.clock.pass_ms(2_000)

    with refused("turn_lease_lost"):
        call(store, lost)


def test_another_attempts_equal_completion_is_no_repeat(store: Store) -> None:
    """P14: a repeat is the identical body, and the token is part of it."""
    lost = claimed_turn(store, lease_ms=2_000)
    store.clock.pass_ms(HOUR)
    complete(store, claimed(store), {"n": 1})

    with refused("turn_lease_lost"):
        complete(store, lost, {"n": 1})


def test_on_exhausted_is_absent_while_it_is_block(store: Store) -> None:
    """lbb-engine 3.1."""
    start(store)

    assert "on_exhausted" not in json.decode(bytes_of(inspect(store)))
