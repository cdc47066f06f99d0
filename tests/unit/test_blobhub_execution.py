"""Following a run: its address, waiting, events, stopping, and what is ours (blobhub 4.10)."""

from typing import Any

import httpx
import pytest

from blobhub import CommandError, ServerError, WaitTimeout
from blobhub.types.workflow import Execution
from tests.unit.blobhub_scripted import (
    BLOB,
    ORG,
    REVISION,
    Answer,
    MovedTime,
    Script,
    client_of,
    ok,
    refused,
    revision_of,
)

RECORD = {"id": "e1", "session_id": "s1", "status": "creating"}


def run_of(script: Script, time: MovedTime | None = None, url: str = "http://hub.test/v1", **record: Any) -> Execution:
    return Execution(revision_of(client_of(script, time, url=url)), RECORD | record)


def read(status: str) -> httpx.Response:
    return ok(execution=RECORD | {"status": status})


def page(*events: dict[str, Any], cursor: str | None = None) -> httpx.Response:
    return ok(execution_events=list(events), cursor=cursor)


def event(n: int, at: str = "2026-01-31T09:05:00.000000Z") -> dict[str, Any]:
    return {"id": f"v{n}", "created_at": at, "type": "note", "message": f"{n}"}


# The address.


@pytest.mark.parametrize(
    ("api_url", "server"),
    [
        ("http://127.0.0.1:7400/v1", "http://127.0.0.1:7400"),
        ("https://hub.test/v1/", "https://hub.test"),
        ("https://hub.test/base/v1", "https://hub.test/base"),
        ("https://hub.test/v2", "https://hub.test/v2"),
        ("https://hub.test", "https://hub.test"),
    ],
)
def test_the_address_is_on_the_server_in_use(api_url: str, server: str) -> None:
    run = run_of(Script(), url=api_url)

    assert run.url == f"{server}/{ORG}/{BLOB}/debugger/s1/e1?revision={REVISION}"


def test_every_part_of_the_address_is_encoded() -> None:
    run = run_of(Script(), id="e/1?", session_id="s 1#")

    assert "/debugger/s%201%23/e%2F1%3F?revision=" in run.url


# Reading.


def test_a_run_is_read_again() -> None:
    script = Script(ok(execution=RECORD | {"status": "running", "input_data": []}))
    run = run_of(script)

    assert run.refresh() is run
    assert run.status == "running"
    assert run.record == RECORD | {"status": "running", "input_data": []}
    assert script.bodies == [{"command": "get_execution", "execution_id": "e1"}]


@pytest.mark.parametrize("answer", [{}, {"execution": {"status": "running"}}, {"execution": "e1"}])
def test_an_answer_without_the_run_cannot_be_used(answer: dict[str, Any]) -> None:
    with pytest.raises(ServerError, match="invalid_response"):
        run_of(Script(ok(**answer))).refresh()


@pytest.mark.parametrize("key", ["status", "session_id"])
def test_a_record_without_a_known_key_is_told_when_it_is_asked_for(key: str) -> None:
    record: dict[str, Any] = {key: None}
    run = run_of(Script(), **record)

    with pytest.raises(ServerError, match=key):
        getattr(run, key)


def test_the_whole_log_is_read_to_its_end() -> None:
    """The cursor alone ends it: an empty page with one is not the end."""
    script = Script(page(event(1), event(2), cursor="c1"), page(cursor="c2"), page(event(3)))
    run = run_of(script)

    assert run.events() == [event(1), event(2), event(3)]

    call = {"command": "list_execution_events", "execution_id": "e1", "ascending": True, "limit": 100}
    assert script.bodies == [call, call | {"cursor": "c1"}, call | {"cursor": "c2"}]


def test_a_cursor_that_comes_back_is_an_error_of_the_server() -> None:
    script = Script(page(event(1), cursor="a"), page(event(2), cursor="b"), page(event(3), cursor="a"))

    with pytest.raises(ServerError) as caught:
        run_of(script).events()

    assert (caught.value.error, len(script.requests)) == ("cursor_loop", 3)


# Stopping, and ours.


def test_a_stop_is_asked_for_and_changes_nothing_here() -> None:
    script = Script()
    run = run_of(script, status="running")

    run.stop()

    assert run.status == "running"
    assert script.bodies == [{"command": "stop_execution", "execution_id": "e1"}]


def test_a_stop_of_a_run_that_is_not_running_is_refused() -> None:
    with pytest.raises(CommandError) as caught:
        run_of(Script(refused(400, "invalid_execution_status"))).stop()

    assert caught.value.error == "invalid_execution_status"


@pytest.mark.parametrize("outputs", [None, {}, {"value": {"type": "text", "text": "other"}}])
def test_a_fork_is_a_run_of_its_own(outputs: Any) -> None:
    script = Script(ok(execution={"id": "e2", "session_id": "s1", "status": "creating"}))
    run = run_of(script, status="completed")

    forked = run.fork("c.1.c1", outputs)

    assert (forked.id, forked.status, forked.revision) == ("e2", "creating", run.revision)
    sent: dict[str, Any] = {"command": "fork_execution", "execution_id": "e1", "component_key": "c.1.c1"}
    if outputs is not None:
        sent["outputs"] = [{"route": route, "value": value} for route, value in outputs.items()]
    assert script.bodies == [sent]


