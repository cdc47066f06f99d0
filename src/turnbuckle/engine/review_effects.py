"""What an answer does after it was recorded: first the commit of a value, then the news to everyone who waits.

    write:    none              pending ──▶ written | refused
    delivery: pending ──▶ sent | dropped | none (nobody to tell)

Each arrow is one transaction, so a server that is killed between two of them goes on where it was.
Source: lbb-graph 4.4.
"""

import json
from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from turnbuckle.engine import retry
from turnbuckle.engine.review import ANSWERED, DROPPED, NONE, PENDING, REFUSED, SENT, WRITTEN, Review
from turnbuckle.wire import limits
from turnbuckle.wire.commit import EntityPropertiesInput, GraphCommitRequest, TypedFieldInput
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.review import ReviewAnswer, ReviewFacts, ReviewQuestion, ReviewSubject
from turnbuckle.wire.value import fingerprint

Step = Literal["write", "deliver"]
SIGNAL: Final = "signal"  # a target of `told`: all turns that wait
_ENTITY = "https://littlebigbrain.com/e/"


def next_step(item: Review) -> Step | None:
    """What is to be done now; None when all is done."""
    if item.status != ANSWERED:
        return None
    if item.write == PENDING:
        return "write"
    return "deliver" if item.delivery == PENDING else None


# -- the commit --------------------------------------------------------------------------------------------------


def writes(kind: str, scope: str, decision: str, subject: bytes | None, facts: bytes | None) -> bool:
    """Whether the answer puts something into the graph: a live value that was accepted or corrected."""
    is_value = kind == "value" and scope == "live" and decision in ("accept", "correct")
    return is_value and (facts is not None or _row_of(subject) is not None)


def commit_request(item: Review) -> GraphCommitRequest:
    """The commit. An accept writes the facts where there are some, else the value on the subject.

    A correction writes the person's value: in the rows of the facts that set the property, else on the subject.
    Refused(invalid_request) when that names no record.
    """
    assert item.answer is not None
    question = msgspec.json.decode(item.question, type=ReviewQuestion)
    answer = msgspec.json.decode(item.answer, type=ReviewAnswer)
    assert question.property is not None
    facts = None if item.facts is None else msgspec.json.decode(item.facts, type=ReviewFacts)
    if answer.decision == "accept" and facts is not None:
        return _of_facts(facts, facts.entity_properties)
    value = _value(answer.value if answer.decision == "correct" else question.value)
    rows = (facts and facts.entity_properties) or []
    if facts is not None and any(_sets(row, question.property) for row in rows):
        return _of_facts(facts, [_with_value(row, question.property, value) for row in rows])
    row = _row_of(item.subject)
    if row is None:
        raise Refused("invalid_request", "the item names no record that the value could be written to")
    return GraphCommitRequest(entity_properties=[replace(row, properties={question.property: value})])


def _of_facts(facts: ReviewFacts, rows: list[EntityPropertiesInput] | None) -> GraphCommitRequest:
    return GraphCommitRequest(entity_properties=rows, triplets=facts.triplets, replace_owned=facts.replace_owned)


def _sets(row: EntityPropertiesInput, name: str) -> bool:
    if isinstance(row.properties, list):
        return any(field.field == name for field in row.properties)
    return name in (row.properties or {})


def _with_value(row: EntityPropertiesInput, name: str, value: Any) -> EntityPropertiesInput:
    """The row with another value of the property, where it sets it; in either of its two shapes (lbb-graph 2.5)."""
    if isinstance(row.properties, dict) and name in row.properties:
        return replace(row, properties={**row.properties, name: value})
    if isinstance(row.properties, list):
        fields = [_typed(field, value) if field.field == name else field for field in row.properties]
        return replace(row, properties=fields)
    return row


def _typed(field: TypedFieldInput, value: Any) -> TypedFieldInput:
    return replace(field, value=dict.fromkeys(field.value, value))  # under the type word that it has


