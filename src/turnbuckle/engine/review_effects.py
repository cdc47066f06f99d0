"""What an answer does after it was recorded: first the commit of a value, then the news to everyone who waits.

    write:    none              pending ──▶ written | refused
    delivery: pending ──▶ sent | dropped | none (nobody to tell)

Each arrow is one transaction, so a server that is killed between two of them goes on where it was.
Source: lbb-graph 4.4.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from turnbuckle.engine import retry
from turnbuckle.engine.review import ANSWERED, DROPPED, NONE, PENDING, REFUSED, SENT, WRITTEN, Review
from turnbuckle.engine.review_question import has_json
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.review import ReviewAnswer, ReviewFacts, ReviewQuestion, ReviewSubject

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


def commit_body(item: Review) -> bytes:
    """The commit as JSON. An accept writes the facts where there are some, else the value on the subject.

    A correction writes the person's value: in the rows of the facts that set the property, else on the subject.
    """
    assert item.answer is not None
    question = msgspec.json.decode(item.question, type=ReviewQuestion)
    answer = msgspec.json.decode(item.answer, type=ReviewAnswer)
    value = answer.value if answer.decision == "correct" else question.value
    assert question.property is not None
    assert isinstance(value, msgspec.Raw)
    body = _of_facts(item.facts, question.property, value if answer.decision == "correct" else None)
    if body is None:
        row = _row_of(item.subject)
        if row is None:
            raise Refused("invalid_request", "the item names no record that the value could be written to")
        body = {"entity_properties": [{**row, "properties": {question.property: value}}]}
    return msgspec.json.encode(body)


def _of_facts(facts: bytes | None, name: str, corrected: msgspec.Raw | None) -> dict[str, Any] | None:
    """The facts as a commit; with `corrected` None when no row of theirs sets the property."""
    if facts is None:
        return None
    given = msgspec.json.decode(facts, type=ReviewFacts)
    rows, is_set = list(given.entity_properties or ()), corrected is None
    if corrected is not None:
        replaced = [_with_value(row, name, corrected) for row in rows]
        is_set = any(new is not old for new, old in zip(replaced, rows, strict=True))
        rows = replaced
    body = {"entity_properties": rows, "triplets": given.triplets, "replace_owned": given.replace_owned}
    return {field: part for field, part in body.items() if has_json(part) or isinstance(part, list)} if is_set else None


def _with_value(row: msgspec.Raw, name: str, value: msgspec.Raw) -> msgspec.Raw:
    """The row with another value of the property, where it sets it; in either of its two shapes (lbb-graph 2.5)."""
    fields = msgspec.json.decode(row, type=dict[str, msgspec.Raw] | None) or {}
    shape: Any = msgspec.json.decode(fields.get("properties", msgspec.Raw(b"null")))
    if isinstance(shape, dict) and name in shape:
        flat = msgspec.json.decode(fields["properties"], type=dict[str, msgspec.Raw])
        return _raw({**fields, "properties": _raw({**flat, name: value})})
    if isinstance(shape, list) and any(isinstance(one, dict) and one.get("field") == name for one in shape):
        flat = {one["field"]: _raw(_untyped(one.get("value"))) for one in shape if isinstance(one, dict)}
        return _raw({**fields, "properties": _raw({**flat, name: value})})
    return row


def _untyped(value: Any) -> Any:
    """`{"i64": 5}` as 5: a corrected row is sent in the flat shape, which takes the declared type."""
    return next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _row_of(subject: bytes | None) -> dict[str, str] | None:
    """The subject as a row of a commit names a record: by its id, else by type with key or name."""
    if subject is None:
        return None
    about = msgspec.json.decode(subject, type=ReviewSubject)
    if not about.type:
        return None
    row = {"type": about.type, "name": about.name or ""}
    if about.iri is not None and about.iri.startswith(_ENTITY):
        entity_id = about.iri.removeprefix(_ENTITY).lower()
        return {"type": about.type, "name": entity_id, "entity_id": entity_id}  # such a name renames nothing
    if about.key:
        return {**row, "name": about.name or about.key, "key": about.key}
    return row if about.name else None


def commit_key(item: Review, body: bytes) -> str:
    """The same for every attempt of one answer, so that it is written once (lbb-graph 4.4)."""
    return f"review:{item.review_id}:r{item.revision}:{hashlib.blake2b(body, digest_size=8).hexdigest()}"


def written(item: Review, key: str, commit_seq: int, no_op: bool, now_ms: int) -> Review:
    done = replace(item, write=WRITTEN, commit_key=key, commit_seq=commit_seq, no_op=1 if no_op else None)
    return replace(done, commit_error=None, due_at_ms=now_ms, updated_at_ms=now_ms)


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
