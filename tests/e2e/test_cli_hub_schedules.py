"""`turnbuckle hub schedules` against a real server, whose upkeep fires them (blobhub 7.1)."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.hub_shell import DOCUMENT, HubShell, hub_shell
from turnbuckle.hub_deploy import files

_NUMBERS = itertools.count(1)
NOWHERE: dict[str, Any] = {
    "target": {"org": "acme", "blob": "nowhere", "revision": "default", "session": "nightly"},
    "workflow": {"definition": "answer-question"},
}


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubShell]:
    with hub_shell(tmp_path_factory.mktemp("hub")) as found:
        yield found


@pytest.fixture
def bot(shell: HubShell, tmp_path: Path) -> str:
    """A blob with a definition that can run."""
    name = f"acme/bot-{next(_NUMBERS)}"
    shell.init(name)
    document = {**DOCUMENT, "components": DOCUMENT["components"][:2], "connections": []}
    files.write(tmp_path / "answer-question.json", document)
    shell.ok("definitions", "upload", name, str(tmp_path / "answer-question.json"))
    return name


@pytest.fixture
def timer(shell: HubShell) -> str:
    name = f"acme/timer-{next(_NUMBERS)}"
    shell.init(name, "--type", "scheduler")
    return name


def entry(bot: str, alias: str = "each-morning", **changed: Any) -> dict[str, Any]:
    org, blob = bot.split("/")
    fields = {
        "alias": alias,
        "repeat": "recurring_cron",
        "cron_expression": "0 9 ? * MON-FRI *",
        "timezone": "Europe/Berlin",
        "invocation_target_type": "workflow",
        "invocation_target": {
            "target": {"org": org, "blob": blob, "revision": "default", "session": "nightly"},
            "workflow": {"definition": "answer-question"},
        },
    }
    return {name: value for name, value in (fields | changed).items() if value is not None}


def manifest(folder: Path, timer: str, *entries: dict[str, Any], **changed: Any) -> str:
    content = {"type": "scheduler_blob_deployment", "version": "1.0", "blob": timer, "revision": "default"}
    files.write(folder / "timer.yaml", {**content, "schedules": list(entries), **changed})
    return str(folder / "timer.yaml")


def listed(shell: HubShell, timer: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shell.json("schedules", "list", timer)["schedules"]
    return found


def test_a_manifest_is_deployed_changed_and_pulled(shell: HubShell, bot: str, timer: str, tmp_path: Path) -> None:
    path = manifest(tmp_path, timer, entry(bot, description="first"), entry(bot, "each-night"))

    first = shell.json("schedules", "deploy", "-f", path)
    again = shell.json("schedules", "deploy", "-f", path)
    path = manifest(tmp_path, timer, entry(bot, enabled=False))
    difference = shell.json("schedules", "diff", "-f", path)
    changed = shell.json("schedules", "deploy", "-f", path)

    both = ["each-morning", "each-night"]
    assert (first["created"], first["sessions_created"], again["unchanged"]) == (both, ["nightly"], both)
    assert difference["schedules"] == [
        {"alias": "each-morning", "presence": "both", "changed": ["enabled", "description"]}
    ]
    assert (changed["updated"], changed["drift"], difference["drift"]) == (
        ["each-morning"],
        ["each-night"],
        ["each-night"],
    )
    assert [one["enabled"] for one in listed(shell, timer)] == [True, False]
    assert shell.json("schedules", "pull", "-f", path)["pulled"] == both
    assert shell.json("schedules", "deploy", "-f", path)["unchanged"] == both
    assert shell.json("schedules", "diff", "-f", path)["drift"] == []
    assert "disabled" in shell.ok("schedules", "list", timer).out


def test_a_pinned_revision_is_unchanged_when_deployed_again(
    shell: HubShell, bot: str, timer: str, tmp_path: Path
) -> None:
    """The server keeps the session's id in place of its alias."""
    revision = shell.json("revisions", "list", bot)["default_revision_id"]
    target = entry(bot)["invocation_target"]
    pinned = {**target, "target": {**target["target"], "revision": revision}}
    path = manifest(tmp_path, timer, entry(bot, invocation_target=pinned))

    shell.ok("schedules", "deploy", "-f", path)

    assert shell.json("schedules", "deploy", "-f", path)["unchanged"] == ["each-morning"]


def test_a_dry_run_and_a_diff_change_nothing(shell: HubShell, bot: str, timer: str, tmp_path: Path) -> None:
    path = manifest(tmp_path, timer, entry(bot))

    assert shell.json("schedules", "deploy", "-f", path, "--dry-run")["planned"] == ["each-morning"]
    assert shell.json("schedules", "diff", "-f", path)["schedules"][0]["presence"] == "local_only"
    assert listed(shell, timer) == []
    assert shell.json("sessions", "list", bot)["sessions"] == []


