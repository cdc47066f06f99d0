"""Every mutating request is safe to repeat: its reply was lost, so it is sent again (lbb-engine 4.8)."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw

from tests.store.calls import (
    Store,
    begin,
    bytes_of,
    claim,
    claimed,
    claimed_turn,
    complete,
    current,
    delete,
    fail,
    get_blob,
    heartbeat,
    history,
    inbox,
    inspect,
    listen,
    plain,
    progress,
    put_blob,
    refused,
    save,
    send,
    signal_to,
    sleep,
    start,
)
from tests.tables import dump
from turnbuckle.wire.run import WorkflowRunUsage
from turnbuckle.wire.turn import WorkflowTurnTask

HOUR = 3_600_000
REPEATABLE: dict[str, tuple[Callable[[Store], Any], Callable[[Store, Any], Any]]] = {
    "create": (lambda s: None, lambda s, _: start(s, state={"n": 1})),
    "send": (lambda s: start(s), lambda s, _: send(s, {"add": 2}, kind="manual")),
    "signal": (claimed_turn, lambda s, _: signal_to(s)),
    "signal that is awaited": (lambda s: listen(s, claimed_turn(s)), lambda s, _: signal_to(s)),
    "operation": (claimed_turn, lambda s, task: begin(s, task, heartbeat_timeout_ms=1_000)),
    "checkpoint": (claimed_turn, lambda s, task: save(s, task, output={"a": 1})),
    "sleep": (claimed_turn, lambda s, task: sleep(s, task, 5_000)),
    "wait-signal": (claimed_turn, lambda s, task: listen(s, task)),
    "wait-signal that is heard": (lambda s: _signalled(s), lambda s, task: listen(s, task)),
    "complete": (claimed_turn, lambda s, task: complete(s, task, {"n": 1}, result=[1], continue_with={"page": 2})),
    "blob": (lambda s: start(s), lambda s, _: put_blob(s, b"bytes")),
}


def _signalled(store: Store) -> WorkflowTurnTask:
    task = claimed_turn(store)
    signal_to(store)
    return task


@pytest.mark.parametrize(("prepare", "request_"), REPEATABLE.values(), ids=list(REPEATABLE))
def test_a_request_that_is_sent_again_is_done_once(
    store: Store, prepare: Callable[[Store], Any], request_: Callable[[Store, Any], Any]
) -> None:
    """B012: a blind retry after a lost reply enqueued twice."""
    given = prepare(store)
    first = request_(store, given)
    before = dump(store.location)

    second, third = request_(store, given), request_(store, given)

    after = dump(store.location)
    if "sha256" not in first.__struct_fields__:  # a blob says that it was there already
        assert bytes_of(second) == bytes_of(third) == bytes_of(first)
    assert after == before


def test_a_report_that_is_sent_again_is_done_once(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task, heartbeat_timeout_ms=1_000)
    first = progress(store, task, 1, {"phase": "p", "done": 1}, "cursor")
    before = dump(store.location)
    store.clock.pass_ms(500)

    assert bytes_of(progress(store, task, 1, {"phase": "p", "done": 1}, "cursor")) == bytes_of(first)
    assert dump(store.location) == before


def test_a_begin_that_is_sent_again_restarts_no_deadline(store: Store) -> None:
    task = claimed_turn(store)
    first = begin(store, task, timeout_ms=5_000)
    store.clock.pass_ms(3_000)

    assert bytes_of(begin(store, task, timeout_ms=5_000)) == bytes_of(first)


# -- completion with a continuation, its reply dropped twice -----------------------------------------------------


def test_a_completion_whose_reply_was_dropped_twice_is_applied_once_in_order(store: Store) -> None:
    """While another message waits: identical bytes, state applied once, one continuation at the end of the inbox."""
    task = claimed_turn(store, state={"n": 0})
    send(store, "waits", id="other")

    def sent() -> bytes:
        usage = WorkflowRunUsage(calls=1)
        return bytes_of(complete(store, task, {"n": 1}, result="r", continue_with={"page": 2}, usage=usage))

    first = sent()
    store.clock.pass_ms(10)
    answers = [first, sent(), sent()]

    assert answers == [first] * 3
    assert [(row.turn, row.message_id == "other") for row in inbox(store).messages] == [(2, True), (3, False)]
    assert (plain(inspect(store).state), inspect(store).completed_turns) == ({"n": 1}, 1)
    waiting, continued = claimed(store), None
    assert (plain(waiting.turn.message), plain(waiting.state)) == ("waits", {"n": 1})
    complete(store, waiting, {"n": 2})
    continued = claimed(store)
    assert (plain(continued.turn.message), plain(continued.state)) == ({"page": 2}, {"n": 2})
    assert sent() == first  # also much later, with the next turn running
    assert complete(store, continued, {"n": 3}).status == "completed"
    assert [one.number for one in history(store).turns] == [1, 2, 3]


@pytest.mark.parametrize(
    "change",
    [{"state": 2}, {"result": 2}, {"result": None}, {"continue_with": 2}, {"usage": WorkflowRunUsage(calls=9)}],
    ids=["state", "result", "no result", "continuation", "usage"],
)
def test_another_completion_of_a_completed_turn_is_refused(store: Store, change: dict[str, Any]) -> None:
    """P14: it came from an attempt that lost."""
    task = claimed_turn(store)
    body: dict[str, Any] = {"state": 1, "result": 1, "continue_with": 1}
    complete(store, task, **body)
    before = dump(store.location)

    with refused("turn_lease_lost"):
        complete(store, task, **{**body, **change})

    assert dump(store.location) == before


def test_a_late_completion_is_refused_and_changes_nothing(store: Store) -> None:
    """A worker whose lease ended cannot settle the turn that another worker now holds."""
    late = claimed_turn(store, lease_ms=1_000)
    store.clock.pass_ms(2_000)
    again = claimed(store, "b")

    with refused("turn_lease_lost"):
        complete(store, late)

    assert bytes_of(current(store)) == bytes_of(again.turn)


def test_a_completion_repeated_under_other_spelling_is_a_repeat(store: Store) -> None:
    task = claimed_turn(store)
    first = complete(store, task, Raw(b'{"a":1,"b":[2]}'))

    assert bytes_of(complete(store, task, Raw(b'{ "b" : [2.0], "a" : 1e0 }'))) == bytes_of(first)


# -- what is not repeatable --------------------------------------------------------------------------------------


def test_a_failure_that_is_sent_again_is_told_that_it_lost(store: Store) -> None:
    """P13: the client sends it once and ignores that."""
    task = claimed_turn(store)
    fail(store, task)
    before = dump(store.location)

    with refused("turn_lease_lost"):
        fail(store, task)

    assert dump(store.location) == before


def test_a_delete_that_is_sent_again_says_so(store: Store) -> None:
    start(store)

    assert [delete(store), delete(store), delete(store)] == [True, False, False]


# -- repeats of what gave up the lease ---------------------------------------------------------------------------


@pytest.mark.parametrize("is_later", [False, True])
@pytest.mark.parametrize("park", [lambda s, t: sleep(s, t, 5_000), lambda s, t: listen(s, t)], ids=["sleep", "signal"])
def test_a_parking_request_is_known_again_also_when_the_turn_has_moved_on(
    store: Store, park: Callable[[Store, WorkflowTurnTask], Any], is_later: bool
) -> None:
    """P11: its first try gave up the lease, so the token proves nothing; position and content do."""
    task = claimed_turn(store)
    park(store, task)
    if is_later:
        store.clock.pass_ms(HOUR)
        claimed(store)
    before = dump(store.location)

    assert bytes_of(park(store, task)) == bytes_of(current(store))
    assert dump(store.location) == before


def test_a_lost_token_is_told_that_it_lost_before_anything_else(store: Store) -> None:
    """Not that the order changed: that would send its owner looking for a mistake that is not there."""
    late = claimed_turn(store, lease_ms=1_000)
    store.clock.pass_ms(2_000)
    sleep(store, claimed(store), 5_000, key="z")

    calls: list[Callable[[], object]] = [
        lambda: sleep(store, late, 7_000, key="z"),
        lambda: sleep(store, late, 5_000, key="other"),
        lambda: listen(store, late, key="z"),
        lambda: save(store, late, "z"),
        lambda: begin(store, late, "z"),
        lambda: heartbeat(store, late),
    ]
    for call in calls:
        with refused("turn_lease_lost"):
            call()


def test_a_blob_that_is_put_again_has_the_same_key(store: Store) -> None:
    start(store)
    first, second = put_blob(store, b"bytes"), put_blob(store, b"bytes")

    assert (first.key, first.created, second.created) == (second.key, True, False)
    assert get_blob(store, first.key) == b"bytes"


def test_nothing_is_ready_twice(store: Store) -> None:
    """However often the requests around a turn are repeated."""
    start(store)
    for _ in range(3):
        send(store)
    task = claimed(store)
    assert claim(store) is None
    for _ in range(3):
        complete(store, task)
    for _ in range(3):
        send(store)

    assert (claim(store), inspect(store).completed_turns) == (None, 1)
