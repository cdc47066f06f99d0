"""Questions to a person: filed, filed again, answered, withdrawn, listed, and told to who waits (lbb-graph 4)."""

import json
from typing import Any

import pytest

from tests.store.calls import (
    Store,
    bytes_of,
    claim,
    claimed,
    claimed_turn,
    complete,
    current,
    listen,
    plain,
    refused,
    start,
)
from tests.store.review_calls import (
    OPTIONS,
    WAIT,
    act,
    act_on_due,
    ask,
    ask_value,
    due_count,
    listed,
    look,
    patterns,
    remark,
    reply,
    reply_to_all,
    withdraw,
)
from tests.tables import dump
from turnbuckle.graph.named import Named, shard_identity, shard_of
from turnbuckle.operations import doctor, signal
from turnbuckle.store import named as named_workflows
from turnbuckle.store.database import read, write
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.review import ReviewItem

OTHER = {"options": [*OPTIONS, {"id": "cork", "label": "Cork"}]}


def delivery(item: ReviewItem) -> tuple[str, list[str] | None]:
    assert item.effects is not None
    assert item.effects.delivery is not None
    return item.effects.delivery.state, item.effects.delivery.sent_to


# -- filing ------------------------------------------------------------------------------------------------------


def test_an_item_is_filed_open_and_can_be_read(store: Store) -> None:
    item = ask(store, subject={"type": "Room", "name": "hall"}, rationale="because")

    assert (item.object, item.status, item.revision, item.key) == ("review_item", "open", 1, "floor:hall")
    assert item.id.startswith("rev_")
    assert len(item.id) == 4 + 24
    assert (item.answer, item.effects, item.wait) == (None, None, None)
    assert bytes_of(look(store, item)) == bytes_of(item)


def test_without_a_key_the_same_question_about_the_same_record_is_one_item(store: Store) -> None:
    first = ask(store, key=None, subject={"iri": "urn:1"}, title="one")
    again = ask(store, key=None, subject={"iri": "urn:1", "name": "x"}, title="two")
    other = ask(store, key=None, subject={"iri": "urn:2"})

    assert first.key.startswith("auto:")
    assert (again.id, again.title) == (first.id, "one")
    assert other.id != first.id


def test_filed_again_while_open_is_the_same_item_however_it_is_spelled(store: Store) -> None:
    first = ask_value(store, question={"property": "price", "value": 2, "unit": "EUR"})
    before = dump(store.location)

    again = ask_value(store, question={"unit": "EUR", "value": 2.0, "property": "price"})

    assert bytes_of(again) == bytes_of(first)
    assert dump(store.location) == before


def test_another_question_under_an_open_key_makes_a_new_revision(store: Store) -> None:
    first = ask(store)
    store.clock.pass_ms(5)

    changed = ask(store, question=OTHER, title="And now?")

    assert (changed.id, changed.revision, changed.title, changed.created) == (first.id, 2, "And now?", first.created)
    assert changed.updated != first.updated


def test_an_answered_key_gives_the_answer_and_nobody_is_asked(store: Store) -> None:
    answered = act(store, reply(store, ask(store)))

    same, other = ask(store), ask(store, question=OTHER)

    assert bytes_of(same) == bytes_of(other) == bytes_of(answered)
    assert answered.answer is not None
    assert (answered.answer.option, answered.answer.by) == ("parquet", "key:ab12cd34")


def test_other_evidence_with_another_proposal_reopens_an_answer(store: Store) -> None:
    old = act(store, reply(store, ask_value(store, evidence_hash="e1"), "accept"))

    same_proposal = ask_value(store, evidence_hash="e2", title="new")
    same_evidence = ask_value(store, evidence_hash="e1", question={"property": "price", "value": 13})
    assert (same_proposal.status, same_evidence.status) == ("answered", "answered")
    item = ask_value(store, evidence_hash="e2", question={"property": "price", "value": 13})

    assert (item.status, item.revision, item.answer) == ("open", 2, None)
    assert item.previous_answer == old.answer
    assert item.effects is None
    again = reply(store, item, "reject")
    assert (again.previous_answer, again.status) == (None, "answered")


