"""`turnbuckle keys`, `doctor` and `backup` on the store itself, on both databases, without a server."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.postgres import server_binaries
from turnbuckle.cli.main import cli
from turnbuckle.operations import key as operations
from turnbuckle.store.database import open_database, read
from turnbuckle.store.key import Grant


def run(*words: str, **options: Any) -> Result:
    return CliRunner().invoke(cli, words, **options)


def place(store_url: str) -> tuple[str, str]:
    """The options that name the store."""
    if store_url.startswith("postgresql://"):
        return "--database", store_url
    return "--data", str(Path(store_url).parent)


def grant_of(store_url: str, key: str) -> Grant | None:
    with contextlib.closing(open_database(store_url)) as database:
        return read(database, lambda tx: operations.find(tx, operations.hash_of(key)))


def test_a_made_key_has_what_was_asked(store_url: str) -> None:
    """The key alone is on stdout, for `export LBB_API_KEY=$(turnbuckle keys create)`."""
    words = ("--environment", "test", "--scope", "blob", "--role", "read", "--label", "the reader")
    made = run("keys", "create", *place(store_url), *words)

    assert made.exit_code == 0, made.output
    key = made.stdout.strip()
    assert key.startswith("lbb_sk_test_")
    assert "not shown again" in made.stderr
    assert grant_of(store_url, key) == Grant("test", "blob", "read")


def test_listed_keys_do_not_show_themselves(store_url: str) -> None:
    made = [run("keys", "create", *place(store_url), "--label", f"key {n}").stdout.strip() for n in range(2)]

    people = run("keys", "list", *place(store_url)).stdout
    programs = json.loads(run("keys", "list", *place(store_url), "--json").stdout)["keys"]

    assert {key["last_4"] for key in programs} == {key[-4:] for key in made}
    assert {key["label"] for key in programs} == {"key 0", "key 1"}
    for key in made:
        assert key[-4:] in people
        assert key not in people
        assert key not in json.dumps(programs)


@pytest.mark.parametrize("part", ["whole", "last 4"])
def test_a_revoked_key_is_valid_no_more(store_url: str, part: str) -> None:
    kept, gone = (run("keys", "create", *place(store_url)).stdout.strip() for _ in range(2))

    revoked = run("keys", "revoke", gone if part == "whole" else gone[-4:], *place(store_url))

    assert revoked.exit_code == 0, revoked.output
    assert grant_of(store_url, gone) is None
    assert grant_of(store_url, kept) is not None


def test_a_key_that_is_not_there_is_told(store_url: str) -> None:
    run("keys", "create", *place(store_url))

    missed = run("keys", "revoke", "nope", *place(store_url))

    assert missed.exit_code == 1
    assert missed.stderr == "turnbuckle: no valid key ends in 'nope'; see `turnbuckle keys list`\n"


def test_two_keys_that_end_alike_are_not_guessed_between(tmp_path: Path) -> None:
    """Revoking the wrong one would lock somebody out."""
    keys = [run("keys", "create", "--data", str(tmp_path)).stdout.strip() for _ in range(2)]
    with contextlib.closing(sqlite3.connect(tmp_path / "turnbuckle.db")) as file, file:
        file.execute("update api_key set hint = 'same'")

    asked = run("keys", "revoke", "same", "--data", str(tmp_path))

    assert asked.exit_code == 1
    assert asked.stderr == "turnbuckle: 2 keys end in 'same'; give the whole key (conflict)\n"
    assert run("keys", "revoke", keys[0], "--data", str(tmp_path)).exit_code == 0


def test_json_gives_the_key_and_nothing_beside_it(store_url: str) -> None:
    made = run("keys", "create", *place(store_url), "--json")

    document = json.loads(made.output)  # of both streams
    assert document["role"] == "write"
    assert grant_of(store_url, document["key"]) == Grant("live", "user", "write")


def test_only_create_makes_a_store(tmp_path: Path) -> None:
    """A mistyped folder must not look like an empty store."""
    for words in (("keys", "list"), ("keys", "revoke", "abcd"), ("doctor",), ("backup", str(tmp_path / "copy.db"))):
        result = run(*words, "--data", str(tmp_path / "typo"))
        assert result.exit_code == 1
        assert result.stderr.startswith(f"turnbuckle: there is no store at {tmp_path}/typo/turnbuckle.db")
    assert not (tmp_path / "typo").exists()


def test_a_file_that_is_no_store_is_told(tmp_path: Path) -> None:
    (tmp_path / "turnbuckle.db").write_text("hello " * 1_000)

    result = run("doctor", "--data", str(tmp_path))

    assert result.exit_code == 1
    assert result.stderr.startswith("turnbuckle: cannot open the store")
    assert "not a database" in result.stderr


def test_a_store_of_a_newer_server_is_left_alone(tmp_path: Path) -> None:
    run("keys", "create", "--data", str(tmp_path))
    with contextlib.closing(sqlite3.connect(tmp_path / "turnbuckle.db")) as file, file:
        file.execute("insert into schema_migration (number, name) values (99, 'later')")

    result = run("keys", "create", "--data", str(tmp_path))

    assert result.exit_code == 1
    assert "the store has migration 99" in result.stderr


def test_a_database_that_does_not_answer_is_told_without_its_password() -> None:
    result = run("doctor", "--database", "postgresql://me:secret@127.0.0.1:1/none")

    assert result.exit_code == 1
    assert result.stderr.startswith("turnbuckle: cannot open the PostgreSQL store")
    assert "secret" not in result.output


def test_doctor_finds_a_new_store_well(store_url: str) -> None:
    run("keys", "create", *place(store_url))

    people = run("doctor", *place(store_url))
    programs = json.loads(run("doctor", *place(store_url), "--json").stdout)

    assert people.exit_code == 0, people.output
    assert people.stdout.count("  ok  ") == 3
    assert programs["ok"] is True
    assert len(programs["checked"]) == 1
    assert ("postgresql" if "postgresql" in store_url else "sqlite") in programs["checked"][0]["what"]


def test_doctor_ends_with_1_when_something_is_wrong(tmp_path: Path) -> None:
    run("keys", "create", "--data", str(tmp_path))
    with contextlib.closing(sqlite3.connect(tmp_path / "turnbuckle.db")) as file, file:
        file.execute("insert into state values ('g', 'nobody', 0, 'null')")

    people = run("doctor", "--data", str(tmp_path))
    programs = run("doctor", "--data", str(tmp_path), "--json")

    assert (people.exit_code, programs.exit_code) == (1, 1)
    assert "  PROBLEM  1 states belong to nothing that exists\n" in people.stdout
    assert json.loads(programs.stdout)["ok"] is False


def test_doctor_with_nothing_to_check_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LBB_URL", raising=False)

    result = run("doctor")

    assert result.exit_code == 1
    assert result.stderr.startswith("turnbuckle: nothing to check")


def test_a_backup_replaces_only_when_it_is_told_to(tmp_path: Path) -> None:
    """An older copy is the one thing that must not be lost by a slip."""
    run("keys", "create", "--data", str(tmp_path))
    copy = tmp_path / "copy.db"
    copy.write_bytes(b"the old copy")

    refused = run("backup", str(copy), "--data", str(tmp_path))
    assert refused.exit_code == 1
    assert refused.stderr == f"turnbuckle: {copy} is there already; --force replaces it\n"
    assert copy.read_bytes() == b"the old copy"

    replaced = json.loads(run("backup", str(copy), "--data", str(tmp_path), "--force", "--json").stdout)
    assert replaced["size_bytes"] == copy.stat().st_size > 1_000
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]


def test_a_backup_that_fails_leaves_the_old_copy(tmp_path: Path) -> None:
    run("keys", "create", "--data", str(tmp_path))
    copy = tmp_path / "copy.db"
    copy.write_bytes(b"the old copy")
    (tmp_path / "copy.db.part").mkdir()  # nothing can be written there

    failed = run("backup", str(copy), "--data", str(tmp_path), "--force")

    assert failed.exit_code == 1
    assert failed.stderr.startswith("turnbuckle: cannot copy the store")
    assert copy.read_bytes() == b"the old copy"


def test_a_postgresql_backup_is_a_dump(
    postgres_url: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the pg_dump of the server's version; another one may refuse."""
    monkeypatch.setenv("PATH", str(server_binaries(tmp_path_factory.mktemp("binaries"))))

    dumped = run("backup", str(tmp_path / "copy"), "--database", postgres_url)

    assert dumped.exit_code == 0, dumped.output
    assert (tmp_path / "copy").read_bytes().startswith(b"PGDMP")


def test_a_postgresql_backup_without_pg_dump_is_told(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    failed = run("backup", str(tmp_path / "copy"), "--database", postgres_url)

    assert failed.exit_code == 1
    assert failed.stderr.startswith("turnbuckle: pg_dump made no copy: [Errno 2] No such file")
    assert not list(tmp_path.iterdir())
