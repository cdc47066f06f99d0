"""What an accepted or corrected value writes into the graph, and what becomes of one that cannot (lbb-graph 4.4)."""

from typing import Any

import msgspec
import pytest

from tests.store.calls import Store, claimed_turn, current
from tests.store.review_calls import WAIT, act, act_on_due, ask_value, look, reply
from turnbuckle.engine import review_effects as rules
from turnbuckle.operations import commit, entity, ontology, review_effects
from turnbuckle.operations.caller import Caller
from turnbuckle.store import review as reviews
from turnbuckle.store.database import read, write
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.commit import GraphCommitRequest, GraphRetractRequest
from turnbuckle.wire.entity import GraphEntityQuery
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.ontology import OntologyEvolveQuery, OntologyEvolveRequest
from turnbuckle.wire.review import ReviewEffects, ReviewItem

SUBJECT = {"type": "Item", "name": "Tea", "key": "t-1"}


@pytest.fixture(autouse=True)
def declared(store: Store) -> None:
    """A class `Item` with an integer `price` and a text `origin`."""
    ops = [
        {"op": "add_entity_type", "name": "Item"},
        {"op": "add_property", "name": "price", "value_type": "i64"},
        {"op": "add_property", "name": "origin", "value_type": "text"},
    ]
    body = msgspec.convert({"ops": ops}, OntologyEvolveRequest)
    store.do(ontology.evolve, OntologyEvolveQuery(), body, _writer())


def _writer(key: str | None = None) -> Caller:
    return Caller("test", "main", by="key:w", role="write", scope="user", idempotency_key=key)


def attributes(store: Store) -> dict[str, Any]:
    """The fields of the record `t-1`."""
    query = GraphEntityQuery(type="Item", key="t-1")
    shown = read(store.database, lambda tx: entity.get(tx, store.graph_id, query, _writer()))
    return {one.field: one.value for one in shown.current_state}


def effects(item: ReviewItem) -> ReviewEffects:
    assert item.effects is not None
    return item.effects


@pytest.mark.parametrize(("decision", "said", "price"), [("accept", {}, 12), ("correct", {"value": 13}, 13)])
def test_an_accepted_or_corrected_value_is_on_the_record(
    store: Store, decision: str, said: dict[str, Any], price: int
) -> None:
    item = act(store, reply(store, ask_value(store, subject=SUBJECT), decision, **said))

    assert attributes(store) == {"price": price}
    assert effects(item).commit_seq == 1
    assert (effects(item).commit_key or "").startswith(f"review:{item.id}:r1:")
    assert effects(item).commit_error is None


@pytest.mark.parametrize("decision", ["reject", "cant_tell"])
def test_another_decision_writes_nothing(store: Store, decision: str) -> None:
    item = act(store, reply(store, ask_value(store, subject=SUBJECT), decision))

    assert effects(item).commit_key is None


def test_the_facts_are_written_where_there_are_some(store: Store) -> None:
    row = {**SUBJECT, "properties": {"price": 12, "origin": "Assam"}}

    act(store, reply(store, ask_value(store, facts={"entity_properties": [row]}), "accept"))

    assert attributes(store) == {"price": 12, "origin": "Assam"}


def test_a_refused_value_leaves_the_answer_and_tells_who_waits(store: Store) -> None:
    claimed_turn(store)
    question = {"property": "weight", "value": 12}

    item = act(store, reply(store, ask_value(store, subject=SUBJECT, question=question, wait=WAIT), "accept"))

    assert item.status == "answered"
    assert "weight" in (effects(item).commit_error or "")
    assert effects(item).delivery is not None
    assert effects(item).delivery.state == "sent"  # type: ignore[union-attr]
    assert len(current(store).signals or []) == 1


def test_a_write_that_meets_an_error_of_the_server_is_tried_again_and_nobody_is_told_before(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed_turn(store)
    item = reply(store, ask_value(store, subject=SUBJECT, wait=WAIT), "accept")

    def full(*_: object) -> None:
        raise Refused("storage_degraded", "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(review_effects, "commit", full)
        failed = act(store, item)
        assert (effects(failed).commit_attempts, effects(failed).commit_error) == (1, "the disk is full")
        assert effects(failed).next_attempt_at == "2027-01-15T08:00:01.000Z"
        store.clock.pass_ms(1_000)
        act_on_due(store)
    assert effects(look(store, item)).commit_attempts == 2
    assert current(store).signals is None

    store.clock.pass_ms(2_000)
    act_on_due(store)

    assert attributes(store) == {"price": 12}
    assert effects(look(store, item)).commit_error is None
    assert len(current(store).signals or []) == 1


def test_a_server_that_ends_after_the_commit_writes_it_once(store: Store) -> None:
    """The commit and its mark on the item are one transaction; were they not, the key would find the commit again."""
    item = reply(store, ask_value(store, subject=SUBJECT), "accept")

    def commit_alone(tx: Transaction) -> None:
        stored = reviews.get(tx, store.graph_id, item.id)
        assert stored is not None
        request = rules.commit_request(stored)
        key = rules.commit_key(stored, request)
        commit.commit(tx, store.graph_id, request, _writer(key))

    write(store.database, commit_alone)

    assert effects(act(store, item)).commit_seq == 1


def test_a_value_that_is_there_already_is_no_change(store: Store) -> None:
    row = {**SUBJECT, "properties": {"price": 12}}
    body = msgspec.convert({"entity_properties": [row]}, GraphCommitRequest)
    store.do(commit.commit, body, _writer("c-1"))

    item = act(store, reply(store, ask_value(store, subject=SUBJECT), "accept"))

    assert effects(item).no_op is True


def test_a_value_of_a_record_that_is_gone_says_so(store: Store) -> None:
    """Decision 27: its row is left out and reported; the answer stays."""
    row = {**SUBJECT, "properties": {"price": 1}}
    made = store.do(commit.commit, msgspec.convert({"entity_properties": [row]}, GraphCommitRequest), _writer("c-1"))
    (entity_id,) = made.commit.entity_ids
    gone = msgspec.convert({"entities": [SUBJECT]}, GraphRetractRequest)
    store.do(commit.retract, gone, _writer("c-2"))

    subject = {"type": "Item", "iri": f"https://littlebigbrain.com/e/{entity_id}"}
    item = act(store, reply(store, ask_value(store, subject=subject), "accept"))

    assert effects(item).no_op is True
    assert effects(item).commit_error == f"entity_properties[0]: record {entity_id} was retracted"
