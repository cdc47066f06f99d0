"""The store's clock never goes back and never stands still (decision 15)."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnbuckle.store import clock as clocks
from turnbuckle.store.clock import ProcessClock
from turnbuckle.store.database import open_database, write
from turnbuckle.store.transaction import Transaction

HOUR = 3_600_000


class FakeTime:
    """Wall and monotonic time of a machine whose wall clock people set."""

    def __init__(self, wall_ms: int = 1_000_000) -> None:
        self.wall_ms, self.ticks_ms = wall_ms, 0

    def pass_ms(self, milliseconds: int) -> None:
        self.wall_ms += milliseconds
        self.ticks_ms += milliseconds

    def set_wall(self, by_ms: int) -> None:
        self.wall_ms += by_ms

    def time_ns(self) -> int:
        return self.wall_ms * 1_000_000

    def monotonic_ns(self) -> int:
        return self.ticks_ms * 1_000_000


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    made = FakeTime()
    monkeypatch.setattr(clocks, "time", made)
    return made


def test_the_clock_is_the_walls(machine: FakeTime) -> None:
    now = ProcessClock()
    assert now() == 1_000_000
    machine.pass_ms(7)

    assert now() == 1_000_007


def test_a_wall_clock_set_forward_is_followed(machine: FakeTime) -> None:
    now = ProcessClock()
    now()
    machine.set_wall(HOUR)

    assert now() == 1_000_000 + HOUR


@pytest.mark.parametrize("looks", [1, 100])
def test_a_wall_clock_set_back_is_outrun_at_the_pace_of_real_time(machine: FakeTime, looks: int) -> None:
    """A clock that stood still would keep every lease alive for an hour."""
    now = ProcessClock()
    now()
    machine.set_wall(-HOUR)
    for _ in range(looks):
        machine.pass_ms(1_000)
        now()

    assert now() == 1_000_000 + 1_000 * looks


def test_a_wall_clock_that_catches_up_is_followed_again(machine: FakeTime) -> None:
    now = ProcessClock()
    now()
    machine.set_wall(-HOUR)
    machine.pass_ms(10)
    now()
    machine.set_wall(2 * HOUR)

    assert now() == 1_000_010 + HOUR


def test_many_looks_within_a_millisecond_lose_no_time(machine: FakeTime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a wall clock set back: parts of milliseconds add up."""
    now = ProcessClock()
    now()
    machine.set_wall(-HOUR)
    ticks = iter(range(0, 1_000_000_000, 300_000))  # three looks per millisecond
    monkeypatch.setattr(machine, "monotonic_ns", lambda: next(ticks))
    for _ in range(1_000):
        last = now()

    assert last == 1_000_000 + 299


@given(st.lists(st.tuples(st.integers(0, 5_000), st.integers(-HOUR, HOUR)), max_size=30))
def test_whatever_people_do_to_the_wall_time_goes_on(history: list[tuple[int, int]]) -> None:
    machine = FakeTime(10 * HOUR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clocks, "time", machine)
        now = ProcessClock()
        seen = now()
        for passed_ms, set_by_ms in history:
            machine.set_wall(set_by_ms)
            machine.pass_ms(passed_ms)
            later = now()
            assert later >= seen + passed_ms
            seen = later


def test_the_clock_never_goes_back_over_a_restart(machine: FakeTime, tmp_path: Path) -> None:
    """The store keeps the latest time it has given, also one that came after the last write."""
    path, given_ms = str(tmp_path / "turnbuckle.db"), 0
    for step_ms in (5_000, 300, 999, 1_001, 0):
        with contextlib.closing(open_database(path)) as database:
            started_at_ms = database.clock()
            assert started_at_ms >= given_ms
            write(database, lambda tx: tx.now_ms)
            machine.pass_ms(step_ms)
            given_ms = database.clock()
        machine.set_wall(-HOUR)


def test_one_operation_has_one_time(tmp_path: Path) -> None:
    ticks = iter(range(100))
    with contextlib.closing(open_database(str(tmp_path / "turnbuckle.db"), lambda: next(ticks))) as database:

        def look(tx: Transaction) -> bool:
            return tx.now_ms == tx.now_ms

        assert write(database, look)