def test_a_rejection_is_reopened_by_another_question(store: Store) -> None:
    act(store, reply(store, ask_value(store), "reject"))

    assert ask_value(store).status == "answered"
    assert ask_value(store, question={"property": "price", "value": 13}).status == "open"


def test_an_answer_that_is_not_delivered_yet_is_not_reopened(store: Store) -> None:
    reply(store, ask_value(store), "reject")

    assert ask_value(store, question={"property": "price", "value": 13}).status == "answered"


@pytest.mark.parametrize(("question", "revision"), [({"options": OPTIONS}, 1), (OTHER, 2)])
def test_a_withdrawn_item_is_reopened_by_its_key(store: Store, question: Any, revision: int) -> None:
    item = withdraw(store, ask(store))
    assert (item.status, item.withdrawn_reason) == ("withdrawn", "asked in error")

    again = ask(store, question=question)

    assert (again.id, again.status, again.revision, again.withdrawn_reason) == (item.id, "open", revision, None)


# -- answering ---------------------------------------------------------------------------------------------------


def test_an_answer_given_twice_under_one_key_is_one_answer(store: Store) -> None:
    item = ask(store)
    first = reply(store, item, key="k-1")
    before = dump(store.location)

    again = reply(store, item, key="k-1", by="key:someone")

    assert bytes_of(again) == bytes_of(first)
    assert dump(store.location) == before


def test_an_idempotency_key_belongs_to_one_body(store: Store) -> None:
    item = ask(store)
    reply(store, item, key="k-1")

    with refused("idempotency_conflict"):
        reply(store, item, key="k-1", option="tiles")
    with refused("idempotency_conflict"):
        withdraw(store, item, key="k-1")


def test_a_second_answer_is_refused_and_names_the_first(store: Store) -> None:
    item = ask(store)
    reply(store, item, key="k-1")
    before = dump(store.location)

    with refused("conflict", 'it was answered "choose" by key:ab12cd34 at 2027-01-15T08:00:00.000Z'):
        reply(store, item, key="k-2", option="tiles")

    assert dump(store.location) == before


def test_a_withdrawn_item_takes_no_answer(store: Store) -> None:
    item = withdraw(store, ask(store))

    with refused("conflict", "it was withdrawn"):
        reply(store, item)


def test_an_answer_to_an_older_question_is_stale(store: Store) -> None:
    ask(store)
    item = ask(store, question=OTHER)

    with refused("review_stale"):
        reply(store, item, revision=1)
    assert reply(store, item, revision=2).status == "answered"


def test_an_unknown_item_is_told(store: Store) -> None:
    with refused("not_found"):
        look(store, "rev_x")
    with refused("not_found"):
        reply(store, "rev_x", key="k")


def test_texts_are_kept_as_they_were(store: Store) -> None:
    """NUL, emoji and line ends come back as they went in; PostgreSQL's text would refuse the first."""
    odd = "a\x00b\n\u2028😀"
    item = ask(store, title=odd, rationale=odd, origin={"kind": "person", "label": odd}, evidence=[{"quote": odd}])
    answered = remark(store, reply(store, item, note=odd, comment=odd), odd, author=odd)

    assert (answered.title, answered.rationale, answered.origin.label) == (odd, odd, odd)
    assert answered.evidence is not None
    assert answered.answer is not None
    assert (answered.evidence[0].quote, answered.answer.note) == (odd, odd)
    assert [(one.text, one.author, one.by) for one in answered.comments or []] == [
        (odd, None, "key:ab12cd34"),
        (odd, odd, "key:ab12cd34"),
    ]