def _value(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else None


def _row_of(subject: bytes | None) -> EntityPropertiesInput | None:
    """The subject as a row of a commit names a record: by its id, else by type with key or name."""
    if subject is None:
        return None
    about = msgspec.json.decode(subject, type=ReviewSubject)
    if not about.type:
        return None
    if about.iri is not None and about.iri.startswith(_ENTITY):
        entity_id = about.iri.removeprefix(_ENTITY).lower()
        return EntityPropertiesInput(
            type=about.type, name=entity_id, entity_id=entity_id
        )  # such a name renames nothing
    named = about.name or about.key
    return EntityPropertiesInput(type=about.type, name=named, key=about.key or None) if named else None


def commit_key(item: Review, request: GraphCommitRequest) -> str:
    """The same for every attempt of one answer, so that it is written once (lbb-graph 4.4)."""
    body = fingerprint(msgspec.json.encode(request)).hex()
    return f"review:{item.review_id}:r{item.revision}:{body[:16]}"


def written(item: Review, key: str, commit_seq: int, no_op: bool, skipped: str, now_ms: int) -> Review:
    """`skipped` tells of rows whose record was gone, so that nothing could be written to it (decision 27)."""
    done = replace(item, write=WRITTEN, commit_key=key, commit_seq=commit_seq, no_op=1 if no_op else None)
    return replace(done, commit_error=_cut(skipped) or None, due_at_ms=now_ms, updated_at_ms=now_ms)


def write_refused(item: Review, key: str | None, error: str, now_ms: int) -> Review:
    """The answer stays recorded; its commit will never be taken, and those who wait are told of the answer."""
    return replace(
        item,
        write=REFUSED,
        commit_key=key,
        commit_error=_cut(error),
        commit_attempts=item.commit_attempts + 1,
        due_at_ms=now_ms,
        updated_at_ms=now_ms,
    )


def write_failed(item: Review, key: str | None, error: str, now_ms: int) -> Review:
    """An error of the server: tried again after growing delays, and given up after the last."""
    attempts = item.commit_attempts + 1
    if attempts >= limits.REVIEW_WRITE_ATTEMPTS:
        return write_refused(item, key, f"given up after {attempts} attempts: {error}", now_ms)
    return replace(
        item,
        commit_key=key,
        commit_error=_cut(error),
        commit_attempts=attempts,
        due_at_ms=now_ms + retry.delay_ms(attempts),
    )


# -- the news ----------------------------------------------------------------------------------------------------


def event_id(item: Review) -> str:
    """Of the signal that carries the answer: stable, so that a repeat is delivered once (lbb-graph 9, row 17)."""
    return f"{item.review_id}.r{item.revision}"


def message_id(item: Review) -> str:
    """Of a review trigger's message (lbb-graph 5.7)."""
    return f"review-{item.review_id}-r{item.revision}"


def signal_name(review_id: str) -> str:
    return f"review.{review_id}"


def targets(item: Review) -> dict[str, str]:
    """Who was told so far: `signal` or `trigger:<workflow>` -> sent or dropped."""
    found: dict[str, str] = json.loads(item.told or b"{}")
    return found


def told(item: Review, target: str, outcome: str, error: str | None = None) -> Review:
    """One waiter more was told or is out of reach. A target is sent when any of its waiters was."""
    known = targets(item)
    if known.get(target) != SENT:
        known[target] = outcome
    return replace(
        item,
        told=json.dumps(known).encode(),
        delivery_attempts=item.delivery_attempts + 1,
        delivery_error=item.delivery_error if error is None else _cut(error),
    )


def delivery_failed(item: Review, error: str, now_ms: int) -> Review:
    """An error of the server: tried again after growing delays, until all are told."""
    attempts = item.delivery_attempts + 1
    due_at_ms = now_ms + retry.delay_ms(attempts)
    return replace(item, delivery_attempts=attempts, delivery_error=_cut(error), due_at_ms=due_at_ms)


def delivered(item: Review, now_ms: int) -> Review:
    """Everyone was told or is out of reach: nothing is due any more."""
    return replace(item, delivery=_outcome(targets(item).values()), due_at_ms=None, updated_at_ms=now_ms)


def _outcome(outcomes: Iterable[str]) -> str:
    known = set(outcomes)
    return SENT if SENT in known else DROPPED if DROPPED in known else NONE


def is_passing(refused: Refused) -> bool:
    """Whether the refusal is the server's trouble and may be gone the next time."""
    return refused.kind.status >= 500 or refused.kind.status == 429


def _cut(error: str) -> bytes:
    return error[: limits.ERROR_CHARS].encode()
