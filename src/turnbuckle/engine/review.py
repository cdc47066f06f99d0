"""A question to a person and its states. Every state word is declared here once, with the arrows that lead to it.

    open ──answer──▶ answered ──filed again (reopens)──▶ open
      └───withdraw──▶ withdrawn ──filed again──▶ open

What an answer does afterwards goes on in `review_effects`; what may be asked and answered is in `review_question`.
Source: lbb-graph 4.1 and 4.2.
"""

import hashlib
from typing import Final

import msgspec
from msgspec.structs import replace

from turnbuckle.engine import review_question
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.moment import rfc3339
from turnbuckle.wire.review import ReviewAnswer, ReviewDecision, ReviewQuestion
from turnbuckle.wire.value import fingerprint

OPEN: Final = "open"  # filed, or filed again
ANSWERED: Final = "answered"  # open -> answered, by a person
WITHDRAWN: Final = "withdrawn"  # open -> withdrawn, by a person or the asker

NONE: Final = "none"  # of write and delivery: nothing to do
PENDING: Final = "pending"  # of both: none -> pending, by an answer
WRITTEN: Final = "written"  # of write: pending -> written, by the commit
REFUSED: Final = "refused"  # of write: pending -> refused, by a commit that is refused or fails too often
SENT: Final = "sent"  # of delivery and of one target: someone was told
DROPPED: Final = "dropped"  # of delivery and of one target: nobody can be told any more
WAITING: Final = "waiting"  # of a target: not told yet

_FIRST_TRY_MS = 1_000  # the request that answers does the work itself; upkeep leaves it that much time


class Review(msgspec.Struct, frozen=True):
    """One item. Users' texts and JSON are UTF-8 bytes (decision 10)."""

    graph_id: str
    review_id: str
    key: bytes
    kind: str
    scope: str
    status: str
    revision: int  # from 1; grows when the question changes
    title: bytes
    question: bytes
    question_hash: bytes  # of kind and question
    proposal_hash: bytes  # of what the question proposes
    origin: bytes
    created_at_ms: int
    updated_at_ms: int
    subject: bytes | None = None
    evidence: bytes | None = None
    evidence_hash: bytes | None = None
    rationale: bytes | None = None
    facts: bytes | None = None
    workflow: bytes | None = None
    wait: bytes | None = None  # of the newest asker
    eval: bytes | None = None
    answer: bytes | None = None
    decision: str | None = None  # the answer's
    previous_answer: bytes | None = None
    withdrawn_reason: bytes | None = None
    comment_count: int = 0
    # What lists look for.
    origin_id: bytes | None = None
    workflow_name: bytes | None = None
    run: bytes | None = None
    eval_id: bytes | None = None
    subject_type: bytes | None = None
    property: bytes | None = None
    # What the answer does (engine.review_effects).
    write: str = NONE
    commit_key: str | None = None
    commit_seq: int | None = None
    commit_error: bytes | None = None
    commit_attempts: int = 0
    no_op: int | None = None  # 1: the commit changed nothing
    delivery: str = NONE
    delivery_attempts: int = 0
    delivery_error: bytes | None = None
    told: bytes | None = None  # JSON: target -> sent or dropped
    due_at_ms: int | None = None  # when upkeep does what is pending


class Waiter(msgspec.Struct, frozen=True):
    """A turn that waits for the answer, until it is told or out of reach."""

    graph_id: str
    review_id: str
    instance_id: str
    turn: int
    signal: str
    asked_at_ms: int
    outcome: str = WAITING
    error: bytes | None = None


class Comment(msgspec.Struct, frozen=True):
    graph_id: str
    review_id: str
    number: int  # from 1
    text: bytes
    author: bytes | None
    by_whom: bytes
    at_ms: int


def fingerprints(kind: str, question: ReviewQuestion) -> tuple[bytes, bytes]:
    """(of the question, of its proposal): what makes two filings ask the same, or propose the same."""
    return review_question.question_hash(kind, question), review_question.proposal_hash(question)


def derived_key(kind: str, about: str, question_hash: bytes) -> str:
    """The key of an item that was filed without one; `about` is the subject's IRI or name (lbb-graph 9, row 15)."""
    parts = (kind.encode(), about.encode(), question_hash.hex().encode())
    return f"auto:{hashlib.blake2b(b''.join(part + bytes(1) for part in parts), digest_size=16).hexdigest()}"


