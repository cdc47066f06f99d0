"""What may be asked and answered: the fields of each kind of question, the decisions that fit it (lbb-graph 4.1)."""

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import UNSET

from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.review import ReviewDecision, ReviewFacts, ReviewQuestion
from turnbuckle.wire.value import fingerprint

# kind: (fields a question must have, fields it may have)
FIELDS: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    "value": (frozenset({"property", "value"}), frozenset({"unit", "confidence"})),
    "choice": (frozenset({"options"}), frozenset({"proposed", "confidence"})),
    "grade": (frozenset({"output", "options"}), frozenset({"proposed"})),
    "answer": (frozenset({"prompt"}), frozenset()),
}
DECISIONS: Final[dict[str, tuple[str, ...]]] = {
    "value": ("accept", "reject", "correct", "cant_tell"),
    "choice": ("choose", "cant_tell"),
    "grade": ("choose", "cant_tell"),
    "answer": ("accept", "cant_tell"),  # accept: the answer is the note
}
_NULL = b"null"


def without_nulls(question: ReviewQuestion) -> ReviewQuestion:
    """The question with null as absent, in its two fields of free JSON too (lbb-graph 0.3)."""
    absent = {name: UNSET for name in ("value", "output") if not has_json(getattr(question, name))}
    return msgspec.structs.replace(question, **absent) if absent else question


def check_question(kind: str, question: ReviewQuestion) -> None:
    """Refused(invalid_param) unless the question has the fields of its kind and no other."""
    needed, possible = FIELDS[kind]
    given = set(_given(question))
    for name in sorted(needed - given):
        raise _refused(f"question.{name}", "nothing", f"a question of kind {kind} with it")
    for name in sorted(given - needed - possible):
        expected = ", ".join(sorted(needed | possible))
        raise _refused(f"question.{name}", "a field of another kind", f"only the fields of kind {kind}: {expected}")
    _check_options(question)


def _given(question: ReviewQuestion) -> Iterable[str]:
    for name in question.__struct_fields__:
        value = getattr(question, name)
        if value is not UNSET and value is not None:
            yield name


def _check_options(question: ReviewQuestion) -> None:
    ids = [option.id for option in question.options or ()]
    for index, one in enumerate(ids):
        if one in ids[:index]:
            raise _refused(f"question.options[{index}].id", repr(one) + " a second time", "each option id once")
    if question.proposed is not None and question.proposed not in ids:
        raise _refused("question.proposed", repr(question.proposed), f"one of {', '.join(ids)}")


def check_facts(facts: ReviewFacts | None) -> None:
    """Refused(invalid_param) when an accept would write more rows than one answer may."""
    if facts is None:
        return
    rows = len(facts.entity_properties or ()) + len(facts.triplets or ())
    if rows > limits.REVIEW_FACTS_ROWS:
        raise _refused("facts", f"{rows} rows and edges", f"at most {limits.REVIEW_FACTS_ROWS} together")


def check_decision(kind: str, question: ReviewQuestion, said: ReviewDecision) -> None:
    """Refused(invalid_request) unless the decision fits the kind and carries what it needs, and nothing else."""
    if said.decision not in DECISIONS[kind]:
        expected = f"one of {', '.join(DECISIONS[kind])} for an item of kind {kind}"
        raise _misfit("answer.decision", repr(said.decision), expected)
    has_value = has_json(said.value)
    if has_value != (said.decision == "correct"):
        got = "a value" if has_value else "no value"
        raise _misfit("answer.value", f"{got} with {said.decision}", "a value with `correct`, and only there")
    if (said.option is not None) != (said.decision == "choose"):
        got = "an option" if said.option is not None else "no option"
        raise _misfit("answer.option", f"{got} with {said.decision}", "an option with `choose`, and only there")
    ids = [option.id for option in question.options or ()]
    if said.option is not None and said.option not in ids:
        raise _misfit("answer.option", repr(said.option), f"one of {', '.join(ids)}")
    if (kind, said.decision) == ("answer", "accept") and not (said.note or "").strip():
        raise _misfit("answer.note", "no text", "the answer's text")


def question_hash(kind: str, question: ReviewQuestion) -> bytes:
    """Equal for two questions that ask the same, whatever the order of keys and the spelling of numbers."""
    return fingerprint(msgspec.json.encode([kind, question]))


def proposal_hash(question: ReviewQuestion) -> bytes:
    proposed = [question.value] if question.value is not UNSET else []
    return fingerprint(msgspec.json.encode([proposed, question.proposed]))


def has_json(value: object) -> bool:
    """Whether an optional JSON field was given: null is absent there (lbb-graph 0.3)."""
    return isinstance(value, msgspec.Raw) and bytes(value) != _NULL


def _refused(param: str, got: str, expected: str) -> Refused:
    return Refused("invalid_param", f"{param}: got {got}, expected {expected}", param=param)


def _misfit(param: str, got: str, expected: str) -> Refused:
    return Refused("invalid_request", f"{param}: got {got}, expected {expected}", param=param)
