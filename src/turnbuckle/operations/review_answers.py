"""Rows of reviews as the wire shows them: whole, or short in a list."""

import json
from typing import Any, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw

from turnbuckle.engine import review_effects as effects
from turnbuckle.engine.review import SENT, Comment, Review
from turnbuckle.wire import limits
from turnbuckle.wire.moment import rfc3339
from turnbuckle.wire.review import (
    ReviewAnswer,
    ReviewComment,
    ReviewDelivery,
    ReviewEffects,
    ReviewEvidence,
    ReviewFacts,
    ReviewItem,
    ReviewOrigin,
    ReviewQuestion,
    ReviewSubject,
    ReviewWait,
    ReviewWorkflow,
)

T = TypeVar("T")


def of_item(item: Review, comments: list[Comment], waiting: int) -> ReviewItem:
    """All of it. `waiting` is the number of turns that wait for its answer."""
    return ReviewItem(
        object="review_item",
        id=item.review_id,
        key=item.key.decode(),
        kind=item.kind,  # type: ignore[arg-type]  # the store holds what the door let in
        scope=item.scope,  # type: ignore[arg-type]
        status=item.status,  # type: ignore[arg-type]
        revision=item.revision,
        title=item.title.decode(),
        question=msgspec.json.decode(item.question, type=ReviewQuestion),
        origin=msgspec.json.decode(item.origin, type=ReviewOrigin),
        created=rfc3339(item.created_at_ms),
        updated=rfc3339(item.updated_at_ms),
        subject=_read(item.subject, ReviewSubject),
        evidence=_read(item.evidence, list[ReviewEvidence]),
        evidence_hash=_text(item.evidence_hash),
        rationale=_text(item.rationale),
        workflow=_read(item.workflow, ReviewWorkflow),
        wait=_read(item.wait, ReviewWait),
        waiting=waiting if waiting > 1 else None,
        answer=_read(item.answer, ReviewAnswer),
        previous_answer=_read(item.previous_answer, ReviewAnswer),
        withdrawn_reason=_text(item.withdrawn_reason),
        effects=_effects(item),
        comments=[_comment(comment) for comment in comments] or None,
        facts=_read(item.facts, ReviewFacts),
        eval=UNSET if item.eval is None else Raw(item.eval),
    )


def in_list(item: Review) -> ReviewItem:
    """Without facts and comments, the first quote only, every text cut to 300 characters (lbb-graph 4.3)."""
    whole = of_item(item, [], waiting=0)
    short = _cut(msgspec.structs.replace(whole, evidence=whole.evidence and whole.evidence[:1], facts=None))
    return msgspec.structs.replace(short, subject=whole.subject)  # half an IRI names nothing


def _cut(value: T) -> T:
    """Structs, lists and users' JSON with their long texts cut."""
    return cast(T, _cut_any(value))


def _cut_any(value: Any) -> Any:
    most = limits.REVIEW_CUT_CHARS
    if isinstance(value, str):
        return value if len(value) <= most else value[: most - 1] + "…"
    if isinstance(value, Raw):
        return value if len(bytes(value)) <= most else Raw(json.dumps(_cut_any(json.loads(bytes(value)))).encode())
    if isinstance(value, list):
        return [_cut_any(one) for one in value]
    if isinstance(value, dict):
        return {name: _cut_any(one) for name, one in value.items()}
    if isinstance(value, msgspec.Struct):
        fields = {name: _cut_any(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    return value


def _effects(item: Review) -> ReviewEffects | None:
    """None before the first answer."""
    if item.answer is None:
        return None
    sent_to = sorted(target for target, outcome in effects.targets(item).items() if outcome == SENT)
    next_at = item.due_at_ms if item.commit_attempts or item.delivery_attempts else None
    return ReviewEffects(
        commit_key=item.commit_key,
        commit_seq=item.commit_seq,
        commit_error=_text(item.commit_error),
        commit_attempts=item.commit_attempts or None,
        next_attempt_at=None if next_at is None else rfc3339(next_at),
        no_op=True if item.no_op else None,
        delivery=ReviewDelivery(
            state=item.delivery,  # type: ignore[arg-type]
            attempts=item.delivery_attempts or None,
            error=_text(item.delivery_error),
            sent_to=sent_to or None,
        ),
    )


def _comment(comment: Comment) -> ReviewComment:
    by = comment.by_whom.decode()
    return ReviewComment(text=comment.text.decode(), by=by, at=rfc3339(comment.at_ms), author=_text(comment.author))


def _text(stored: bytes | None) -> str | None:
    return None if stored is None else stored.decode()


def _read(stored: bytes | None, kind: type[T]) -> T | None:
    return None if stored is None else msgspec.json.decode(stored, type=kind)
