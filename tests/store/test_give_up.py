"""A worker that is known to be gone: its attempts end at once, and count, as with the ends of their leases."""

from tests.clock import MovableClock
from tests.store.calls import Store, claim, claimed_turn, complete, current, refused, save, sleep
from turnbuckle.operations import turn
from turnbuckle.store.database import write

SECOND = 1_000


def give_up(store: Store, worker: str) -> bool:
    return write(store.database, lambda tx: turn.give_up(tx, store.graph_id, worker))


def test_the_turn_of_a_dead_worker_goes_on_elsewhere_with_its_saved_steps(store: Store, clock: MovableClock) -> None:
    task = claimed_turn(store, worker="dead")
    save(store, task)

    give_up(store, "dead")
    clock.pass_ms(SECOND)
    again = claim(store, worker="other")

    assert again is not None
    assert (again.turn.attempt, len(again.turn.steps)) == (2, 1)
    with refused("turn_lease_lost"):
        complete(store, task)


def test_turns_of_other_workers_and_turns_that_sleep_stay(store: Store) -> None:
    task = claimed_turn(store, worker="alive")
    held = current(store)

    give_up(store, "dead")
    assert current(store) == held

    sleep(store, task, 5 * SECOND)
    asleep = current(store)
    give_up(store, "alive")
    assert current(store) == asleep