def test_a_fork_says_what_else_is_to_differ() -> None:
    script = Script(ok(execution={"id": "e2", "session_id": "s1", "status": "creating"}))

    run_of(script).fork("c.1.c1", route="failure", pause_before=("c2",), dry_run=True)

    more = {"route": "failure", "pause_before": ["c2"], "dry_run": True}
    assert script.bodies == [{"command": "fork_execution", "execution_id": "e1", "component_key": "c.1.c1", **more}]


def test_the_data_of_a_run_is_what_its_components_did() -> None:
    rows = [{"component_key": "c.0.s"}, {"component_key": "c.1.c1", "route": "next"}]
    script = Script(ok(data=rows))

    assert run_of(script).data() == rows
    assert script.bodies == [{"command": "get_execution_data", "execution_id": "e1"}]


def test_a_fork_with_outputs_json_cannot_carry_is_not_sent() -> None:
    script = Script()

    with pytest.raises(TypeError, match="outputs"):
        run_of(script).fork("c.1.c1", {"value": object()})

    assert script.requests == []


def test_a_run_that_stands_is_told_to_go_on() -> None:
    script = Script()

    run_of(script).resume()

    assert script.bodies == [{"command": "continue_execution", "execution_id": "e1"}]


# Waiting.


@pytest.mark.parametrize("status", ["completed", "failed", "stopped"])
def test_a_wait_gives_how_the_run_ended_and_reads_no_events(status: str) -> None:
    time = MovedTime()
    script = Script(read("creating"), read("running"), read("stopping"), read(status))
    run = run_of(script, time)

    assert run.wait() == run.status == status

    assert time.slept == [2.0, 2.0, 2.0]
    assert set(script.commands) == {"get_execution"}


def test_a_wait_that_is_too_long_leaves_the_run_going() -> None:
    time = MovedTime()
    script = Script(read("running"))
    run = run_of(script, time)

    with pytest.raises(WaitTimeout) as caught:
        run.wait(timeout=5, interval=2)

    # The last sleep may go past the end by up to one interval.
    assert time.slept == [2, 2, 2]
    assert (caught.value.error, run.status) == ("wait_timeout", "running")
    assert set(script.commands) == {"get_execution"}
    assert isinstance(caught.value, TimeoutError)


def test_a_wait_of_no_time_looks_once() -> None:
    assert run_of(Script(read("completed"))).wait(timeout=0) == "completed"
    script = Script(read("running"))
    with pytest.raises(WaitTimeout):
        run_of(script).wait(timeout=0)
    assert len(script.requests) == 1


def test_the_default_wait_is_fifteen_minutes() -> None:
    time = MovedTime()

    with pytest.raises(WaitTimeout):
        run_of(Script(read("running")), time).wait()

    assert time.now == 900


def test_events_are_read_before_the_status_and_once_more_at_the_end() -> None:
    script = Script(page(event(1)), read("running"), page(event(1), event(2)), read("completed"), page(event(3)))
    got: list[dict[str, Any]] = []

    assert run_of(script).wait(on_event=got.append) == "completed"

    assert got == [event(1), event(2), event(3)]
    assert script.commands == [
        "list_execution_events", "get_execution", "list_execution_events", "get_execution", "list_execution_events"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("newest", "after"),
    [
        ("2026-01-31T09:05:07.123456Z", "2026-01-31T09:05:02.123456Z"),
        ("2026-01-31T00:00:01.000000Z", "2026-01-30T23:59:56.000000Z"),
        ("2026-01-31T09:05:07Z", "2026-01-31T09:05:02.000000Z"),
        ("2026-01-31T09:05:07.5Z", "2026-01-31T09:05:02.500000Z"),
        ("yesterday", "yesterday"),
        ("2026-01-31T09:05:07+00:00", "2026-01-31T09:05:07+00:00"),
        ("0001-01-01T00:00:01Z", "0001-01-01T00:00:01Z"),
    ],
)
def test_a_later_reading_starts_five_seconds_before_the_newest_event(newest: str, after: str) -> None:
    script = Script(page(event(1, newest)), read("completed"), page())

    run_of(script).wait(on_event=lambda event: None)

    first, _, second = script.bodies
    assert "created_since" not in first
    assert second["created_since"] == after


def test_the_newest_event_counts_wherever_it_came() -> None:
    """A late event with an older time does not move the start back."""
    script = Script(
        page(event(1, "2026-01-31T09:05:09.000000Z"), event(2, "2026-01-31T09:05:06.000000Z")),
        read("completed"),
        page(),
    )

    run_of(script).wait(on_event=lambda event: None)

    assert script.bodies[2]["created_since"] == "2026-01-31T09:05:04.000000Z"


@pytest.mark.parametrize("broken", [{"id": "v1"}, {"created_at": "x"}, {"id": 5, "created_at": "x"},
                                    {"id": "v1", "created_at": None}])  # fmt: skip
def test_an_event_without_id_or_time_cannot_be_followed(broken: dict[str, Any]) -> None:
    got: list[dict[str, Any]] = []
    with pytest.raises(ServerError) as caught:
        run_of(Script(page(event(1), broken), read("running"))).wait(on_event=got.append)

    assert (caught.value.error, got) == ("invalid_response", [event(1)])


@pytest.mark.parametrize("failure", [refused(503), httpx.ReadError("x"), refused(429), httpx.Response(200)])
def test_a_wait_outlives_two_bad_answers_in_a_row(failure: Answer) -> None:
    script = Script(failure, failure, page(event(1)), failure, failure, read("completed"), failure, page())
    got: list[dict[str, Any]] = []

    assert run_of(script).wait(on_event=got.append) == "completed"
    assert got == [event(1)]
