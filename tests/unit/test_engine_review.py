"""Rules of review items: what may be asked and answered, filing again, and what an answer does (lbb-graph 4)."""

import itertools
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from turnbuckle.engine import review as rules
from turnbuckle.engine import review_effects as effects
from turnbuckle.engine import review_question as questions
from turnbuckle.engine.review import ANSWERED, OPEN, PENDING, WITHDRAWN, Review
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.review import ReviewDecision, ReviewQuestion

NOW_MS = 1_800_000_000_000
OPTIONS = [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]
QUESTIONS: dict[str, dict[str, Any]] = {
    "value": {"property": "price", "value": 12},
    "choice": {"options": OPTIONS},
    "grade": {"options": OPTIONS, "output": {"text": "x"}},
    "answer": {"prompt": "Why?"},
}
SAID: dict[str, dict[str, Any]] = {
    "accept": {},
    "reject": {},
    "correct": {"value": 13},
    "choose": {"option": "a"},
    "cant_tell": {},
}


def question(**fields: Any) -> ReviewQuestion:
    return msgspec.json.decode(json.dumps(fields).encode(), type=ReviewQuestion)


def said(decision: str, **fields: Any) -> ReviewDecision:
    body = {"decision": decision, **SAID[decision], **fields}
    return msgspec.json.decode(json.dumps(body).encode(), type=ReviewDecision)


def item(kind: str = "value", **fields: Any) -> Review:
    """An open item of a kind; `question` as its JSON value, the rest as columns."""
    asked = question(**fields.pop("question", QUESTIONS[kind]))
    question_hash, proposal_hash = rules.fingerprints(kind, asked)
    made = Review(
        "g", "rev_1", b"k", kind, "live", OPEN, 1, b"t", msgspec.json.encode(asked), question_hash, proposal_hash,
        b'{"kind":"agent"}', NOW_MS, NOW_MS,
    )  # fmt: skip
    return replace(made, **fields)


def answered(kind: str = "value", decision: str = "accept", **fields: Any) -> Review:
    return rules.answer(item(kind, **fields), said(decision), "key:1", True, NOW_MS)


def settled(review: Review) -> Review:
    return effects.delivered(replace(review, write="none"), NOW_MS)


# -- questions and decisions -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_question_has_the_fields_of_its_kind(kind: str) -> None:
    questions.check_question(kind, question(**QUESTIONS[kind]))

    for missing in QUESTIONS[kind]:
        rest = {name: value for name, value in QUESTIONS[kind].items() if name != missing}
        with pytest.raises(Refused, match=f"^question.{missing}: got nothing"):
            questions.check_question(kind, question(**rest))


@pytest.mark.parametrize(("kind", "other"), list(itertools.permutations(QUESTIONS, 2)))
def test_a_field_of_another_kind_is_refused(kind: str, other: str) -> None:
    more = {name: value for name, value in QUESTIONS[other].items() if name not in QUESTIONS[kind]}
    if not more:
        return  # a grade has what a choice has
    with pytest.raises(Refused, match=f"a field of another kind, expected only the fields of kind {kind}"):
        questions.check_question(kind, question(**QUESTIONS[kind], **more))


def test_null_is_a_field_that_is_not_there() -> None:
    asked = questions.without_nulls(question(**QUESTIONS["choice"], value=None, output=None, prompt=None))

    questions.check_question("choice", asked)
    assert rules.fingerprints("choice", asked) == rules.fingerprints("choice", question(**QUESTIONS["choice"]))


def test_options_are_told_apart_and_the_proposed_one_is_among_them() -> None:
    with pytest.raises(Refused, match=r"^question.options\[1\].id: got 'a' a second time"):
        questions.check_question("choice", question(options=[OPTIONS[0], OPTIONS[0]]))
    with pytest.raises(Refused, match=r"^question\.proposed: got 'c', expected one of a, b"):
        questions.check_question("choice", question(options=OPTIONS, proposed="c"))