def refile(known: Review, asked: Review, now_ms: int) -> Review:
    """What filing `asked` makes of the item that has its key: every row of the table in lbb-graph 4.2."""
    is_same = known.question_hash == asked.question_hash
    if known.status == ANSWERED:
        return _reopened(known, asked, now_ms) if _reopens(known, asked) else known
    if known.status == WITHDRAWN:
        return _renewed(known, asked, known.revision if is_same else known.revision + 1, now_ms)
    return known if is_same else _renewed(known, asked, known.revision + 1, now_ms)


def _reopens(known: Review, asked: Review) -> bool:
    """Something else was read and proposed, or the last proposal was rejected and another question is asked.

    Not while the answer has still to be written or delivered: nobody may lose it.
    """
    if known.due_at_ms is not None:
        return False
    has_read_other = asked.evidence_hash is not None and asked.evidence_hash != known.evidence_hash
    if has_read_other and asked.proposal_hash != known.proposal_hash:
        return True
    return known.decision == "reject" and asked.question_hash != known.question_hash


def _reopened(known: Review, asked: Review, now_ms: int) -> Review:
    return replace(_renewed(known, asked, known.revision + 1, now_ms), previous_answer=known.answer)


def _renewed(known: Review, asked: Review, revision: int, now_ms: int) -> Review:
    """Open with what `asked` says; of the item itself its id, age, comments and earlier answer stay."""
    return replace(
        asked,
        review_id=known.review_id,
        revision=revision,
        created_at_ms=known.created_at_ms,
        updated_at_ms=now_ms,
        comment_count=known.comment_count,
        previous_answer=known.previous_answer,
        wait=known.wait,
    )


def check_revision(item: Review, revision: int | None) -> None:
    """Refused(review_stale) when the question has changed since revision `revision` was read."""
    if revision is not None and revision != item.revision:
        what = f"revision: got {revision}, the item's question is at revision {item.revision}"
        raise Refused("review_stale", what, param="revision")


def answer(item: Review, said: ReviewDecision, by: str, writes: bool, now_ms: int) -> Review:
    """The item as answered, its effects pending. Refused(conflict) unless it is open.

    `writes`: whether the answer puts a value into the graph (review_effects.writes).
    """
    _check_open(item, "answered")
    review_question.check_decision(item.kind, msgspec.json.decode(item.question, type=ReviewQuestion), said)
    stored = ReviewAnswer(
        decision=said.decision, value=said.value, option=said.option, note=said.note, by=by, at=rfc3339(now_ms)
    )
    return replace(
        item,
        status=ANSWERED,
        answer=msgspec.json.encode(stored),
        decision=said.decision,
        previous_answer=None,
        updated_at_ms=now_ms,
        write=PENDING if writes else NONE,
        delivery=PENDING,
        due_at_ms=now_ms + _FIRST_TRY_MS,
    )


def withdraw(item: Review, reason: str, now_ms: int) -> Review:
    """Nobody is asked any more. Refused(conflict) unless it is open. Turns that wait for it go on waiting."""
    _check_open(item, "withdrawn")
    return replace(item, status=WITHDRAWN, withdrawn_reason=reason.encode(), updated_at_ms=now_ms)


def _check_open(item: Review, what: str) -> None:
    if item.status == OPEN:
        return
    how = "it was withdrawn"
    if item.status == ANSWERED and item.answer is not None:
        given = msgspec.json.decode(item.answer, type=ReviewAnswer)
        how = f'it was answered "{given.decision}" by {given.by} at {given.at}'
    raise Refused("conflict", f"item {item.review_id} cannot be {what}: {how}")


def asked_by(item: Review) -> set[str]:
    """The workflows that asked: a review trigger on one of them gets the answer (lbb-graph 5.7)."""
    starter = starter_of(None if item.origin_id is None else item.origin_id.decode())
    return {name for name in ((item.workflow_name or b"").decode(), starter) if name}


def starter_of(origin_id: str | None) -> str | None:
    """The workflow of an origin `starter:<name>`."""
    kind, _, name = (origin_id or "").partition(":")
    return name if kind == "starter" and name else None


def pattern_id(kind: str, *parts: bytes | None) -> str:
    """Of the group of items with this kind, subject type, property and origin."""
    named = [None if part is None else part.decode() for part in parts]
    return f"rvp_{fingerprint(msgspec.json.encode([kind, *named])).hex()[:24]}"
