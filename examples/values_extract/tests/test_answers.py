"""The table of a person's answers: what becomes of a value that is read again."""

import pytest

from values_extract.answers import Answer, Settled, answer_of, settle, typed
from values_extract.values import Value

GATE = 0.8
OLD, NEW = "hash of the text that was asked about", "hash of a later text"


def read(value: float = 60.0, support: float | None = 0.9, problem: str | None = None, quote: str = "60 cm") -> Value:
    return Value("width_cm", value, quote, support, problem)


def answered(decision: str, value: float | None = None, **changed: object) -> Answer:
    """An answer about 60, read from the old text."""
    fields = {"decision": decision, "value": value, "asked": 60.0, "text_hash": OLD, "quote": "60 cm"}
    flags = {"is_asked_again": False, "is_refused": False}
    return Answer(**{**fields, **flags, **changed})  # type: ignore[arg-type]


def given(value: float, quote: str = "60 cm") -> Value:
    """A person's value as it is written."""
    return Value("width_cm", value, quote, 1.0)


def settled(value: Value | None, answer: Answer | None, text_hash: str = OLD) -> Settled:
    return settle("width_cm", value, answer, text_hash, GATE)


# -- nobody has answered ---------------------------------------------------------------------------------------------


def test_a_supported_value_is_written() -> None:
    assert settled(read(support=0.8), None) == Settled(written=read(support=0.8))


def test_a_value_below_the_gate_is_asked() -> None:
    found = settled(read(support=0.79), None)

    assert found.asked == read(support=0.79)
    assert found.reason == "the quote supports it by 0.79, less than 0.80"


def test_a_value_whose_unit_is_not_confirmed_is_asked_however_well_it_is_supported() -> None:
    assert settled(read(support=1.0, problem="no unit"), None).reason == "no unit"


def test_a_value_the_decision_model_skipped_is_asked() -> None:
    assert settled(read(support=None), None).asked == read(support=None)


def test_a_value_with_weak_support_is_dropped() -> None:
    assert settled(read(support=0.49), None) == Settled(is_weak=True)
    assert settled(read(support=0.5), None).asked is not None


# -- accept and correct ----------------------------------------------------------------------------------------------


def test_an_accepted_value_is_written_with_the_others() -> None:
    value = read(support=0.6)

    assert settled(value, answered("accept", 60.0)) == Settled(written=given(60.0))


def test_a_corrected_value_is_written_and_not_what_the_text_was_read_to_say() -> None:
    assert settled(read(), answered("correct", 61.0)) == Settled(written=given(61.0))


def test_an_accepted_value_stays_when_nothing_is_read_any_more() -> None:
    assert settled(None, answered("accept", 60.0), NEW) == Settled(written=given(60.0))


def test_a_new_text_with_another_value_is_asked_again_and_the_persons_value_is_held() -> None:
    found = settled(read(75.0, support=1.0), answered("accept", 60.0), NEW)

    assert found.asked == read(75.0, support=1.0)
    assert found.is_held
    assert found.written is None


def test_while_it_is_asked_again_the_persons_value_is_held() -> None:
    again = answered("accept", None, asked=None, is_asked_again=True)

    assert settled(read(75.0), again, NEW).is_held
    assert settled(None, again, NEW) == Settled(is_held=True)


def test_a_weak_value_in_a_new_text_does_not_shake_a_persons_answer() -> None:
    found = settled(read(75.0, support=0.1), answered("accept", 60.0), NEW)

    assert found == Settled(written=given(60.0), is_weak=True)


@pytest.mark.parametrize("value", [60.0, 61.0], ids=["the value asked about", "the value given"])
def test_the_same_value_quoted_from_another_text_asks_nothing(value: float) -> None:
    found = settled(read(value, quote=f"now {value:.0f} cm"), answered("correct", 61.0), NEW)

    assert found == Settled(written=given(61.0))


# -- reject ----------------------------------------------------------------------------------------------------------


def test_a_rejected_value_is_not_written_again_even_above_the_gate() -> None:
    assert settled(read(support=1.0), answered("reject"), NEW) == Settled()


def test_another_value_than_the_rejected_one_goes_its_ordinary_way() -> None:
    assert settled(read(75.0), answered("reject"), NEW) == Settled(written=read(75.0))


def test_while_another_value_than_the_rejected_one_is_asked_nothing_is_written() -> None:
    found = settled(read(75.0, support=1.0), answered("reject", asked=None, is_asked_again=True), NEW)

    assert found.asked == read(75.0, support=1.0)
    assert not found.is_held


def test_a_person_who_cannot_tell_changes_nothing() -> None:
    assert settled(read(), answered("cant_tell")) == Settled(written=read())


# -- values the graph refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [read(60.0, support=1.0), read(-1.0), None], ids=["asked", "given", "nothing"])
def test_an_answer_whose_commit_was_refused_is_not_written(value: Value | None) -> None:
    assert settled(value, answered("correct", -1.0, is_refused=True), NEW) == Settled()


def test_another_value_after_a_refused_answer_goes_its_ordinary_way() -> None:
    assert settled(read(75.0), answered("correct", -1.0, is_refused=True), NEW) == Settled(written=read(75.0))


def test_an_answer_of_another_type_counts_as_refused() -> None:
    answer = Answer("correct", "wide", 60.0, OLD, "60 cm", is_asked_again=False, is_refused=False)

    assert typed(answer, "f64").is_refused
    assert typed(answer, "keyword") == answer


def test_an_answer_written_as_text_is_taken_in_the_propertys_type() -> None:
    answer = Answer("correct", "61", 60.0, OLD, "60 cm", is_asked_again=False, is_refused=False)

    assert typed(answer, "f64").value == 61.0


# -- what an item says -----------------------------------------------------------------------------------------------


def item(status: str, **fields: object) -> dict[str, object]:
    question = {"property": "width_cm", "value": 60.0}
    evidence = [{"quote": "60 cm"}]
    return {"status": status, "question": question, "evidence": evidence, "evidence_hash": OLD, **fields}


def test_an_accept_means_the_value_that_was_asked() -> None:
    assert answer_of(item("answered", answer={"decision": "accept"})) == answered("accept", 60.0)


def test_a_correction_means_its_own_value() -> None:
    correction = {"decision": "correct", "value": 61.0}

    assert answer_of(item("answered", answer=correction)) == answered("correct", 61.0)


def test_a_refused_commit_is_seen() -> None:
    found = answer_of(item("answered", answer={"decision": "accept"}, effects={"commit_error": "too wide"}))

    assert found is not None
    assert found.is_refused


def test_the_previous_answer_of_a_reopened_item_is_in_force() -> None:
    found = answer_of(item("open", previous_answer={"decision": "accept"}))

    assert found is not None
    assert found.is_asked_again


@pytest.mark.parametrize("status", ["open", "withdrawn"])
def test_an_item_without_an_answer_says_nothing(status: str) -> None:
    assert answer_of(item(status)) is None