@pytest.mark.parametrize(("kind", "decision"), list(itertools.product(QUESTIONS, SAID)))
def test_each_kind_takes_its_decisions_and_no_other(kind: str, decision: str) -> None:
    asked = question(**QUESTIONS[kind])
    note = {"note": "because"} if kind == "answer" else {}

    if decision in questions.DECISIONS[kind]:
        questions.check_decision(kind, asked, said(decision, **note))
        return
    with pytest.raises(Refused, match=f"^answer.decision: got '{decision}'") as info:
        questions.check_decision(kind, asked, said(decision, **note))
    assert (info.value.code, info.value.param) == ("invalid_request", "answer.decision")


@pytest.mark.parametrize(
    ("kind", "decision", "fields", "param"),
    [
        ("value", "correct", {"value": None}, "answer.value"),
        ("value", "accept", {"value": 1}, "answer.value"),
        ("value", "accept", {"option": "a"}, "answer.option"),
        ("choice", "choose", {"option": "c"}, "answer.option"),
        ("choice", "choose", {"option": None}, "answer.option"),
        ("choice", "cant_tell", {"option": "a"}, "answer.option"),
        ("answer", "accept", {}, "answer.note"),
        ("answer", "accept", {"note": " \n"}, "answer.note"),
    ],
)
def test_a_decision_carries_what_it_needs_and_no_more(
    kind: str, decision: str, fields: dict[str, Any], param: str
) -> None:
    with pytest.raises(Refused) as info:
        questions.check_decision(kind, question(**QUESTIONS[kind]), said(decision, **fields))

    assert (info.value.code, info.value.param) == ("invalid_request", param)


# -- filing again: every row of the table, against a table written down once more ---------------------------------

FILINGS = st.fixed_dictionaries(
    {
        "value": st.sampled_from([12, 12.0, 13]),
        "unit": st.sampled_from([None, "EUR"]),
        "hash": st.sampled_from([None, b"e1", b"e2"]),
    }
)


def filing(asked: dict[str, Any]) -> Review:
    unit = {} if asked["unit"] is None else {"unit": asked["unit"]}
    body = {"property": "price", "value": asked["value"], **unit}
    return item(question=body, evidence_hash=asked["hash"], review_id="rev_new", title=b"new")


@given(
    first=FILINGS,
    again=FILINGS,
    state=st.sampled_from(["open", "withdrawn", "accept", "reject", "correct", "cant_tell", "pending"]),
)
def test_filing_again_does_what_the_table_says(first: dict[str, Any], again: dict[str, Any], state: str) -> None:
    known = replace(filing(first), review_id="rev_1", title=b"old", revision=4)
    if state == "withdrawn":
        known = rules.withdraw(known, "no", NOW_MS)
    elif state == "pending":
        known = rules.answer(known, said("reject"), "key:1", False, NOW_MS)
    elif state != "open":
        known = settled(rules.answer(known, said(state), "key:1", False, NOW_MS))
    asked = filing(again)
    same = (first["value"], first["unit"]) == (again["value"], again["unit"])
    other_evidence = again["hash"] is not None and first["hash"] != again["hash"]
    reopens = state not in ("open", "withdrawn", "pending") and (
        (other_evidence and first["value"] != again["value"]) or (state == "reject" and not same)
    )

    made = rules.refile(known, asked, NOW_MS + 1)

    assert (made.review_id, made.key, made.created_at_ms) == ("rev_1", b"k", NOW_MS)
    if (state == "open" and same) or (known.status == ANSWERED and not reopens):
        assert made == known
        return
    assert made.status == OPEN
    assert made.revision == (4 if state == "withdrawn" and same else 5)
    assert (made.title, made.question, made.answer) == (b"new", asked.question, None)
    assert made.previous_answer == known.answer
    assert (made.delivery, made.write, made.due_at_ms, made.withdrawn_reason) == ("none", "none", None, None)


@given(st.lists(st.sampled_from(["file", "file other", "answer", "withdraw", "settle"]), max_size=12))
def test_revisions_never_go_back_and_an_answer_is_never_lost(moves: list[str]) -> None:
    """Whatever happens: one revision has at most one answer, so an event's id never names two."""
    current, number = item(), 12
    answers: dict[int, bytes | None] = {}
    for move in moves:
        before = current
        try:
            match move:
                case "file":
                    current = rules.refile(current, item(question={"property": "price", "value": number}), NOW_MS)
                case "file other":
                    number += 1
                    asked = item(question={"property": "price", "value": number}, evidence_hash=str(number).encode())
                    current = rules.refile(current, asked, NOW_MS)
                case "answer":
                    current = rules.answer(current, said("reject"), "key:1", False, NOW_MS)
                    assert answers.setdefault(current.revision, current.answer) is current.answer
                case "withdraw":
                    current = rules.withdraw(current, "no", NOW_MS)
                case "settle" if current.status == ANSWERED:
                    current = settled(current)
        except Refused:
            assert before.status != OPEN  # an open item takes every move
        assert current.revision >= before.revision
        if before.delivery == PENDING and move != "settle":
            assert current == before


