"""Signals: early, awaited, late, once (lbb-engine 3.17, 3.18, 4.5)."""

import random

import pytest

from tests.clock import START_MS
from tests.store.calls import (
    Store,
    bytes_of,
    claim,
    claimed,
    claimed_turn,
    complete,
    current,
    fail_for_good,
    inspect,
    listen,
    plain,
    refused,
    save,
    send,
    signal_to,
    sleep,
    start,
)
from tests.tables import dump

HEARD = {"received": True, "value": {"yes": 1}}
TIMED_OUT = {"received": False, "value": None}


def test_an_early_signal_is_taken_at_once_and_the_worker_goes_on(store: Store) -> None:
    task = claimed_turn(store)
    signal_to(store, {"yes": 1})

    heard = listen(store, task, key="approved")

    assert (heard.status, plain(heard.steps[0].output), heard.steps[0].kind) == ("running", HEARD, "signal")
    assert [(one.id, one.consumed_by) for one in heard.signals or []] == [("e-1", "approved")]
    assert complete(store, task).status == "completed"


@pytest.mark.parametrize("when", ["queued", "running", "after a step", "asleep"])
def test_a_signal_is_kept_from_the_first_moment_of_its_turn(store: Store, when: str) -> None:
    """B036: a signal that came before the wait was not seen, and the wait always timed out."""
    start(store)
    send(store)
    if when != "queued":
        task = claimed(store)
        if when == "after a step":
            save(store, task, "s", 0)
        if when == "asleep":
            sleep(store, task, 1_000)
    signal_to(store, {"yes": 1})
    store.clock.pass_ms(1_000)
    if when in ("queued", "asleep"):
        task = claimed(store)

    heard = listen(store, task, position=len(current(store).steps))

    assert plain(heard.steps[-1].output) == HEARD


def test_a_wait_holds_no_worker_and_a_signal_makes_the_turn_ready(store: Store) -> None:
    task = claimed_turn(store)
    waiting = listen(store, task, timeout_ms=60_000)
    assert (waiting.status, plain(waiting.steps[0].output), waiting.ready_at_ms) == ("waiting", None, START_MS + 60_000)
    assert claim(store) is None
    with refused("turn_lease_lost"):
        save(store, task, "s", 1)
    store.clock.pass_ms(5)

    told = signal_to(store, {"yes": 1})

    assert (told.status, plain(told.steps[0].output), told.ready_at_ms) == ("queued", HEARD, START_MS + 5)
    again = claimed(store)
    assert (again.turn.attempt, plain(again.turn.steps[0].output)) == (1, HEARD)


def test_a_timed_out_wait_says_so(store: Store) -> None:
    listen(store, claimed_turn(store), timeout_ms=5_000)
    store.clock.pass_ms(4_999)
    assert claim(store) is None
    store.clock.pass_ms(1)

    assert plain(claimed(store).turn.steps[0].output) == TIMED_OUT


@pytest.mark.parametrize("is_claimed", [False, True])
def test_a_timed_out_wait_stays_timed_out_whatever_comes_later(store: Store, is_claimed: bool) -> None:
    """B042: a signal after the timeout made the wait start again."""
    listen(store, claimed_turn(store), timeout_ms=5_000)
    store.clock.pass_ms(5_000)
    task = claimed(store) if is_claimed else None

    told = signal_to(store, {"yes": 1})

    assert plain(told.steps[0].output) == TIMED_OUT
    assert [one.consumed_by for one in told.signals or []] == [None]
    task = task or claimed(store)
    assert plain(task.turn.steps[0].output) == TIMED_OUT
    assert plain(listen(store, task, position=1, key="again").steps[1].output) == HEARD


def test_no_signal_is_lost_around_the_moment_of_the_wait(store: Store) -> None:
    """B042: a lost wake-up, when the event came while the wait was written. A thousand tries in random order."""
    choose = random.Random(42)
    start(store)
    for number in range(1, 101):
        send(store, id=f"m-{number}")
        task = claimed(store)
        early = choose.random() < 0.5
        for is_signal in (early, not early):
            if is_signal:
                signal_to(store, {"yes": 1}, id=f"e-{number}", turn=number)
            else:
                listen(store, task, timeout_ms=1)
        if not early:
            task = claimed(store)
        assert plain(current(store, number).steps[0].output) == HEARD
        complete(store, task)


