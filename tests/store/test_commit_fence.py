"""Commits under a turn's fence (lbb-graph 2.7): who lost the turn writes nothing, whoever repeats is answered."""

import pytest

from tests.clock import MovableClock
from tests.store.calls import (
    LEASE_MS,
    Store,
    claimed,
    claimed_turn,
    complete,
    control,
    delete,
    heartbeat,
    lease,
    refused,
    release,
)
from tests.store.graphs import declared, dry, feed, fields, row, write
from tests.tables import dump
from turnbuckle.wire.turn import WorkflowTurnTask


@pytest.fixture
def notes(store: Store) -> Store:
    return declared(store)


def owned_write(store: Store, task: WorkflowTurnTask, key: str, word_count: int = 1) -> object:
    return write(store, key=key, workflow_fence=lease(task), entity_properties=[row("a", word_count=word_count)])


def test_the_holder_of_a_turn_writes(notes: Store) -> None:
    task = claimed_turn(notes)

    owned_write(notes, task, "e/write")

    assert fields(notes, "a") == {"word_count": 1}


def test_a_frozen_worker_that_wakes_after_its_lease_writes_nothing_on_either_path(
    notes: Store, clock: MovableClock
) -> None:
    """Another worker holds the turn: the known key is answered as it was, a new one is refused."""
    frozen = claimed_turn(notes)
    owned_write(notes, frozen, "e/write")
    clock.pass_ms(LEASE_MS + 1)
    claimed_by_another(notes, clock)
    before = dump(notes.location)

    again = owned_write(notes, frozen, "e/write", word_count=2)
    with refused("workflow_fence_lost"):
        owned_write(notes, frozen, "e/other", word_count=2)

    assert again.replayed  # type: ignore[attr-defined]
    assert dump(notes.location) == before
    assert fields(notes, "a") == {"word_count": 1}


def claimed_by_another(store: Store, clock: MovableClock) -> WorkflowTurnTask:
    clock.pass_ms(60_000)  # past the delay before a retry
    return claimed(store, "another")


def test_a_lease_that_ended_is_lost_though_nobody_claimed_the_turn(notes: Store, clock: MovableClock) -> None:
    frozen = claimed_turn(notes)
    clock.pass_ms(LEASE_MS - 1)
    owned_write(notes, frozen, "e/in-time")
    clock.pass_ms(2)

    with refused("workflow_fence_lost"):
        owned_write(notes, frozen, "e/late", word_count=2)

    assert [seq for seq, *_ in feed(notes)] == [1]


def test_a_renewed_lease_still_holds(notes: Store, clock: MovableClock) -> None:
    task = claimed_turn(notes)
    clock.pass_ms(LEASE_MS - 1)
    heartbeat(notes, task)
    clock.pass_ms(2)

    owned_write(notes, task, "e/write")

    assert fields(notes, "a") == {"word_count": 1}


@pytest.mark.parametrize("how", ["complete", "release", "cancel", "delete", "other token", "other turn", "no instance"])
def test_a_turn_that_is_not_held_refuses(notes: Store, how: str) -> None:
    task = claimed_turn(notes)
    fence = lease(task)
    match how:
        case "complete":
            complete(notes, task)
        case "release":
            release(notes, task)
        case "cancel":
            control(notes, "cancel_turn", 1)
        case "delete":
            delete(notes)
        case "other token":
            fence["token"] = "x"
        case "other turn":
            fence["turn"] = 2
        case "no instance":
            fence["workflow_id"] = "nobody"

    with refused("workflow_fence_lost"):
        write(notes, workflow_fence=fence, entity_properties=[row("a", word_count=1)])

    assert feed(notes) == []


def test_a_dry_run_looks_at_no_fence(notes: Store) -> None:
    answer = dry(
        notes,
        workflow_fence={"workflow_id": "nobody", "turn": 1, "token": "x"},
        entity_properties=[row("a", word_count=1)],
    )

    assert answer.entity_properties == 1


def test_the_commit_keeps_the_turn_it_came_from(notes: Store) -> None:
    task = claimed_turn(notes)
    owned_write(notes, task, "e/write")

    (commit,) = dump(notes.location)["graph_commit"]

    assert commit[5:7] == ("a", 1)