def test_a_schedule_fires_when_its_time_comes(shell: HubShell, bot: str, timer: str, tmp_path: Path) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=2)).strftime("%Y-%m-%dT%H:%M:%S")
    once = entry(bot, repeat="one_time", cron_expression=None, invocation_time=soon, timezone="UTC")
    shell.ok("schedules", "deploy", "-f", manifest(tmp_path, timer, once))

    while listed(shell, timer)[0]["state"] == "active":  # the test's timeout ends it
        pass

    session = shell.json("sessions", "list", bot)["sessions"][0]
    assert session["held"] == {"workflow.executions_per_session": 1}


def test_a_schedule_is_deleted(shell: HubShell, bot: str, timer: str, tmp_path: Path) -> None:
    shell.ok("schedules", "deploy", "-f", manifest(tmp_path, timer, entry(bot)))

    shell.ok("schedules", "delete", timer, "each-morning")

    assert listed(shell, timer) == []
    assert shell.refused("schedules", "delete", timer, "each-morning")["code"] == "SCHEDULE_NOT_ACCESSIBLE"


def test_nothing_is_written_when_a_target_is_not_there(shell: HubShell, bot: str, timer: str, tmp_path: Path) -> None:
    target = entry(bot)["invocation_target"]
    wrong = entry(bot, "each-night", invocation_target={**target, "workflow": {"definition": "nobody-knows"}})

    refused = shell.refused("schedules", "deploy", "-f", manifest(tmp_path, timer, entry(bot), wrong))

    assert refused["code"] == "DEFINITION_NOT_ACCESSIBLE"
    assert listed(shell, timer) == []


def test_too_many_are_refused_before_one_is_written(shell: HubShell, bot: str, timer: str, tmp_path: Path) -> None:
    path = manifest(tmp_path, timer, *(entry(bot, f"number-{n:02}") for n in range(51)))

    assert shell.refused("schedules", "deploy", "-f", path)["code"] == "LIMIT_EXCEEDED"
    assert listed(shell, timer) == []


def test_a_field_that_cannot_be_cleared_is_told(shell: HubShell, bot: str, timer: str, tmp_path: Path) -> None:
    shell.ok("schedules", "deploy", "-f", manifest(tmp_path, timer, entry(bot, end_date="2200-01-01T00:00:00Z")))

    refused = shell.refused("schedules", "deploy", "-f", manifest(tmp_path, timer, entry(bot)))

    assert refused["code"] == "MANIFEST_INVALID"
    assert "end_date cannot be taken away" in refused["error"]


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("SCHEDULE_ALIAS_REQUIRED", {"alias": None}),
        ("SCHEDULE_ALIAS_INVALID", {"alias": "short"}),
        ("MANIFEST_INVALID", {"surprise": 1}),
        ("MANIFEST_INVALID", {"timezone": None}),
        ("MANIFEST_INVALID", {"invocation_time": "2200-01-01T00:00"}),
        ("MANIFEST_INVALID", {"enabled": "yes"}),
        ("SCHEDULE_TARGET_INVALID", {"invocation_target": {"target": {}}}),
        ("SCHEDULE_TARGET_INVALID", {"invocation_target": {"target": {"blob": 1}, "workflow": {}}}),
        ("SCHEDULE_TARGET_INVALID", {"invocation_target": {"target": {}, "workflow": {"definition": "answer-one"}}}),
        ("SCHEDULE_TARGET_INVALID", {"invocation_target": {**NOWHERE, "surprise": 1}}),
        ("BLOB_NOT_ACCESSIBLE", {"invocation_target": NOWHERE}),
        ("API_COMMAND_FAILED", {"cron_expression": "0 9 * * *"}),
        ("API_COMMAND_FAILED", {"timezone": "Europe/Nowhere"}),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(
    shell: HubShell, bot: str, timer: str, tmp_path: Path, code: str, changed: dict[str, Any]
) -> None:
    path = manifest(tmp_path, timer, entry(bot, **changed))

    assert shell.refused("schedules", "deploy", "-f", path)["code"] == code


def test_each_manifest_has_its_commands(shell: HubShell, bot: str, timer: str, tmp_path: Path) -> None:
    path = manifest(tmp_path, timer, entry(bot))

    assert shell.refused("deploy", "-f", path)["code"] == "MANIFEST_TYPE_MISMATCH"
    twice = manifest(tmp_path, timer, entry(bot), entry(bot))
    assert shell.refused("schedules", "diff", "-f", twice)["code"] == "SCHEDULE_ALIAS_INVALID"
    assert shell.refused("schedules", "diff", "-f", manifest(tmp_path, bot))["code"] == "BLOB_NOT_WORKFLOW"
