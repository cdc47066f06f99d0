"""Instances: started, sent to, read, listed, deleted (lbb-engine 3.2 to 3.9, 3.11)."""

from typing import Any

import pytest
from msgspec import Raw

from tests.clock import START_MS
from tests.store.calls import (
    Store,
    bytes_of,
    claimed,
    claimed_turn,
    complete,
    control,
    current,
    delete,
    fail_for_good,
    inbox,
    inbox_by_type,
    inspect,
    instances,
    plain,
    put_blob,
    refused,
    save,
    send,
    signal_to,
    start,
    status,
)
from tests.tables import dump

# -- create ------------------------------------------------------------------------------------------------------


def test_a_new_instance_is_idle_with_its_state(store: Store) -> None:
    made = start(store, state={"n": 0}, lease_ms=5_000, max_attempts=7, on_exhausted="skip")

    assert (made.id, made.workflow_type, made.version, made.status) == ("a", "t", "v1", "idle")
    assert (made.lease_ms, made.max_attempts, made.on_exhausted) == (5_000, 7, "skip")
    assert (plain(made.state), made.pending_messages, made.created_at_ms) == ({"n": 0}, 0, START_MS)


def test_a_state_that_is_left_off_is_null(store: Store) -> None:
    assert plain(start(store).state) is None
    assert bytes_of(start(store, state=None)) == bytes_of(inspect(store))


def test_the_same_creation_again_gives_the_instance_as_it_is_now(store: Store) -> None:
    complete(store, claimed_turn(store, state={"n": 0}), state={"n": 5})

    again = start(store, state=Raw(b'{ "n": 0.0 }'), lease_ms=60_000, max_attempts=3)

    assert (plain(again.state), again.completed_turns) == ({"n": 5}, 1)


@pytest.mark.parametrize(
    ("options", "both"),
    [
        ({"pair": ("other", "v1")}, "it is t@v1, this request says other@v1"),
        ({"pair": ("t", "v2")}, "it is t@v1, this request says t@v2"),
        ({"state": 1}, "started with another state"),
        ({"lease_ms": 1_000}, "lease_ms"),
        ({"max_attempts": 1}, "max_attempts"),
        ({"on_exhausted": "skip"}, "on_exhausted"),
    ],
)
def test_a_second_workflow_under_an_id_in_use_is_refused_and_the_first_goes_on(
    store: Store, options: dict[str, Any], both: str
) -> None:
    """B011: the first run lost its durability when a second, different one was started under its id."""
    task = claimed_turn(store)
    before = dump(store.location)

    with refused("conflict", both):
        start(store, **options)

    assert dump(store.location) == before
    assert complete(store, task).status == "completed"


# -- send --------------------------------------------------------------------------------------------------------


def test_a_message_becomes_the_next_turn(store: Store) -> None:
    start(store)

    one = send(store, {"add": 2}, id="m-1", kind="manual", note="by hand")
    two = send(store, None, id="m-2")

    assert (one.number, one.message_id, one.status, plain(one.message)) == (1, "m-1", "queued", {"add": 2})
    assert one.origin is not None
    assert plain(one.origin) == {"kind": "manual", "note": "by hand"}
    assert (two.number, plain(two.message), two.origin) == (2, None, None)
    assert inspect(store).pending_messages == 2


def test_a_message_id_with_slash_space_and_emoji_is_kept_as_it_came(store: Store) -> None:
    start(store)

    assert send(store, id="../orders/7 😀").message_id == "../orders/7 😀"


def test_the_same_id_again_answers_the_turn_it_admitted_with_its_first_origin(store: Store) -> None:
    start(store)
    send(store, {"add": 2}, kind="manual")
    complete(store, claimed(store), state=2)

    again = send(store, Raw(b'{ "add" : 2.0 }'), kind="schedule")

    assert (again.number, again.status) == (1, "completed")
    assert again.origin is not None
    assert plain(again.origin) == {"kind": "manual"}
    assert inspect(store).pending_messages == 0


def test_the_same_id_with_another_message_is_refused_and_the_first_stays(store: Store) -> None:
    """B082: the second payload was dropped in silence."""
    start(store)
    send(store, {"add": 2}, id="r1")
    before = dump(store.location)

    with refused("conflict", "message id 'r1' was used for turn 1 with another message .content .{32}, now .{32}."):
        send(store, {"add": 3}, id="r1")

    assert dump(store.location) == before


@pytest.mark.parametrize("action", ["pause", None])
def test_a_paused_or_blocked_instance_admits_messages(store: Store, action: str | None) -> None:
    """P6."""
    task = claimed_turn(store)
    if action is None:
        fail_for_good(store, task)
    else:
        control(store, action)

    assert send(store, id="m-2").number == 2


def test_an_unknown_instance_is_told_at_once_for_every_call(store: Store) -> None:
    """B079: a handle to what never existed waited for ever."""
    task = claimed_turn(store)
    delete(store)
    before = dump(store.location)

    for call in (send, inspect, signal_to, current, inbox, lambda s: control(s, "pause"), lambda s: complete(s, task)):
        with refused("instance_not_found", "there is no instance 'a' in this graph"):
            call(store)

    assert dump(store.location) == before


# -- reading -----------------------------------------------------------------------------------------------------


def test_an_instance_shows_its_head_and_what_it_has_done(store: Store) -> None:
    complete(store, claimed_turn(store, messages=3), state={"n": 1})
    save(store, claimed(store), "s")

    shown = inspect(store)

    assert (shown.status, shown.pending_messages, shown.completed_turns, shown.history_through) == ("running", 2, 1, 1)
    assert shown.current_turn is not None
    assert (shown.current_turn.number, [step.key for step in shown.current_turn.steps]) == (2, ["s"])
    assert plain(shown.state) == {"n": 1}