# -- answering ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [WITHDRAWN, ANSWERED])
def test_only_an_open_item_is_answered_or_withdrawn(change: str) -> None:
    closed = rules.withdraw(item(), "no", NOW_MS) if change == WITHDRAWN else answered()

    with pytest.raises(Refused, match="cannot be answered: it was"):
        rules.answer(closed, said("accept"), "key:2", False, NOW_MS)
    with pytest.raises(Refused, match="cannot be withdrawn: it was"):
        rules.withdraw(closed, "no", NOW_MS)


def test_the_server_says_who_answered_and_when() -> None:
    stored = json.loads(answered(decision="correct").answer or b"")

    assert stored == {"decision": "correct", "value": 13, "by": "key:1", "at": "2027-01-15T08:00:00.000Z"}


@pytest.mark.parametrize(("revision", "is_taken"), [(None, True), (1, True), (0, False), (2, False)])
def test_an_answer_is_to_the_question_that_was_read(revision: int | None, is_taken: bool) -> None:
    if is_taken:
        rules.check_revision(item(), revision)
        return
    with pytest.raises(Refused) as info:
        rules.check_revision(item(), revision)
    assert info.value.code == "review_stale"


@pytest.mark.parametrize(
    ("name", "origin_id", "expected"),
    [
        (None, None, set()),
        (b"notes", None, {"notes"}),
        (None, b"starter:notes", {"notes"}),
        (b"a", b"starter:b", {"a", "b"}),
        (None, b"other:notes", set()),
    ],
)
def test_who_asked_is_the_workflow_or_the_starter(
    name: bytes | None, origin_id: bytes | None, expected: set[str]
) -> None:
    assert rules.asked_by(item(workflow_name=name, origin_id=origin_id)) == expected


# -- what an answer writes ---------------------------------------------------------------------------------------

SUBJECT = b'{"type":"Item","name":"Tea","key":"t-1"}'
ROW = {"type": "Item", "name": "Tea", "key": "t-1"}


def committed(review: Review) -> Any:
    body = json.loads(msgspec.json.encode(effects.commit_request(review)))
    return {name: part for name, part in body.items() if part is not None}


@pytest.mark.parametrize(
    ("kind", "scope", "decision", "has_record", "expected"),
    [
        ("value", "live", "accept", True, True),
        ("value", "live", "correct", True, True),
        ("value", "live", "reject", True, False),
        ("value", "live", "cant_tell", True, False),
        ("value", "test", "accept", True, False),
        ("value", "live", "accept", False, False),
        ("choice", "live", "choose", True, False),
    ],
)
def test_only_live_values_about_a_record_are_written(
    kind: str, scope: str, decision: str, has_record: bool, expected: bool
) -> None:
    assert effects.writes(kind, scope, decision, SUBJECT if has_record else None, None) is expected


def test_an_accepted_value_goes_to_the_subject() -> None:
    assert committed(answered(subject=SUBJECT)) == {"entity_properties": [{**ROW, "properties": {"price": 12}}]}
    assert committed(answered(decision="correct", subject=SUBJECT)) == {
        "entity_properties": [{**ROW, "properties": {"price": 13}}]
    }


def test_a_subject_named_by_its_iri_keeps_its_name() -> None:
    entity_id = "0a" * 16
    subject = json.dumps({"type": "Item", "name": "Old name", "iri": f"https://littlebigbrain.com/e/{entity_id}"})

    (row,) = committed(answered(subject=subject.encode()))["entity_properties"]

    assert row == {"type": "Item", "name": entity_id, "entity_id": entity_id, "properties": {"price": 12}}


FACTS = {
    "entity_properties": [{**ROW, "properties": {"price": 12, "seen": True}}],
    "replace_owned": {"subjects": [ROW], "properties": ["price"]},
    "summary": "a price",
}


