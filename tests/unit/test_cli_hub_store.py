"""`turnbuckle hub init` and `hub keys` on the store itself, on both databases, without a server (decision 39)."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.test_cli_keys import grant_of, place, run
from turnbuckle.operations import graph
from turnbuckle.store import hub_blob as blobs
from turnbuckle.store import hub_revision as revisions
from turnbuckle.store.database import open_database, read
from turnbuckle.store.key import Grant
from turnbuckle.store.transaction import Transaction


def init(store_url: str, name: str, *words: str) -> dict[str, Any]:
    done = run("hub", "init", name, *place(store_url), "--json", *words)
    assert done.exit_code == 0, done.output
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def test_init_makes_all_that_a_first_deployment_needs(store_url: str) -> None:
    made = init(store_url, "acme/support-bot", "--public", "--environment", "test")

    def look(tx: Transaction) -> tuple[Any, ...]:
        where = graph.look(tx, "test", graph.HUB)
        blob = blobs.get(tx, where, made["blob_id"])
        revision = revisions.get(tx, where, made["revision_id"])
        assert blob is not None
        assert revision is not None
        return blob.type, blob.alias, blob.visibility, blob.default_revision_id, revision.phase, revision.status

    with contextlib.closing(open_database(store_url)) as database:
        found = read(database, look)
    assert found == ("blobhub.compute.workflow", "support-bot", "public", made["revision_id"], "draft", "ready")
    assert grant_of(store_url, made["api_key"]) == Grant("test", "org", "write", made["org_id"])
    assert made["api_key"].startswith("lbb_sk_test_")


def test_blobs_of_one_name_share_an_organization(store_url: str) -> None:
    first, second = init(store_url, "acme/support-bot"), init(store_url, "acme/faq-bot")

    assert first["org_id"] == second["org_id"]
    assert first["blob_id"] != second["blob_id"]


@pytest.mark.parametrize(("name", "scope"), [("acme", "org"), ("acme/support-bot", "blob")])
def test_a_key_is_for_what_was_named(store_url: str, name: str, scope: str) -> None:
    made = init(store_url, "acme/support-bot")

    done = run("hub", "keys", "create", name, *place(store_url), "--role", "read")

    assert done.exit_code == 0, done.output
    assert grant_of(store_url, done.stdout.strip()) == Grant("live", scope, "read", made[f"{scope}_id"])
    assert "not shown again" in done.stderr


def test_keys_are_listed_and_revoked_as_the_others_are(store_url: str) -> None:
    made = init(store_url, "acme/support-bot")

    assert run("hub", "keys", "revoke", made["api_key"], *place(store_url)).exit_code == 0
    assert grant_of(store_url, made["api_key"]) is None
    assert "hub init acme/support-bot" in run("hub", "keys", "list", *place(store_url)).stdout


def test_a_store_that_is_not_there_is_made_by_init_alone(tmp_path: Path) -> None:
    nowhere = ("--data", str(tmp_path / "none"))

    assert run("hub", "keys", "create", "acme", *nowhere).exit_code == 1
    assert not (tmp_path / "none").exists()
    assert run("hub", "init", "acme/support-bot", *nowhere).exit_code == 0