def test_a_comment_is_written_once_under_its_key(store: Store) -> None:
    item = ask(store)

    for _ in range(2):
        remark(store, item, key="c-1")

    assert [one.text for one in look(store, item).comments or []] == ["see page 3"]


def test_an_answer_that_no_waiting_turn_could_take_is_refused_and_the_item_stays_open(store: Store) -> None:
    """A signal holds 256 KiB, the output of the step that reads the item 64 KiB with the item."""
    item = ask_value(store)
    most = limits.REVIEW_ANSWER_BYTES - len('{"decision":"correct","value":"","by":"key:ab12cd34","at":""}') - 24

    with pytest.raises(Refused, match="answer: got 32769 bytes, expected at most 32768"):
        reply(store, item, "correct", value="x" * (most + 1))
    assert look(store, item).status == "open"
    assert reply(store, item, "correct", value="x" * most).status == "answered"


def test_a_batch_answers_what_it_fits_and_says_why_not_the_rest(store: Store) -> None:
    first, second = ask(store, key="k1"), ask(store, key="k2")
    done, value, changed = reply(store, ask(store, key="k3")), ask_value(store), ask(store, key="k4")
    ids = [first.id, second.id, first.id, done.id, value.id, changed.id, "rev_x"]

    made = reply_to_all(store, ids, key="b-1", shown={changed.id: 7})

    assert (made.answered, made.skipped) == (2, 4)
    assert [one.id for one in made.results if one.answered] == [first.id, second.id]
    reasons = {one.id: (one.reason or "").split(":")[0] for one in made.results if not one.answered}
    assert reasons == {
        done.id: "conflict",
        value.id: "invalid_request",
        changed.id: "review_stale",
        "rev_x": "not_found",
    }
    assert bytes_of(reply_to_all(store, ids, key="b-1", shown={changed.id: 7})) == bytes_of(made)
    store.clock.pass_ms(1_000)
    assert act_on_due(store) == 3
    assert delivery(look(store, first)) == ("none", None)


# -- told to who waits -------------------------------------------------------------------------------------------


def waiting_turn(store: Store) -> ReviewItem:
    """The first turn of instance `a` asks and waits."""
    task = claimed_turn(store)
    item = ask(store, wait=WAIT)
    assert item.wait is not None
    listen(store, task, item.wait.signal, key="floor.answer")
    return item


def test_the_answer_wakes_the_turn_that_waits(store: Store) -> None:
    item = waiting_turn(store)
    assert item.wait is not None
    assert item.wait.signal == f"review.{item.id}"

    answered = act(store, reply(store, item))

    assert delivery(answered) == ("sent", ["signal"])
    heard = plain(claimed(store).turn.steps[0].output)
    assert heard["received"]
    assert heard["value"] == plain(bytes_of(answered.answer))  # type: ignore[arg-type]
    assert due_count(store) == 0


def test_an_answer_before_the_wait_is_kept_for_it(store: Store) -> None:
    task = claimed_turn(store)
    item = ask(store, wait=WAIT)
    act(store, reply(store, item))

    heard = listen(store, task, f"review.{item.id}")

    assert plain(heard.steps[0].output)["value"]["option"] == "parquet"


def test_an_answer_after_the_timeout_reaches_the_turn_but_not_its_wait(store: Store) -> None:
    task = claimed_turn(store)
    item = ask(store, wait=WAIT)
    listen(store, task, f"review.{item.id}", timeout_ms=1_000)
    store.clock.pass_ms(1_000)

    answered = act(store, reply(store, item))

    assert delivery(answered) == ("sent", ["signal"])
    task = claimed(store)
    assert not plain(task.turn.steps[0].output)["received"]
    assert look(store, item).status == "answered"  # what the step `.read` then sees


