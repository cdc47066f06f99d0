"""The trigger `schedule`: what a slot sends, what a pause does to it, and a message by hand (lbb-graph 5.4)."""

from typing import Any

from tests.store.calls import Store, claim, claimed, complete, refused
from tests.store.watch_calls import T_V1, declare, delete, get, message, note, origin, pause, pump, put, run_now
from turnbuckle.wire.limits import HOUR_MS, MINUTE_MS
from turnbuckle.wire.named import NamedWorkflow


def scheduled(store: Store, name: str = "nightly", **settings: Any) -> NamedWorkflow:
    return put(store, {"name": name, "workflow": T_V1, "triggers": [{"schedule": settings or {"every": "1h"}}]})


def next_hour(store: Store) -> int:
    return (store.clock.now_ms // HOUR_MS + 1) * HOUR_MS


def pass_to(store: Store, at_ms: int) -> None:
    store.clock.pass_ms(at_ms - store.clock.now_ms)
    pump(store)


def taken(store: Store) -> dict[str, Any]:
    """The next message, its turn completed."""
    task = claimed(store)
    complete(store, task)
    return message(task)


def test_a_slot_is_one_message_at_its_time(store: Store) -> None:
    scheduled(store)
    slot = next_hour(store)

    pass_to(store, slot - 1)
    assert claim(store) is None
    pass_to(store, slot)

    task = claimed(store)
    assert task.turn.workflow_id == "starter.nightly"
    assert task.turn.message_id == "starter-nightly-1"
    assert message(task) == {
        "type": "schedule",
        "workflow": "nightly",
        "trigger": "schedule",
        "graph": "main",
        "due_at": slot,
        "previous_due_at": None,
        "missed": 0,
        "since_commit_seq": 0,
        "as_of_commit_seq": 0,
        "changed": False,
        "manual": False,
        "origin": {"kind": "schedule", "trigger": "schedule", "due_at_ms": slot},
    }
    assert origin(task) == message(task)["origin"]
    pump(store)
    assert claim(store) is None


def test_a_message_says_what_was_committed_since_the_one_before(store: Store) -> None:
    declare(store)
    scheduled(store)
    first = next_hour(store)
    seq = note(store, "a", text="x")
    pass_to(store, first)
    one = taken(store)
    pass_to(store, first + HOUR_MS)
    two = taken(store)

    assert (one["changed"], one["as_of_commit_seq"], one["previous_due_at"]) == (True, seq, None)
    assert (two["changed"], two["since_commit_seq"], two["previous_due_at"]) == (False, seq, first)


def test_slots_that_pass_while_nobody_looks_are_one_message(store: Store) -> None:
    """A server that was down for a day does not send a day's worth."""
    scheduled(store)
    first = next_hour(store)

    pass_to(store, first + 23 * HOUR_MS + 5)

    assert (taken(store)["missed"], claim(store)) == (23, None)
    assert get(store, "nightly").status.counters == {"sent_messages": 1, "missed": 23}


def test_a_late_slot_is_left_out_when_the_schedule_says_so(store: Store) -> None:
    scheduled(store, every="1h", missed="none")
    first = next_hour(store)

    pass_to(store, first + 30 * MINUTE_MS)
    assert claim(store) is None
    pass_to(store, first + HOUR_MS)

    assert (taken(store)["due_at"], claim(store)) == (first + HOUR_MS, None)
    assert get(store, "nightly").status.counters == {"sent_messages": 1, "missed": 1}


def test_a_pause_holds_the_slots_and_resume_sends_the_last(store: Store) -> None:
    scheduled(store)
    first = next_hour(store)
    pause(store, name="nightly")

    pass_to(store, first + 2 * HOUR_MS)
    assert claim(store) is None
    pause(store, False, name="nightly")
    pump(store)

    sent = taken(store)
    assert (sent["due_at"], sent["missed"]) == (first + 2 * HOUR_MS, 2)


def test_slots_wait_for_room_in_the_window(store: Store) -> None:
    """A workflow that is slower than its schedule gets a full window, then one message that counts what it missed."""
    put(store, {"name": "nightly", "workflow": T_V1, "window": 2, "triggers": [{"schedule": {"every": "1h"}}]})
    first = next_hour(store)

    for hour in range(5):
        pass_to(store, first + hour * HOUR_MS)
    one = taken(store)
    pump(store)
    rest = [taken(store), taken(store)]

    assert one["due_at"] == first
    assert [(m["due_at"], m["missed"]) for m in rest] == [(first + HOUR_MS, 0), (first + 4 * HOUR_MS, 2)]


def test_a_person_gets_a_message_now_beside_the_slots(store: Store) -> None:
    scheduled(store)
    first = next_hour(store)

    assert run_now(store, "nightly")
    assert run_now(store, "nightly")  # a repeat before it went out
    pump(store)

    sent = taken(store)
    assert (sent["manual"], sent["due_at"], sent["origin"]["kind"]) == (True, store.clock.now_ms, "manual")
    assert claim(store) is None
    pass_to(store, first)
    assert (taken(store)["manual"], claim(store)) == (False, None)


def test_other_times_count_from_now_on(store: Store) -> None:
    scheduled(store)
    first = next_hour(store)

    scheduled(store, every="1d")
    pass_to(store, first)

    assert claim(store) is None
    assert get(store, "nightly").triggers[0].next_at_ms is not None


def test_the_slots_to_come_are_shown(store: Store) -> None:
    shown = scheduled(store, cron="30 2 * * *", time_zone="Europe/Berlin", gap="skip").triggers[0]

    assert shown.kind == "schedule"
    assert shown.schedule is not None
    assert (shown.schedule.cron, shown.schedule.gap) == ("30 2 * * *", "skip")
    assert shown.next_at_ms is not None
    assert len(shown.next_at_ms) == 20
    assert shown.next_at_ms[0] > store.clock.now_ms


def test_a_schedule_that_never_comes_is_refused_and_makes_nothing(store: Store) -> None:
    with refused("workflow_param_invalid", "bad day-of-month") as info:
        scheduled(store, cron="0 0 30 2 *")

    assert info.value.param == "triggers[0].schedule.cron"
    with refused("named_workflow_not_found"):
        get(store, "nightly")


def test_a_deleted_schedule_sends_nothing_and_one_made_again_goes_on_counting(store: Store) -> None:
    scheduled(store)
    pass_to(store, next_hour(store))
    taken(store)
    delete(store, "nightly")
    pass_to(store, next_hour(store))
    assert claim(store) is None

    scheduled(store)
    pass_to(store, next_hour(store))

    assert claimed(store).turn.message_id == "starter-nightly-2"