def test_an_accept_writes_the_facts_where_there_are_some() -> None:
    review = answered(facts=json.dumps(FACTS).encode())

    assert committed(review) == {name: FACTS[name] for name in ("entity_properties", "replace_owned")}


@pytest.mark.parametrize(
    "properties",
    [
        {"price": 12, "seen": True},
        [{"field": "price", "value": {"i64": 12}}, {"field": "seen", "value": {"bool": True}}],
    ],
)
def test_a_correction_replaces_the_value_in_the_facts(properties: Any) -> None:
    facts = {**FACTS, "entity_properties": [{**ROW, "properties": properties}]}

    body = committed(answered(decision="correct", subject=SUBJECT, facts=json.dumps(facts).encode()))

    (row,) = body["entity_properties"]
    flat = {"price": 13, "seen": True}
    typed = [{"field": "price", "value": {"i64": 13}}, {"field": "seen", "value": {"bool": True}}]
    assert row["properties"] == (flat if isinstance(properties, dict) else typed)
    assert body["replace_owned"] == facts["replace_owned"]


def test_a_correction_of_what_the_facts_do_not_set_goes_to_the_subject() -> None:
    facts = {"entity_properties": [{**ROW, "properties": {"seen": True}}]}

    body = committed(answered(decision="correct", subject=SUBJECT, facts=json.dumps(facts).encode()))

    assert body == {"entity_properties": [{**ROW, "properties": {"price": 13}}]}


def test_a_correction_that_names_no_record_is_refused() -> None:
    facts = json.dumps({"entity_properties": [{**ROW, "properties": {"seen": True}}]}).encode()

    with pytest.raises(Refused, match="names no record"):
        effects.commit_request(answered(decision="correct", facts=facts))


def test_the_commit_key_names_item_revision_and_content() -> None:
    first, other = answered(subject=SUBJECT), answered(decision="correct", subject=SUBJECT)

    def key(review: Review) -> str:
        return effects.commit_key(review, effects.commit_request(review))

    assert key(first) == key(first)
    assert key(first).startswith("review:rev_1:r1:")
    assert key(first) != key(other)


# -- effects -----------------------------------------------------------------------------------------------------


def test_the_value_is_written_before_anybody_is_told() -> None:
    review = answered(subject=SUBJECT)
    assert effects.next_step(review) == "write"

    assert effects.next_step(effects.written(review, "k", 7, False, "", NOW_MS)) == "deliver"
    assert effects.next_step(effects.write_refused(review, "k", "no such class", NOW_MS)) == "deliver"
    assert effects.next_step(effects.write_failed(review, "k", "disk full", NOW_MS)) == "write"
    assert effects.next_step(settled(review)) is None
    assert effects.next_step(item()) is None


def test_a_failing_write_waits_longer_each_time_and_ends() -> None:
    review, delays = answered(subject=SUBJECT), []
    while effects.next_step(review) == "write":
        review = effects.write_failed(review, "k", "disk full", NOW_MS)
        delays.append((review.due_at_ms or 0) - NOW_MS)

    assert delays[:7] == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]
    assert (len(delays), review.write) == (limits.REVIEW_WRITE_ATTEMPTS, "refused")
    assert review.commit_error == b"given up after 12 attempts: disk full"


@given(st.lists(st.tuples(st.sampled_from(["signal", "trigger:a", "trigger:b"]), st.sampled_from(["sent", "dropped"]))))
def test_a_delivery_is_sent_when_anybody_heard(outcomes: list[tuple[str, str]]) -> None:
    review = replace(answered(), write="none")
    for target, outcome in outcomes:
        review = effects.told(review, target, outcome, "gone" if outcome == "dropped" else None)

    done = effects.delivered(review, NOW_MS)

    kinds = {outcome for _, outcome in outcomes}
    assert done.delivery == ("sent" if "sent" in kinds else "dropped" if "dropped" in kinds else "none")
    heard = {target for target, outcome in outcomes if outcome == "sent"}
    assert {target for target, outcome in effects.targets(done).items() if outcome == "sent"} == heard
    assert (done.due_at_ms, done.delivery_attempts) == (None, len(outcomes))
