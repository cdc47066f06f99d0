"""`turnbuckle reviews` and `client.reviews` as a person uses them, against a real server."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lbb import AsyncLbbClient, LbbClient, LbbError
from tests.live_server import HEADERS, live_server
from turnbuckle.cli.main import cli
from turnbuckle.store.database import open_database

KEY = HEADERS["authorization"].removeprefix("Bearer ")
OPTIONS = [{"id": "parquet", "label": "Parquet"}, {"id": "tiles", "label": "Tiles"}]
QUESTION: dict[str, Any] = {
    "kind": "choice",
    "key": "floor:hall",
    "title": "Which floor covering does the hall have?",
    "question": {"options": OPTIONS, "proposed": "tiles", "confidence": 0.8},
    "subject": {"type": "Room", "name": "hall"},
    "evidence": [{"quote": "oak, laid in 1990", "source_id": "plan.pdf"}],
    "workflow": {"name": "rooms"},
    "wait": {"identity": "room-1", "turn": 1, "signal": ""},
}


@dataclass(frozen=True)
class Shell:
    url: str
    client: LbbClient

    def run(self, *words: str, stdin: str | None = None) -> Any:
        environment = {"LBB_URL": self.url, "LBB_API_KEY": KEY}
        return CliRunner().invoke(cli, ("reviews", *words), input=stdin, env=environment)

    def ok(self, *words: str, stdin: str | None = None) -> str:
        done = self.run(*words, stdin=stdin)
        assert done.exit_code == 0, done.stderr
        return str(done.stdout)

    def json(self, *words: str) -> Any:
        return json.loads(self.ok(*words, "--json"))


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with (
        contextlib.closing(open_database(str(tmp_path / "turnbuckle.db"))) as database,
        live_server(database) as url,
        LbbClient(url, api_key=KEY, max_retries=0) as client,
    ):
        yield Shell(url, client)


def test_a_person_sees_what_is_asked_and_answers_it(shell: Shell) -> None:
    item = shell.client.reviews.create(QUESTION)["id"]

    assert "Which floor covering does the hall have?" in shell.ok("list")
    shown = shell.ok("show", item)
    for line in (
        "option      parquet: Parquet",
        "option      tiles: Tiles (proposed)",
        "confidence  80%",
        "about       Room, hall",
        'evidence    "oak, laid in 1990" (plan.pdf)',
        "asked by    workflow rooms",
        "waits       room-1, turn 1",
    ):
        assert line in shown

    told = shell.ok("answer", item, "choose", "parquet", "--note", "I was there", "--revision", "1")

    assert told.startswith(f"{item}: answered, delivery dropped (room-1, turn 1: there is no instance 'room-1'")
    assert "choose parquet: I was there (key:" in shell.ok("show", item)
    assert item not in shell.ok("list")
    assert item in shell.ok("list", "--status", "all", "--workflow", "rooms", "--key", "floor:hall")


def test_a_corrected_value_is_sent_as_it_is_written(shell: Shell) -> None:
    question = {"property": "n", "value": 1, "unit": "EUR"}
    body = {"kind": "value", "title": "n?", "question": question, "scope": "test"}
    item = shell.client.reviews.create(body)["id"]
    assert "value       n = 1 EUR" in shell.ok("show", item)

    told = shell.ok("answer", item, "correct", "-", "--json", stdin="12345678901234567890123.10")

    assert '"value":12345678901234567890123.10' in told


def test_the_same_answer_under_one_id_is_given_once(shell: Shell) -> None:
    item = shell.client.reviews.create(QUESTION)["id"]

    first = shell.json("answer", item, "choose", "tiles", "--id", "click-1")
    again = shell.json("answer", item, "choose", "tiles", "--id", "click-1")
    other = shell.run("answer", item, "choose", "parquet", "--id", "click-1")

    assert again == first
    assert (other.exit_code, "idempotency_conflict" in other.stderr) == (1, True)


@pytest.mark.parametrize("words", [("choose",), ("accept", "tiles"), ("maybe",), ("correct", "no json")])
def test_a_wrong_command_is_told_before_anything_is_sent(shell: Shell, words: tuple[str, ...]) -> None:
    item = shell.client.reviews.create(QUESTION)["id"]

    assert shell.run("answer", item, *words).exit_code != 0
    assert shell.client.reviews.get(item)["status"] == "open"


def test_an_item_is_withdrawn_and_commented(shell: Shell) -> None:
    item = shell.client.reviews.create(QUESTION)["id"]

    assert shell.ok("comment", item, "ask the owner", "--author", "Ana") == f"{item}: open\n"
    assert shell.ok("withdraw", item, "asked in error") == f"{item}: withdrawn\n"

    assert "comment     Ana: ask the owner" in shell.ok("show", item)
    refused = shell.run("answer", item, "choose", "tiles")
    assert "it was withdrawn" in refused.stderr


def test_what_moves_a_terminal_is_shown_not_done(shell: Shell) -> None:
    item = shell.client.reviews.create({**QUESTION, "title": "red \x1b[31m?", "rationale": "\x00"})["id"]

    assert "\x1b" not in shell.ok("show", item) + shell.ok("list")
    assert "\\x1b[31m" in shell.ok("show", item)


# -- the client --------------------------------------------------------------------------------------------------


async def test_both_clients_have_the_same_calls(shell: Shell) -> None:
    made = [shell.client.reviews.create({**QUESTION, "key": f"k{number}"})["id"] for number in range(5)]
    async with AsyncLbbClient(shell.url, api_key=KEY) as client:
        asked = client.reviews
        assert [one["id"] async for one in asked.all(limit=2)] == [one["id"] for one in shell.client.reviews.all()]
        assert (await asked.list(key=["k1", "k2"], status="open"))["has_more"] is False
        assert (await asked.patterns())["data"][0]["count"] == len(made)
        answer = {"decision": "choose", "option": "tiles"}
        batch = await asked.answer_batch(made[:2], answer=answer, shown={made[0]: 1})
        assert batch["answered"] == 2
        assert (await asked.answer(made[2], answer=answer, revision=1))["answer"]["option"] == "tiles"
        assert (await asked.withdraw(made[3], "no need"))["status"] == "withdrawn"
        assert (await asked.comment(made[4], text="hm"))["comments"][0]["text"] == "hm"
        with pytest.raises(LbbError) as refused:
            await asked.get("rev_x")
        assert refused.value.status_code == 404

    assert shell.client.reviews.get(made[4])["comments"][0]["text"] == "hm"
    assert shell.client.reviews.answer(made[4], answer=answer, comment="sure")["status"] == "answered"
