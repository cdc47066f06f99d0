"""What `lbb` exports, and its small public pieces (lbb-engine 2.8, 8.3)."""

import re
import time

import pytest

import lbb
import lbb.client
from lbb import ListPage, entity_id_from_iri, entity_ref, stable_hash_hex
from lbb.entities import ENTITY_ID_KEY_SENTINEL, ENTITY_IRI_NAMESPACE

CLIENT_NAMES = {
    "RESET", "AsyncLbbClient", "AsyncWorkflowTurnReader", "LbbCapabilityError", "LbbClient", "LbbError", "ListPage",
    "RawLbbResponse", "RequestOptions", "RetryEvent", "SparqlResults", "WorkflowExecutionError", "WorkflowTurnReader",
    "entity_id_from_iri", "entity_ref", "stable_hash_hex",
}  # fmt: skip
ID = "0123456789abcdef0123456789abcdef"


def test_lbb_exports_exactly_these_names() -> None:
    assert set(lbb.__all__) == CLIENT_NAMES | {"models", "__version__"}
    assert all(hasattr(lbb, name) for name in lbb.__all__)


def test_the_client_names_are_importable_from_lbb_client() -> None:
    assert set(lbb.client.__all__) == CLIENT_NAMES
    assert all(getattr(lbb.client, name) is getattr(lbb, name) for name in CLIENT_NAMES)


@pytest.mark.parametrize("cls", [lbb.LbbClient, lbb.AsyncLbbClient])
def test_an_idempotency_key_has_prefix_time_and_chance(cls: type[lbb.LbbClient]) -> None:
    before = time.time_ns() // 1000
    client = cls()
    keys = [client.idempotency_key(), client.idempotency_key("facts.create"), client.idempotency_key()]

    matches = [re.fullmatch(r"(request|facts\.create):(\d{16}):[0-9a-f]{32}", key) for key in keys]
    assert [match and match[1] for match in matches] == ["request", "facts.create", "request"]
    assert all(match and before <= int(match[2]) <= time.time_ns() // 1000 for match in matches)
    assert len(set(keys)) == 3


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([], "af1349b9f5f9a1a6a0404dea36dcc949"),
        (["a", "b"], "55a01d7f389c7df5218c21c17594c483"),
        (["Größe"], "c6ebb4d71d0a62acbab47e2292206757"),
    ],
)
def test_the_stable_hash_has_its_published_values(parts: list[str], expected: str) -> None:
    assert stable_hash_hex(parts) == stable_hash_hex(iter(parts)) == expected


def test_the_stable_hash_refuses_one_plain_string() -> None:
    with pytest.raises(TypeError, match="sequence"):
        stable_hash_hex("ab")


def test_an_entity_iri_gives_its_id() -> None:
    assert ENTITY_IRI_NAMESPACE == "https://littlebigbrain.com/e/"
    assert entity_id_from_iri(ENTITY_IRI_NAMESPACE + ID.upper()) == ID


@pytest.mark.parametrize(
    "iri", ["", ID, f"https://other.test/e/{ID}", ENTITY_IRI_NAMESPACE + ID[:-1], ENTITY_IRI_NAMESPACE + ID + "\n"]
)
def test_another_iri_is_refused(iri: str) -> None:
    with pytest.raises(ValueError, match="32 hex digits"):
        entity_id_from_iri(iri)


@pytest.mark.parametrize(("name", "shown"), [("A note", "A note"), (None, ID), ("  ", ID)])
def test_an_entity_reference_addresses_the_record_by_id(name: str | None, shown: str) -> None:
    assert entity_ref(ENTITY_IRI_NAMESPACE + ID, "Note", name) == {
        "type": "Note",
        "name": shown,
        "key": "\0lbb-eid:" + ID,
    }
    assert ENTITY_ID_KEY_SENTINEL == "\0lbb-eid:"


@pytest.mark.parametrize("type", ["", " "])
def test_an_entity_reference_needs_a_class(type: str) -> None:
    with pytest.raises(ValueError, match="blank type"):
        entity_ref(ENTITY_IRI_NAMESPACE + ID, type)


def test_a_page_is_iterated_over() -> None:
    page = ListPage(data=[1, 2], has_more=True, next_cursor="c", total_count=5)

    assert (list(page), len(page), page.object, page.snapshot) == ([1, 2], 2, "list", None)