def test_the_inbox_shows_unfinished_turns_oldest_first(store: Store) -> None:
    complete(store, claimed_turn(store))
    for number in (2, 3, 4):
        store.clock.pass_ms(10)
        send(store, "x" * number, id=f"m-{number}")
    claimed(store)

    page = inbox(store, limit=2)
    rest = inbox(store, limit=2, after=page.next_after, payloads=True)

    assert [(row.turn, row.status, row.message_bytes, row.message) for row in page.messages] == [
        (2, "running", 4, None),
        (3, "queued", 5, None),
    ]
    assert (page.pending_messages, page.oldest_received_at_ms, page.newest_received_at_ms, page.next_after) == (
        3,
        START_MS + 10,
        START_MS + 30,
        3,
    )
    assert rest.messages[0].message is not None
    assert ([row.turn for row in rest.messages], plain(rest.messages[0].message), rest.next_after) == (
        [4],
        "xxxx",
        None,
    )


def test_an_empty_inbox_is_an_empty_page(store: Store) -> None:
    start(store)

    page = inbox(store)

    assert (page.messages, page.status, page.oldest_received_at_ms, page.next_after) == ([], "idle", None, None)


def test_inboxes_by_type_show_who_has_work_and_count_all(store: Store) -> None:
    for name in ("a", "b", "c"):
        start(store, name)
    start(store, "d", pair=("t", "v2"))
    start(store, "e", pair=("other", "v1"))
    for name in ("b", "c", "d", "e"):
        send(store, to=name)

    of_type, of_version = inbox_by_type(store), inbox_by_type(store, version="v2")
    first = inbox_by_type(store, limit=2)
    second = inbox_by_type(store, limit=2, after=first.next_after)

    assert ([one.workflow_id for one in of_type.instances], of_type.identities) == (["b", "c", "d"], 4)
    assert ([one.workflow_id for one in of_version.instances], of_version.identities) == (["d"], 1)
    assert [one.workflow_id for one in first.instances + second.instances] == ["b", "c", "d"]
    assert of_type.instances[0].head is not None
    assert (of_type.instances[0].head.message_id, of_type.instances[0].head.message) == ("m-1", None)


def test_a_type_that_no_worker_serves_is_visible_and_burns_no_attempt(store: Store) -> None:
    """B071: a worker that did not know the version retried what it got for ever."""
    start(store, pair=("t", "v2"))
    send(store)

    for _ in range(5):
        with pytest.raises(AssertionError, match="no turn is ready"):
            claimed(store, pairs=(("t", "v1"),))

    shown = inbox_by_type(store, version="v2").instances[0]
    assert (shown.status, shown.pending_messages, shown.head and shown.head.attempt) == ("queued", 1, 0)
    assert claimed(store, pairs=(("t", "v1"), ("t", "v2"))).turn.attempt == 1


def test_the_list_is_by_id_in_pages_and_by_bytes_whatever_the_locale(store: Store) -> None:
    names = ["B", "_", "a", "a.b", "a10", "a2", "b"]
    for name in reversed(names):
        start(store, name)

    first = instances(store, limit=4)
    second = instances(store, limit=4, after=first.next_after)

    assert [one.id for one in first.instances + second.instances] == sorted(names)
    assert (first.next_after, second.next_after) == (sorted(names)[3], None)


def test_the_list_may_be_of_one_type_or_status(store: Store) -> None:
    for name in ("a", "b"):
        start(store, name)
    start(store, "c", pair=("other", "v1"))
    send(store, to="b")

    assert [one.id for one in instances(store, workflow_type="t").instances] == ["a", "b"]
    assert [one.id for one in instances(store, status="queued").instances] == ["b"]
    assert [one.id for one in instances(store, workflow_type="t", status="idle").instances] == ["a"]


# -- delete ------------------------------------------------------------------------------------------------------


def test_a_deleted_instance_leaves_nothing_but_its_blobs(store: Store) -> None:
    """And its neighbours as they were."""
    start(store, "b")
    before = dump(store.location)
    task = claimed_turn(store, messages=2)
    save(store, task)
    signal_to(store)
    complete(store, task, result={"n": 1})
    put_blob(store, b"bytes")

    assert (delete(store), delete(store)) == (True, False)

    after = dump(store.location)
    assert len(after.pop("blob")) == 1
    assert after == {table: rows for table, rows in before.items() if table != "blob"}


def test_the_holder_of_a_deleted_instance_learns_it_at_its_next_call(store: Store) -> None:
    task = claimed_turn(store)
    delete(store)

    with refused("instance_not_found"):
        save(store, task)


def test_a_recreated_instance_has_other_effect_ids_and_no_old_token(store: Store) -> None:
    """An effect of its former life is never taken for a new one."""
    old = claimed_turn(store)
    delete(store)
    new = claimed_turn(store)

    assert new.effect_prefix != old.effect_prefix
    with refused("turn_lease_lost"):
        complete(store, old)


# -- status ------------------------------------------------------------------------------------------------------


def test_the_status_counts_running_turns_and_never_falls(store: Store) -> None:
    empty = status(store)
    task = claimed_turn(store)
    running = status(store)
    complete(store, task)
    done = status(store)

    assert (empty.active_runs, running.active_runs, done.active_runs) == (0, 1, 0)
    assert 0 == empty.local_sequence < running.local_sequence < done.local_sequence
    assert (done.enabled, done.archived_sequence) == (True, done.local_sequence)
