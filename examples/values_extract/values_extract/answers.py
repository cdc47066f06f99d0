"""What a person's earlier answer means for a value that is read now. It wins, until the text changes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from values_extract.coerce import Typed, coerce, same, shown
from values_extract.values import Value

WEAK = 0.5  # below it a quote is taken not to support its value at all


@dataclass(frozen=True)
class Answer:
    """The answer that is in force for one property of one instance."""

    decision: str  # accept, correct, reject or cant_tell
    value: Typed | None  # of accept and correct: what the person says it is
    asked: Typed | None  # the value the person was asked about; None when the item asks about another one by now
    text_hash: str  # of the text that the question was read from
    quote: str
    is_asked_again: bool  # the text said another thing later, and the person was asked about that
    is_refused: bool  # the graph did not take the answered value


@dataclass(frozen=True)
class Settled:
    """What becomes of one property. At most one of `written` and `asked` is set."""

    written: Value | None = None
    asked: Value | None = None
    reason: str = ""  # why it is asked
    is_held: bool = False  # the stored value is a person's: leave it and its source as they are
    is_weak: bool = False


def answer_of(item: Mapping[str, Any]) -> Answer | None:
    """The answer in force of a review item (its JSON), or None while nobody has answered."""
    is_open = item["status"] == "open"
    given = item.get("previous_answer") if is_open else item.get("answer")
    if item["status"] == "withdrawn" or not given:
        return None
    asked = None if is_open else item["question"].get("value")
    evidence = item.get("evidence") or [{"quote": ""}]
    return Answer(
        decision=given["decision"],
        value=given.get("value") if given["decision"] == "correct" else asked,
        asked=asked,
        text_hash=item.get("evidence_hash") or "",
        quote="" if is_open else evidence[0]["quote"],
        is_asked_again=is_open,
        is_refused=bool((item.get("effects") or {}).get("commit_error")),
    )


def typed(answer: Answer, value_type: str) -> Answer:
    """The answer with its value in the property's type; refused, as the graph would, when it is not of that type."""
    if answer.value is None:
        return answer
    try:
        return replace(answer, value=coerce(shown(answer.value), value_type).value)
    except ValueError:
        return replace(answer, is_refused=True)


def settle(name: str, read: Value | None, answer: Answer | None, text_hash: str, gate: float) -> Settled:
    """What becomes of property `name`, where `read` is what the text was read to say now, if anything.

    The table of cases is in tests/test_answers.py.
    """
    is_weak = read is not None and read.support is not None and read.support < WEAK
    settled = _by_answer(name, None if is_weak else read, answer, text_hash, gate)
    return replace(settled, is_weak=is_weak)


def _by_answer(name: str, read: Value | None, answer: Answer | None, text_hash: str, gate: float) -> Settled:
    match answer:
        case None | Answer(decision="cant_tell"):
            return _by_support(read, gate)
        case Answer(decision="reject", is_asked_again=True):
            return Settled(asked=read, reason="a person rejected another value" if read else "")
        case Answer(decision="reject"):
            return Settled() if read is not None and same(read.value, answer.asked) else _by_support(read, gate)
        case Answer(is_asked_again=True):
            return Settled(asked=read, reason="a person gave another value" if read else "", is_held=True)
        case Answer(is_refused=True):
            return Settled() if read is None or _is_known(read, answer) else _by_support(read, gate)
    if read is not None and answer.text_hash != text_hash and not _is_known(read, answer):
        return Settled(asked=read, reason="a person gave another value for an earlier text", is_held=True)
    return Settled() if answer.value is None else Settled(written=Value(name, answer.value, answer.quote, 1.0))


def _is_known(read: Value, answer: Answer) -> bool:
    """Whether the person saw this value already: as the question, or as the answer."""
    return same(read.value, answer.asked) or same(read.value, answer.value)


def _by_support(read: Value | None, gate: float) -> Settled:
    if read is None:
        return Settled()
    if read.problem is not None:
        return Settled(asked=read, reason=read.problem)
    if read.support is None:
        return Settled(asked=read, reason="the decision model did not say how well the quote supports it")
    if read.support < gate:
        return Settled(asked=read, reason=f"the quote supports it by {read.support:.2f}, less than {gate:.2f}")
    return Settled(written=read)
