"""The trigger `stream`: events taken once, in batches, in order of their key (lbb-graph 5.4)."""

import json
from functools import partial
from typing import Any

import msgspec
import pytest

from tests.store.calls import Store, claim, claimed, complete, get_blob, refused
from tests.store.watch_calls import T_V1, delete, get, message, pause, pump, put, run_now
from turnbuckle.operations import stream
from turnbuckle.operations import watch as watches
from turnbuckle.store.database import read, write
from turnbuckle.wire import limits
from turnbuckle.wire.named import NamedWorkflow
from turnbuckle.wire.stream import (
    WorkflowStreamEventsQuery,
    WorkflowStreamEventsRequest,
    WorkflowStreamEventsResponse,
)


def streaming(store: Store, *, shards: int = 1, window: int = 4, **settings: Any) -> NamedWorkflow:
    body = {"name": "clicks", "workflow": T_V1, "shards": shards, "window": window}
    return put(store, {**body, "triggers": [{"stream": settings}]})


def send(store: Store, *events: Any, name: str = "clicks") -> WorkflowStreamEventsResponse:
    """Events by their id, or as they are."""
    asked = [event if isinstance(event, dict) else {"id": event} for event in events]
    body = msgspec.json.decode(json.dumps({"events": asked}), type=WorkflowStreamEventsRequest)
    query = WorkflowStreamEventsQuery(name=name)
    return write(store.database, lambda tx: stream.send_events(tx, store.graph_id, query, body))


def batches(store: Store) -> list[list[Any]]:
    """The events of the messages that are ready, each turn completed."""
    pump(store)
    found = []
    while (task := claim(store)) is not None:
        sent = message(task)
        events = json.loads(get_blob(store, sent["blob"]))
        assert (sent["type"], sent["count"]) == ("events", len(events))
        found.append(events)
        complete(store, task)
        pump(store)
    return found


def ids(found: list[list[Any]]) -> list[list[str]]:
    return [[event["id"] for event in batch] for batch in found]


def test_a_full_batch_goes_at_once_and_the_rest_after_its_wait(store: Store) -> None:
    streaming(store, batch=2, wait_ms=1_000)

    answer = send(store, "a", "b", "c")

    assert (answer.accepted, answer.duplicates, answer.pending) == (3, 0, 3)
    assert ids(batches(store)) == [["a", "b"]]
    store.clock.pass_ms(1_000)
    assert ids(batches(store)) == [["c"]]
    assert get(store, "clicks").status.pending == 0


def test_an_event_arrives_as_it_was_sent(store: Store) -> None:
    event = {"id": "e/1", "key": "k", "type": "click", "time": "2026-11-29T10:00:00Z", "data": {"x": [1, "é\u0000"]}}
    streaming(store, wait_ms=0)

    send(store, event)
    pump(store)
    task = claimed(store)

    sent = message(task)
    assert json.loads(get_blob(store, sent["blob"])) == [event]
    assert sent == {
        "type": "events",
        "workflow": "clicks",
        "trigger": "stream",
        "graph": "main",
        "shard": 0,
        "blob": sent["blob"],
        "count": 1,
        "bytes": len(get_blob(store, sent["blob"])),
        "first_received_at": store.clock.now_ms,
        "last_received_at": store.clock.now_ms,
        "origin": {"kind": "events", "trigger": "stream"},
    }


def test_an_id_is_taken_once_a_day(store: Store) -> None:
    streaming(store, wait_ms=0)
    send(store, "a", "a", "b")
    assert ids(batches(store)) == [["a", "b"]]

    again = send(store, "a", "c")
    store.clock.pass_ms(limits.EVENT_KNOWN_MS)
    later = send(store, "a")

    assert (again.accepted, again.duplicates) == (1, 1)
    assert (later.accepted, later.duplicates) == (1, 0)
    assert ids(batches(store)) == [["c", "a"]]


