"""Users' values: kept as they came, of any content, up to their limits, in every place of the store."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec import Raw

from tests.store.calls import (
    Store,
    begin,
    claimed,
    claimed_turn,
    complete,
    current,
    fail,
    flush,
    get_blob,
    inspect,
    listen,
    plain,
    progress,
    put_blob,
    refused,
    runs,
    save,
    send,
    signal_to,
    start,
)
from tests.tables import dump
from tests.unit.json_values import Json, values
from turnbuckle.wire import limits
from turnbuckle.wire.turn import WorkflowTurnTask

Put = Callable[[Store, WorkflowTurnTask, Any], object]
Get = Callable[[Store], Any]


def _put_progress(store: Store, task: WorkflowTurnTask, value: Any) -> None:
    begin(store, task)
    progress(store, task, 1, value, None)
    flush(store)


def _put_cursor(store: Store, task: WorkflowTurnTask, value: Any) -> None:
    begin(store, task)
    progress(store, task, 1, None, value)


def _operation(store: Store) -> Any:
    return current(store).operation


PLACES: dict[str, tuple[str, int, Put, Get]] = {
    "message": (
        "message",
        limits.MESSAGE_BYTES,
        lambda s, _, v: send(s, v, id="m-2"),
        lambda s: current(s, 2).message,
    ),
    "state": ("state", limits.STATE_BYTES, lambda s, t, v: complete(s, t, v), lambda s: inspect(s).state),
    "continuation": (
        "continuation.message",
        limits.MESSAGE_BYTES,
        lambda s, t, v: complete(s, t, continue_with=v),
        lambda s: current(s, 2).message,
    ),
    "output": (
        "output",
        limits.OUTPUT_BYTES,
        lambda s, t, v: save(s, t, output=v),
        lambda s: current(s).steps[0].output,
    ),
    "signal": (
        "value",
        limits.SIGNAL_BYTES,
        lambda s, _, v: signal_to(s, v),
        lambda s: (current(s).signals or [])[0].value,
    ),
    "cursor": ("checkpoint", limits.CURSOR_BYTES, _put_cursor, lambda s: _operation(s).checkpoint),
    "details": ("details", limits.DETAILS_BYTES, _put_progress, lambda s: _operation(s).details),
}
every_place = pytest.mark.parametrize(("param", "limit", "put", "get"), PLACES.values(), ids=list(PLACES))


@every_place
@pytest.mark.parametrize(
    "spelled",
    [b'"\\u0000"', b'"a\x7f\\u0000b"', b"-0.0", b"1E2", b"123456789012345678901234567890", b'{"b":1, "a":[ ]}', b'""',
     b"null", '"é😀"'.encode(), b'"\\ud83d\\ude00"', b'"\\\\u0000"'],
)  # fmt: skip
def test_a_value_comes_back_byte_for_byte(
    store: Store, param: str, limit: int, put: Put, get: Get, spelled: bytes
) -> None:
    """B054: a NUL in a text was refused late, by one of two databases. B056: the sign of zero was lost."""
    put(store, claimed_turn(store), Raw(spelled))

    assert bytes(get(store)) == spelled


@every_place
def test_a_value_may_be_as_long_as_its_limit_and_no_longer(
    store: Store, param: str, limit: int, put: Put, get: Get
) -> None:
    """B062: an output over the limit was retried for ever, shown as a timeout."""
    task = claimed_turn(store)
    before = dump(store.location)
    for over in (1, 2, limit):
        with refused("payload_too_large", rf"{param}: got {limit + over} bytes, expected at most {limit}") as info:
            put(store, task, Raw(b'"' + b"x" * (limit + over - 2) + b'"'))
        assert info.value.param == param
    if put is not _put_cursor and put is not _put_progress:  # these have begun their step
        assert dump(store.location) == before

    at_limit = b'"' + b"x" * (limit - 2) + b'"'
    put(store, task, Raw(at_limit))

    assert bytes(get(store)) == at_limit


def test_an_initial_state_has_the_same_limit(store: Store) -> None:
    at_limit = Raw(b'"' + b"x" * (limits.STATE_BYTES - 2) + b'"')
    with refused("payload_too_large", f"state: got {limits.STATE_BYTES + 1} bytes"):
        start(store, state=Raw(b'"' + b"x" * (limits.STATE_BYTES - 1) + b'"'))

    assert start(store, state=at_limit).state == at_limit


def test_a_blob_may_be_as_long_as_its_limit_and_no_longer(store: Store) -> None:
    start(store)
    with refused("payload_too_large", f"body: got {limits.BLOB_BYTES + 1} bytes"):
        put_blob(store, b"x" * (limits.BLOB_BYTES + 1))

    data = bytes(range(256)) * (limits.BLOB_BYTES // 256)
    blob = put_blob(store, data)
    assert (blob.bytes, get_blob(store, blob.key)) == (limits.BLOB_BYTES, data)


def test_an_empty_blob_is_a_blob(store: Store) -> None:
    start(store)

    assert get_blob(store, put_blob(store, b"").key) == b""


def test_a_turn_may_hold_64_outputs_of_the_largest_size(store: Store) -> None:
    """B062: ten outputs whose sum is too large."""
    largest = Raw(b'"' + b"x" * (limits.OUTPUT_BYTES - 2) + b'"')
    task = claimed_turn(store)
    for position in range(limits.STEPS_PER_TURN):
        save(store, task, f"s{position}", position, largest)
    store.clock.pass_ms(61_000)

    replayed = claimed(store)

    assert {bytes(step.output) for step in replayed.turn.steps} == {bytes(largest)}


def test_an_origin_has_a_limit_of_its_own(store: Store) -> None:
    start(store)

    with refused("payload_too_large", "origin: got 1[0-9]{3} bytes, expected at most 1024") as info:
        send(store, kind="manual", reason="x" * 1_100)

    assert info.value.param == "origin"
    assert send(store, kind="manual\0", reason="x" * 900, requests=["é\0"]).number == 1


@pytest.mark.parametrize("text", ["\0", "a\0b", "é" * 2_000, "😀\x7f\u2028", "\x1b[31m"])
def test_no_error_text_can_fail_to_be_stored(store: Store, text: str) -> None:
    """B054: the failure report itself could not be stored, so the run hung."""
    task = claimed_turn(store)
    begin(store, task)
    progress(store, task, 1, {"phase": text[:80], "done": 1})

    failed = fail(store, task, text)

    assert failed.error == text[: limits.ERROR_CHARS]
    assert runs(store)[0].error == text[: limits.RUN_ERROR_CHARS]


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=values)
def test_any_value_survives_the_whole_way(store: Store, value: Json) -> None:
    """Message, state, output, signal, result: what a worker reads is what was sent."""
    name = f"i{len(dump(store.location)['instance'])}"
    spelled = Raw(json.dumps(value).encode())
    start(store, name, state=spelled, pair=(name, "v1"))
    send(store, spelled, to=name)
    task = claimed(store, pairs=((name, "v1"),))
    save(store, task, output=spelled)
    done = complete(store, task, spelled, result=spelled, continue_with=spelled)

    seen = [task.state, task.turn.message, done.steps[0].output, done.result, done.state_after]
    assert [plain(one) for one in seen] == [value] * 5
    assert plain(current(store, 2, id=name).message) == value


def test_a_heard_value_is_the_one_that_was_sent(store: Store) -> None:
    listen(store, claimed_turn(store))
    signal_to(store, Raw(b'{ "n" : 1.0 }'))

    assert bytes(claimed(store).turn.steps[0].output) == b'{"received":true,"value":{ "n" : 1.0 }}'