@pytest.mark.parametrize("gone", ["finished", "never was"])
def test_an_answer_that_nobody_can_hear_is_dropped(store: Store, gone: str) -> None:
    item = ask(store, wait=WAIT)
    if gone == "finished":
        complete(store, claimed_turn(store))

    answered = act(store, reply(store, item))

    assert delivery(answered) == ("dropped", None)
    assert answered.effects is not None
    assert answered.effects.delivery is not None
    assert "a, turn 1" in (answered.effects.delivery.error or "")
    assert due_count(store) == 0


def test_every_turn_that_asked_gets_the_answer(store: Store) -> None:
    """Row 16: the newest asker is shown, all are told."""
    first = waiting_turn(store)
    start(store, "b")
    item = ask(store, wait={"identity": "b", "turn": 1})
    assert item.id == first.id
    assert item.wait is not None
    assert (item.wait.identity, item.waiting) == ("b", 2)

    answered = act(store, reply(store, item))

    assert delivery(answered) == ("sent", ["signal"])  # `a` heard it, `b` has no turn 1
    assert answered.waiting is None
    assert plain(claimed(store).turn.steps[0].output)["received"]


def test_a_server_that_ends_between_recording_and_delivery_goes_on_where_it_was(store: Store) -> None:
    item = reply(store, waiting_turn(store))
    assert (delivery(item), claim(store)) == (("pending", None), None)
    assert act_on_due(store) == 0  # its request has a second to do it

    store.clock.pass_ms(1_000)

    assert act_on_due(store) == 1
    assert delivery(look(store, item)) == ("sent", ["signal"])
    assert len(current(store).signals or []) == 1
    assert plain(claimed(store).turn.steps[0].output)["received"]