def test_events_of_one_key_reach_one_shard_in_order(store: Store) -> None:
    streaming(store, shards=4, batch=3, wait_ms=0)
    sent = [{"id": f"{key}{n}", "key": key} for n in range(5) for key in "abcdef"]

    send(store, *sent)

    seen: dict[str, list[tuple[str, int]]] = {}
    pump(store)
    while (task := claim(store)) is not None:
        for event in json.loads(get_blob(store, message(task)["blob"])):
            seen.setdefault(event["key"], []).append((task.turn.workflow_id, int(event["id"][1:])))
        complete(store, task)
        pump(store)
    assert {key: [n for _, n in found] for key, found in seen.items()} == {key: [0, 1, 2, 3, 4] for key in "abcdef"}
    assert all(len({shard for shard, _ in found}) == 1 for found in seen.values())
    assert len({found[0][0] for found in seen.values()}) > 1


def test_batches_wait_for_room_in_the_window(store: Store) -> None:
    streaming(store, window=1, batch=1, wait_ms=0)
    send(store, "a", "b")

    pump(store)
    first = claimed(store)
    pump(store)

    assert claim(store) is None
    assert get(store, "clicks").status.pending == 1
    complete(store, first)
    assert ids(batches(store)) == [["b"]]


@pytest.mark.parametrize(
    ("settings", "code"),
    [({"pending_max": 3}, "workflow_stream_full"), ({"rate_per_minute": 3}, "workflow_stream_rate_limited")],
)
def test_a_request_that_does_not_fit_is_refused_whole(store: Store, settings: dict[str, Any], code: str) -> None:
    streaming(store, **settings)
    send(store, "a", "b")

    with refused(code):
        send(store, "c", "d")

    assert send(store, "a", "c").pending == 3  # a repeat counts for nothing


def test_a_rate_counts_the_last_minute(store: Store) -> None:
    streaming(store, rate_per_minute=2)
    send(store, "a", "b")
    with refused("workflow_stream_rate_limited"):
        send(store, "c")

    store.clock.pass_ms(limits.MINUTE_MS)

    assert send(store, "c").accepted == 1


def test_run_now_sends_what_waits(store: Store) -> None:
    streaming(store, wait_ms=limits.HOUR_MS)
    send(store, "a")
    assert ids(batches(store)) == []

    run_now(store, "clicks")

    assert ids(batches(store)) == [["a"]]


def test_a_paused_stream_takes_events_and_sends_them_when_it_goes_on(store: Store) -> None:
    streaming(store, wait_ms=0)
    pause(store, name="clicks")
    send(store, "a")
    assert ids(batches(store)) == []

    pause(store, False, name="clicks")

    assert ids(batches(store)) == [["a"]]


def test_another_number_of_shards_needs_a_stream_in_which_nothing_waits(store: Store) -> None:
    streaming(store, wait_ms=limits.HOUR_MS)
    send(store, "a")

    with refused("workflow_shards_busy"):
        streaming(store, shards=2, wait_ms=limits.HOUR_MS)


def test_only_a_stream_takes_events(store: Store) -> None:
    put(store, {"name": "nightly", "workflow": T_V1, "triggers": [{"schedule": {"every": "1h"}}]})

    with refused("workflow_param_invalid", "set off by its schedule"):
        send(store, "a", name="nightly")
    with refused("named_workflow_not_found"):
        send(store, "a", name="nobody")


def test_an_event_that_is_too_large_is_named(store: Store) -> None:
    streaming(store)

    with refused("payload_too_large") as info:
        send(store, "a", {"id": "b", "data": "x" * limits.EVENT_BYTES})

    assert info.value.param == "events[1].data"
    assert get(store, "clicks").status.pending == 0


def test_a_deleted_stream_leaves_no_events(store: Store) -> None:
    streaming(store, wait_ms=limits.HOUR_MS)
    send(store, *[f"e{n}" for n in range(20)])
    delete(store, "clicks")

    while write(store.database, watches.clear_old_queue):
        pass

    streaming(store, wait_ms=0)
    assert send(store, "e1").accepted == 1
    assert ids(batches(store)) == [["e1"]]


def test_ids_that_are_no_longer_told_apart_are_forgotten(store: Store) -> None:
    streaming(store, wait_ms=0)
    send(store, "a", "b")
    batches(store)
    store.clock.pass_ms(limits.EVENT_KNOWN_MS + 1)

    write(store.database, stream.forget_old)

    rows = read(store.database, partial(_events, store))
    assert rows == 0


def _events(store: Store, tx: Any) -> int:
    return int(tx._connection.execute("select count(*) from stream_event").fetchone()[0])
