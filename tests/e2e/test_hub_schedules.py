"""Schedules over HTTP, and what upkeep fires when its time comes (blobhub 7.1)."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from tests.clock import START_MS, MovableClock
from tests.e2e.hub_api import OTHERS, READER, WRITER, Hub, new_id, refusal, taken
from turnbuckle.http.hub.commands import TABLE
from turnbuckle.hub.moment import milli_iso
from turnbuckle.hub_keeper import HubKeeper
from turnbuckle.operations import hub_blob
from turnbuckle.store import hub_blob as blobs
from turnbuckle.store import hub_schedule as schedules
from turnbuckle.store.database import write
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_channel import SCHEDULER_BLOB
from turnbuckle.wire.limits import DAY_MS, HOUR_MS, MINUTE_MS

PLACE = {"org": "acme", "blob": "support-bot", "revision": "default", "session": "nightly"}


class Scheduler:
    """The draft of the scheduler blob `acme/timer`, beside a definition and a session of `acme/support-bot`."""

    def __init__(self, hub: Hub, revision_id: str, clock: MovableClock) -> None:
        self.hub, self.revision_id, self._clock = hub, revision_id, clock

    async def ask(self, channel: str, command: str, key: str = WRITER, **args: Any) -> Any:
        return await self.hub.data(channel, command, key, self.revision_id, **args)

    async def query(self, command: str, **args: Any) -> dict[str, Any]:
        return taken(await self.ask("query", command, **args))

    async def command(self, command: str, **args: Any) -> dict[str, Any]:
        return taken(await self.ask("command", command, **args))

    async def refused(self, command: str, **args: Any) -> tuple[int, str]:
        return refusal(await self.ask("command", command, **args))

    async def create(self, **changed: Any) -> dict[str, Any]:
        made: dict[str, Any] = (await self.command("create_schedule", **given(**changed)))["schedule"]
        return made

    async def fires(self, schedule: dict[str, Any]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.query("list_executions", schedule_id=schedule["id"]))["executions"]
        return found

    async def get(self, schedule: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = (await self.query("get_schedule", schedule_id=schedule["id"]))["schedule"]
        return found

    async def pass_ms(self, milliseconds: int) -> None:
        """Time passes, and upkeep looks."""
        self._clock.pass_ms(milliseconds)
        await HubKeeper(self.hub.api.app.store).fire()

    async def runs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.hub.query("list_executions", session_id="nightly"))["executions"]
        return found


def given(**changed: Any) -> dict[str, Any]:
    """A schedule of each full hour; None takes a field out."""
    fields: dict[str, Any] = {
        "alias": "each-hour",
        "repeat": "recurring_cron",
        "cron_expression": "0 * * * ? *",
        "timezone": "UTC",
        "invocation_target_type": "workflow",
        "invocation_target": target(),
    }
    return {name: value for name, value in (fields | changed).items() if value is not None}


def target(workflow: dict[str, Any] | None = None, input_data: Any = None, **place: Any) -> dict[str, Any]:
    named = {name: value for name, value in (PLACE | place).items() if value is not None}
    made = {"target": named, "workflow": workflow or {"definition": "answer-question"}}
    return made if input_data is None else {**made, "input_data": input_data}


@pytest.fixture
async def scheduler(hub: Hub, clock: MovableClock) -> Scheduler:
    def make(tx: Transaction) -> str:
        org = blobs.org(tx, hub.graph_id, hub.org_id)
        assert org is not None
        return hub_blob.create_blob(tx, org, "timer", SCHEDULER_BLOB)[1].revision_id

    revision_id = await asyncio.to_thread(write, hub.api.store.database, make)
    await hub.definition()
    await hub.session("nightly")
    return Scheduler(hub, revision_id, clock)


# -- the record --------------------------------------------------------------------------------------------------


async def test_a_schedule_is_read_as_it_was_made(scheduler: Scheduler) -> None:
    inputs = [{"alias": "question", "value": {"type": "float", "float": 1.5}}]
    made = await scheduler.create(description="each hour", invocation_target=target(input_data=inputs))

    assert made == {
        **given(description="each hour", invocation_target=target(input_data=inputs)),
        "id": made["id"],
        "revision_id": scheduler.revision_id,
        "enabled": True,
        "state": "active",
        "next_invocation_at": milli_iso(START_MS + HOUR_MS),
        "created_at": milli_iso(START_MS),
        "updated_at": milli_iso(START_MS),
    }
    assert await scheduler.get(made) == made
    assert (await scheduler.query("list_schedules"))["schedules"] == [made]


async def test_a_pinned_revision_keeps_the_sessions_id(scheduler: Scheduler) -> None:
    made = await scheduler.create(invocation_target=target(revision=scheduler.hub.revision_id))

    session = (await scheduler.hub.query("get_session", session_id="nightly"))["session"]["id"]
    assert made["invocation_target"]["target"]["session"] == session


async def test_schedules_come_in_pages_newest_first(scheduler: Scheduler) -> None:
    made = [(await scheduler.create(alias=f"number-{n:02}"))["id"] for n in range(12)]

    first = await scheduler.query("list_schedules")
    last = await scheduler.query("list_schedules", start_schedule_id=first["last_schedule_id"])

    assert [one["id"] for one in first["schedules"] + last["schedules"]] == made[::-1]
    assert (len(first["schedules"]), last["last_schedule_id"]) == (10, None)


async def test_a_change_moves_the_next_time(scheduler: Scheduler) -> None:
    made = await scheduler.create()

    async def changed(**fields: Any) -> dict[str, Any]:
        answer = await scheduler.command("update_schedule", schedule_id=made["id"], **fields)
        assert await scheduler.get(made) == answer["schedule"]
        found: dict[str, Any] = answer["schedule"]
        return found

    assert (await changed(enabled=False))["next_invocation_at"] is None
    assert (await changed(enabled=True))["next_invocation_at"] == made["next_invocation_at"]
    moved = await changed(cron_expression="30 * * * ? *", description="half past", alias="half-past")
    assert moved["next_invocation_at"] == milli_iso(START_MS + 30 * MINUTE_MS)
    assert "description" not in await changed(description="")
    once = await changed(repeat="one_time", invocation_time="2027-01-16T08:00:00")
    assert "cron_expression" not in once
    assert once["next_invocation_at"] == milli_iso(START_MS + DAY_MS)


async def test_a_deleted_schedule_is_gone(scheduler: Scheduler) -> None:
    made = await scheduler.create()
    await scheduler.pass_ms(HOUR_MS)

    await scheduler.command("delete_schedule", schedule_id=made["id"])
    await scheduler.pass_ms(HOUR_MS)

    assert len(await scheduler.runs()) == 1
    for command in ("get_schedule", "list_executions"):
        assert refusal(await scheduler.ask("query", command, schedule_id=made["id"])) == (403, "access_denied")
    for command in ("update_schedule", "delete_schedule"):
        assert await scheduler.refused(command, schedule_id=made["id"]) == (403, "access_denied")
    assert await scheduler.hub.rows("hub_schedule_fire") == []


# -- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "changed"),
    [
        ((400, "invalid_request_body"), {"alias": "short"}),
        ((400, "invalid_request_body"), {"cron_expression": "0 * * * *"}),
        ((400, "invalid_request_body"), {"timezone": "Europe/Nowhere"}),
        ((400, "invalid_request_body"), {"timezone": None}),
        ((400, "invalid_request_body"), {"repeat": "rate"}),
        ((400, "invalid_request_body"), {"repeat": "one_time", "cron_expression": None}),
        ((400, "invalid_request_body"), {"invocation_time": "2027-02-01T00:00"}),
        ((400, "invalid_request_body"), {"description": "x" * 257}),
        ((400, "invalid_request_body"), {"invocation_target_type": "http"}),
        ((400, "invalid_request_body"), {"surprise": 1}),
        ((400, "invalid_request_body"), {"invocation_target": target(input_data=[{"alias": "a", "value": {}}])}),
        ((400, "invalid_request_body"), {"invocation_target": target(session=" " * 3)}),
        ((400, "invalid_invocation_target"), {"invocation_target": target(org=None)}),
        ((400, "invalid_invocation_target"), {"invocation_target": target(session=new_id())}),
        ((400, "invalid_invocation_target"), {"invocation_target": target({"definition": new_id()})}),
        ((400, "invalid_invocation_target"), {"invocation_target": target(blob="timer")}),
        ((403, "access_denied"), {"invocation_target": target(blob="nobody-knows")}),
        ((403, "access_denied"), {"invocation_target": target(revision=new_id())}),
        ((403, "access_denied"), {"invocation_target": target(session="nobody-knows")}),
        ((403, "access_denied"), {"invocation_target": target({"definition": "nobody-knows"})}),
    ],
)
async def test_a_schedule_that_cannot_be_is_refused(
    scheduler: Scheduler, expected: tuple[int, str], changed: dict[str, Any]
) -> None:
    assert await scheduler.refused("create_schedule", **given(**changed)) == expected
    assert await scheduler.hub.rows("hub_schedule") == []


async def test_a_taken_alias_and_a_full_revision_are_refused(scheduler: Scheduler) -> None:
    await scheduler.create()
    other = await scheduler.create(alias=None)

    assert await scheduler.refused("create_schedule", **given()) == (400, "alias_in_use")
    renamed = {"schedule_id": other["id"], "alias": "each-hour"}
    assert await scheduler.refused("update_schedule", **renamed) == (400, "alias_in_use")
    for n in range(48):
        await scheduler.create(alias=f"number-{n:02}")
    answer = await scheduler.ask("command", "create_schedule", **given(alias="too-many"))
    assert refusal(answer) == (400, "limit_exceeded")
    assert answer.json()["limit"] == {"id": "scheduler.schedules_per_revision", "value": 50, "held": 50}


async def test_only_a_writer_of_both_blobs_makes_one(scheduler: Scheduler) -> None:
    for key in (READER, OTHERS):
        assert await scheduler.refused("create_schedule", key=key, **given()) == (403, "access_denied")
    assert refusal(await scheduler.ask("query", "list_schedules", OTHERS)) == (403, "access_denied")
    taken(await scheduler.ask("query", "list_schedules", READER))


async def test_each_type_of_blob_has_its_own_commands(scheduler: Scheduler) -> None:
    assert await scheduler.refused("create_session") == (400, "unknown_command")
    assert await scheduler.hub.refused("create_schedule", **given()) == (400, "unknown_command")


async def test_a_committed_revision_is_no_target(scheduler: Scheduler) -> None:
    taken(await scheduler.hub.ask("POST", f"revisions/{scheduler.hub.revision_id}/commit", json={}))

    assert await scheduler.refused("create_schedule", **given()) == (400, "invalid_invocation_target")


# -- firing ------------------------------------------------------------------------------------------------------


async def test_a_schedule_starts_its_execution_each_time(scheduler: Scheduler) -> None:
    inputs = [{"alias": "question", "value": {"type": "text", "text": "again?"}}]
    made = await scheduler.create(invocation_target=target(input_data=inputs))

    await scheduler.pass_ms(HOUR_MS - 1)
    assert await scheduler.runs() == []
    await scheduler.pass_ms(1)
    await scheduler.pass_ms(MINUTE_MS)
    await scheduler.pass_ms(HOUR_MS)

    runs, fires = await scheduler.runs(), await scheduler.fires(made)
    assert [run["input_data"] for run in runs] == [inputs, inputs]
    assert [fire["result"]["execution_id"] for fire in fires] == [run["id"] for run in runs]
    assert runs[1]["trigger"] == {
        "type": "schedule",
        "schedule_id": made["id"],
        "schedule_execution_id": fires[1]["id"],
    }
    assert fires[1] == {
        "id": fires[1]["id"],
        "schedule_id": made["id"],
        "created_at": milli_iso(START_MS + HOUR_MS),
        "invocation_target_type": "workflow",
        "invocation_target": made["invocation_target"],
        "status": "success",
        "result": {"execution_id": runs[1]["id"], "session_id": runs[1]["session_id"]},
    }
    assert (await scheduler.get(made))["next_invocation_at"] == milli_iso(START_MS + 3 * HOUR_MS)


async def test_what_it_started_runs(scheduler: Scheduler) -> None:
    await scheduler.create()
    await scheduler.pass_ms(HOUR_MS)

    lease = await scheduler.hub.held((await scheduler.runs())[0]["id"])
    await scheduler.hub.completed(lease)

    assert (await scheduler.runs())[0]["status"] == "completed"


async def test_times_that_passed_unseen_become_one_fire(scheduler: Scheduler) -> None:
    made = await scheduler.create()

    await scheduler.pass_ms(5 * HOUR_MS + 1)

    assert len(await scheduler.runs()) == 1
    assert (await scheduler.get(made))["next_invocation_at"] == milli_iso(START_MS + 6 * HOUR_MS)


async def test_one_time_and_a_window_end(scheduler: Scheduler) -> None:
    once = await scheduler.create(
        alias="only-once",
        repeat="one_time",
        cron_expression=None,
        invocation_time="2027-01-15T10:00",
        timezone="Europe/Berlin",
    )
    window = await scheduler.create(end_date="2027-01-15T09:30:00Z")

    await scheduler.pass_ms(HOUR_MS)
    await scheduler.pass_ms(HOUR_MS)

    assert len(await scheduler.runs()) == 2
    for schedule in (once, window):
        assert (await scheduler.get(schedule))["state"] == "completed"
        refused = await scheduler.refused("update_schedule", schedule_id=schedule["id"], enabled=False)
        assert refused == (400, "invalid_request_body")


async def test_a_disabled_schedule_does_not_fire(scheduler: Scheduler) -> None:
    made = await scheduler.create(enabled=False)

    await scheduler.pass_ms(HOUR_MS)

    assert await scheduler.runs() == []
    assert (await scheduler.get(made))["state"] == "active"


async def test_a_refused_execution_is_recorded_and_the_schedule_goes_on(scheduler: Scheduler) -> None:
    made = await scheduler.create()
    await scheduler.hub.command("close_session", session_id="nightly")
    await scheduler.pass_ms(HOUR_MS)
    await scheduler.hub.command("open_session", session_id="nightly")
    await scheduler.pass_ms(HOUR_MS)
    await scheduler.hub.command("delete_session", session_id="nightly")
    await scheduler.pass_ms(HOUR_MS)

    fires = await scheduler.fires(made)

    assert [fire["status"] for fire in fires] == ["access_error", "success", "invocation_error"]
    assert [fire["result"].get("error") for fire in fires] == ["access_denied", None, "session_not_open"]
    assert (await scheduler.get(made))["state"] == "active"


async def test_a_schedule_whose_target_went_can_still_be_switched_off(scheduler: Scheduler) -> None:
    made = await scheduler.create()
    await scheduler.hub.command("delete_session", session_id="nightly")

    answer = await scheduler.command("update_schedule", schedule_id=made["id"], enabled=False)

    assert answer["schedule"]["enabled"] is False


async def test_one_that_cannot_fire_does_not_keep_the_others(
    scheduler: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    broken = await scheduler.create(alias="broken-one")
    other = await scheduler.create()

    def spoil(tx: Transaction) -> None:
        row = schedules.get(tx, scheduler.hub.graph_id, broken["id"])
        assert row is not None
        schedules.save(tx, row, msgspec.structs.replace(row, owner=b"{"))

    await asyncio.to_thread(write, scheduler.hub.api.store.database, spoil)
    await scheduler.pass_ms(HOUR_MS)

    assert len(await scheduler.fires(other)) == 1
    assert f"the schedule {broken['id']} cannot fire" in caplog.text


async def test_two_servers_fire_once(scheduler: Scheduler, clock: MovableClock) -> None:
    await scheduler.create()
    clock.pass_ms(HOUR_MS)

    store = scheduler.hub.api.app.store
    await asyncio.gather(*(HubKeeper(store).fire() for _ in range(4)))

    assert len(await scheduler.runs()) == 1


async def test_the_history_comes_in_pages_and_is_forgotten(scheduler: Scheduler) -> None:
    made = await scheduler.create()
    for _ in range(12):
        await scheduler.pass_ms(HOUR_MS)

    first = await scheduler.query("list_executions", schedule_id=made["id"], include_schedule=True)
    rest = {"schedule_id": made["id"], "start_execution_id": first["last_execution_id"]}
    last = await scheduler.query("list_executions", **rest)

    assert (len(first["executions"]), len(last["executions"]), last["last_execution_id"]) == (10, 2, None)
    assert first["schedule"] == await scheduler.get(made)
    assert len({fire["id"] for fire in first["executions"] + last["executions"]}) == 12
    await scheduler.pass_ms(91 * DAY_MS)
    await scheduler.hub.clean()
    assert len(await scheduler.fires(made)) == 1
    answer = await scheduler.ask("query", "list_executions", **rest)
    assert refusal(answer) == (400, "invalid_cursor")
    assert json.dumps(answer.json())


@pytest.mark.parametrize(
    "command", [one for one in TABLE if one.blob_type == SCHEDULER_BLOB], ids=lambda command: command.name
)
async def test_every_command_about_schedules_is_closed(scheduler: Scheduler, command: Any) -> None:
    """An unknown key is refused, and so is a null where a key may be left out; without them it is no bad body."""
    made = await scheduler.create()
    fields = msgspec.structs.fields(command.request)
    values = {**given(alias="another-one"), "schedule_id": made["id"]}
    body = {field.encode_name: values[field.encode_name] for field in fields if field.required}
    if command.name == "create_schedule":
        body = given(alias="another-one")

    for more in [{"no_such_key": 1}, *({field.encode_name: None} for field in fields if not field.required)]:
        asked = body | more
        assert refusal(await scheduler.ask(command.channel, command.name, **asked)) == (400, "invalid_request_body")

    taken(await scheduler.ask(command.channel, command.name, **body))