def test_a_delivery_that_fails_is_tried_again_after_growing_delays(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = reply(store, waiting_turn(store))

    def fails(*_: object) -> None:
        raise Refused("storage_degraded", "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(signal, "send", fails)
        act(store, item)
        for delay_ms in (1_000, 2_000, 4_000):
            store.clock.pass_ms(delay_ms - 1)
            assert due_count(store) == 0
            store.clock.pass_ms(1)
            assert act_on_due(store) == 1
    failing = look(store, item)
    assert failing.effects is not None
    assert failing.effects.delivery is not None
    assert (failing.effects.delivery.state, failing.effects.delivery.attempts) == ("pending", 4)
    assert failing.effects.delivery.error == "the disk is full"
    assert failing.effects.next_attempt_at is not None

    store.clock.pass_ms(8_000)
    act_on_due(store)

    assert delivery(look(store, item)) == ("sent", ["signal"])
    assert len(current(store).signals or []) == 1


def test_a_later_revision_is_delivered_too(store: Store) -> None:
    """The event's id has the revision: an answer to a new question is not taken for a repeat of the old one."""
    task = claimed_turn(store)
    act(store, reply(store, ask_value(store, wait=WAIT), "reject"))
    item = ask_value(store, wait=WAIT, question={"property": "price", "value": 13})
    act(store, reply(store, item, "cant_tell"))

    ids = [one.id for one in current(store).signals or []]

    assert ids == [f"{item.id}.r1", f"{item.id}.r2"]
    assert plain(listen(store, task, f"review.{item.id}").steps[0].output)["value"]["decision"] == "reject"


# -- review triggers ---------------------------------------------------------------------------------------------


def with_trigger(store: Store, name: str, review_of: str, shards: int = 1) -> None:
    """A named workflow whose review trigger gets the answers to what `review_of` asks."""
    row = Named(
        store.graph_id, name, "t", "v1", "watch", "watch", b"{}", "review", review_of, shards, None, 4, 16, b"{}",
        None, "block", None, 0, 0,
    )  # fmt: skip
    write(store.database, lambda tx: named_workflows.add(tx, row))


@pytest.fixture
def triggered(store: Store) -> None:
    """The workflow `notes` with its instance, and a trigger on its own questions."""
    start(store, "starter.notes")
    with_trigger(store, "notes", "notes")


@pytest.mark.usefixtures("triggered")
def test_a_review_trigger_gets_one_message(store: Store) -> None:
    workflow = {"name": "notes", "run": "r-1"}
    item = ask(store, workflow=workflow, subject={"iri": "urn:1", "type": "Note"})

    answered = act(store, reply(store, item))
    act(store, answered)

    assert delivery(answered) == ("sent", ["trigger:notes"])
    turn = claimed(store).turn
    assert turn.message_id == f"review-{item.id}-r1"
    message = plain(turn.message)
    assert (message["type"], message["workflow"]) == ("review.answered", "notes")
    assert message["graph"] == {"tenant_id": "test", "graph_id": "main", "branch_id": "main"}
    told = message["review_item"]
    assert (told["id"], told["revision"], told["answer"]["option"]) == (item.id, 1, "parquet")
    assert (told["subject"], told["workflow"]) == ({"iri": "urn:1", "type": "Note"}, workflow)
    assert claim(store) is None


@pytest.mark.usefixtures("triggered")
def test_the_longest_answer_reaches_the_trigger_whole(store: Store) -> None:
    item = ask_value(store, workflow={"name": "notes"}, scope="test")
    value = ["x" * (limits.REVIEW_ANSWER_BYTES - 200)]

    act(store, reply(store, item, "correct", value=value))

    assert plain(claimed(store).turn.message)["review_item"]["answer"]["value"] == value


def test_a_trigger_without_its_instance_is_dropped(store: Store) -> None:
    with_trigger(store, "notes", "notes")

    answered = act(store, reply(store, ask(store, workflow={"name": "notes"})))

    assert delivery(answered) == ("dropped", None)


@pytest.mark.usefixtures("triggered")
def test_the_asking_starter_and_another_workflow_are_told_and_a_stranger_is_not(store: Store) -> None:
    for name, of in (("audit", "notes"), ("other", "other")):
        start(store, f"starter.{name}")
        with_trigger(store, name, of)

    answered = act(store, reply(store, ask(store, origin={"kind": "agent", "id": "starter:notes"})))

    assert delivery(answered) == ("sent", ["trigger:audit", "trigger:notes"])
    assert [current(store, id=f"starter.{name}").message_id for name in ("audit", "notes")] == [
        f"review-{answered.id}-r1"
    ] * 2


def test_answers_about_one_record_go_to_its_shard(store: Store) -> None:
    """Without a record: to shard 0."""
    for shard in range(3):
        start(store, shard_identity("notes", shard))
    with_trigger(store, "notes", "notes", shards=3)
    iri = next(iri for iri in map("urn:{}".format, range(99)) if shard_of(iri.encode(), 3) == 2)

    for key, subject in (("k1", {"iri": iri}), ("k2", {"name": "x"})):
        act(store, reply(store, ask(store, key=key, workflow={"name": "notes"}, subject=subject)))

    assert {claimed(store).turn.workflow_id for _ in range(2)} == {"starter.notes.2", "starter.notes"}
    assert claim(store) is None
    assert "k1" in json.dumps(plain(current(store, id="starter.notes.2").message))


# -- lists -------------------------------------------------------------------------------------------------------


def test_a_list_is_in_short_and_latest_update_first(store: Store) -> None:
    long = "x" * 400
    ask(store, key="k1", rationale=long, evidence=[{"quote": long}, {"quote": "b"}], facts={"summary": "s"})
    store.clock.pass_ms(1)
    second = ask(store, key="k2")
    store.clock.pass_ms(1)
    first = remark(store, ask(store, key="k1"))

    page = listed(store)

    assert (page.object, [one.id for one in page.data], page.has_more) == ("list", [first.id, second.id], False)
    short = page.data[0]
    assert (short.facts, short.comments) == (None, None)
    assert short.rationale == "x" * 299 + "…"
    assert [one.quote for one in short.evidence or []] == ["x" * 299 + "…"]
    assert look(store, first).rationale == long


@pytest.mark.parametrize("filters", [{}, {"status": "open"}, {"kind": "choice,grade"}])
def test_pages_go_on_where_the_last_one_ended(store: Store, filters: dict[str, str]) -> None:
    made = [ask(store, key=f"k{number}").id for number in range(7)]

    found: list[str] = []
    cursor = None
    while True:
        page = listed(store, limit=3, cursor=cursor, **filters)
        found += [one.id for one in page.data]
        if not page.has_more:
            break
        cursor = page.next_cursor

    assert found == sorted(made, reverse=True)


def test_a_list_is_filtered(store: Store) -> None:
    agent = {"kind": "agent", "id": "starter:notes"}
    ask(store, key="a-b", origin=agent, workflow={"name": "floors", "run": "r-1"})
    ask_value(store, scope="test", eval={"id": "ev-1"})
    withdraw(store, ask(store, key="gone"))

    def keys(**filters: str) -> list[str]:
        return sorted(one.key for one in listed(store, **filters).data)

    assert keys(status="open,withdrawn", kind="choice") == ["a-b", "gone"]
    assert keys(scope="test") == keys(eval_id="ev-1") == keys(kind="value") == ["price:1"]
    assert keys(origin_id="starter:notes") == keys(workflow="floors") == keys(run="r-1") == ["a-b"]
    ask(store, key="by-starter", origin=agent)
    assert keys(workflow="notes") == ["by-starter"]
    assert keys(workflow="notes", status="answered") == []
    assert keys(key="a-b,nobody,gone") == ["a-b", "gone"]
    assert keys(key="a-b,gone", status="open") == ["a-b"]


def test_filters_that_name_nothing_known_are_refused(store: Store) -> None:
    for filters, param in (
        ({"status": "open,closed"}, "status"),
        ({"kind": "change"}, "kind"),
        ({"cursor": "x"}, "cursor"),
        ({"key": ",".join(f"k{number}" for number in range(101))}, "key"),
    ):
        with refused("invalid_param", f"^{param}:"):
            listed(store, **filters)


def test_items_that_ask_the_same_are_one_pattern(store: Store) -> None:
    for number in range(3):
        ask_value(store, key=f"p{number}", subject={"type": "Item", "name": f"n{number}"})
    item = ask(store)

    groups = patterns(store).data

    assert [(one.kind, one.type, one.property, one.count) for one in groups] == [
        ("value", "Item", "price", 3),
        ("choice", None, None, 1),
    ]
    made = reply_to_all(store, [item.id], pattern=groups[0].id)
    assert made.skipped == 1
    assert reply_to_all(store, [item.id], pattern=groups[1].id).answered == 1


# -- the store's own check ---------------------------------------------------------------------------------------


def spoil(store: Store, sql: str) -> None:
    """What no operation does. The store is checked when the test is over, so the row goes again."""
    write(store.database, lambda tx: tx._connection.execute(sql))


@pytest.mark.parametrize(
    "damage",
    [
        "update review set due_at_ms = null",
        "update review set delivery = 'sent'",
        "update review set delivery = 'sent', due_at_ms = null",  # and somebody still waits
        "update review set status = 'open'",
    ],
)
def test_an_answer_that_would_never_be_delivered_is_found(store: Store, damage: str) -> None:
    item = reply(store, waiting_turn(store))
    assert read(store.database, doctor.problems) == []

    spoil(store, damage)

    (problem,) = read(store.database, doctor.problems)
    assert f"review item {item.id}" in problem
    spoil(store, "delete from review_waiter")
    spoil(store, "delete from review")


def test_an_answer_that_is_late_is_found(store: Store) -> None:
    item = reply(store, waiting_turn(store))
    store.clock.pass_ms(601_001)

    (problem,) = read(store.database, doctor.problems)

    assert "its delivery pending, due at 2027-01-15T08:00:01.000Z" in problem
    act(store, item)