def test_another_name_is_no_answer(store: Store) -> None:
    listen(store, claimed_turn(store), "approval")

    told = signal_to(store, name="veto")

    assert (told.status, claim(store)) == ("waiting", None)


def test_two_signals_of_one_name_are_heard_oldest_first(store: Store) -> None:
    """P12. Of one millisecond too: the order of arrival counts."""
    task = claimed_turn(store)
    for number in (1, 2, 3):
        signal_to(store, number, id=f"z-{9 - number}")

    for position in range(3):
        listen(store, task, position=position, key=f"r{position}")

    outputs = [plain(step.output)["value"] for step in current(store).steps]
    assert outputs == [1, 2, 3]
    assert [one.consumed_by for one in current(store).signals or []] == ["r0", "r1", "r2"]


# -- once under its event id -------------------------------------------------------------------------------------


@pytest.mark.parametrize("finished", [False, True])
def test_the_same_event_again_is_answered_and_delivered_once(store: Store, finished: bool) -> None:
    task = claimed_turn(store)
    signal_to(store, {"a": 1, "b": 2})
    if finished:
        complete(store, task)
    before = dump(store.location)

    again = signal_to(store, {"b": 2.0, "a": 1})

    assert bytes_of(again) == bytes_of(current(store))
    assert (len(again.signals or []), dump(store.location)) == (1, before)


@pytest.mark.parametrize("change", [{"value": False}, {"name": "veto"}])
def test_an_event_id_used_for_something_else_is_refused_naming_both(store: Store, change: dict[str, object]) -> None:
    claimed_turn(store)
    signal_to(store)
    before = dump(store.location)

    with refused("conflict", "event id 'e-1' was delivered as signal \"ok\" .value .{32}., now as "):
        signal_to(store, **{"value": True, **change})  # type: ignore[arg-type]

    assert dump(store.location) == before


# -- where it cannot go ------------------------------------------------------------------------------------------


def test_a_signal_to_an_unknown_turn_is_told_at_once(store: Store) -> None:
    """B037: decision 6, a signal addresses one existing turn."""
    claimed_turn(store)

    with refused("turn_not_found", "a has no turn 2; its last turn is 1"):
        signal_to(store, turn=2)


def test_a_signal_to_a_finished_turn_is_refused_and_hits_no_other(store: Store) -> None:
    """A late approval cannot hit the next turn."""
    complete(store, claimed_turn(store, messages=2))
    listen(store, claimed(store))

    with refused("conflict", "turn 1 has finished .completed.; a signal cannot reach it"):
        signal_to(store, turn=1)

    assert current(store, 2).status == "waiting"


def test_a_failed_turn_that_blocks_still_takes_signals_for_its_retry(store: Store) -> None:
    fail_for_good(store, claimed_turn(store))

    assert len(signal_to(store).signals or []) == 1


def test_a_turn_that_waits_in_line_takes_signals(store: Store) -> None:
    task = claimed_turn(store, messages=2)
    signal_to(store, {"yes": 1}, turn=2)
    complete(store, task)

    assert plain(listen(store, claimed(store)).steps[0].output) == HEARD


def test_a_65th_signal_is_refused(store: Store) -> None:
    claimed_turn(store)
    for number in range(64):
        signal_to(store, number, id=f"e-{number}")

    with refused("conflict", "turn 1 already has 64 signals"):
        signal_to(store, id="e-64")
    assert len(signal_to(store, 3, id="e-3").signals or []) == 64


def test_a_stream_of_signals_cannot_keep_a_turn_from_completing(store: Store) -> None:
    """B039: each signal made the server reject the close; it never finished."""
    task = claimed_turn(store)
    for number in range(60):
        signal_to(store, number, id=f"e-{number}")
        if number == 30:
            assert complete(store, task).status == "completed"
            break

    assert inspect(store).status == "idle"
