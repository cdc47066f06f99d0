"""Questions to a person: filed, answered, withdrawn, commented, read.

Lists are in `review_list`, what an answer does after it was recorded in `review_effects`.
"""

import secrets
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from turnbuckle.engine import review as rules
from turnbuckle.engine import review_effects as effect_rules
from turnbuckle.engine import review_question as question_rules
from turnbuckle.engine.review import ANSWERED, OPEN, Comment, Review, Waiter
from turnbuckle.operations import effect, review_answers, size
from turnbuckle.operations.caller import Caller
from turnbuckle.operations.graph import NOWHERE
from turnbuckle.store import review as reviews
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.review import (
    ReviewAnswerBatchRequest,
    ReviewAnswerBatchResponse,
    ReviewAnswerRequest,
    ReviewBatchResult,
    ReviewCommentRequest,
    ReviewCreateRequest,
    ReviewDecision,
    ReviewItem,
    ReviewQuery,
    ReviewWait,
    ReviewWithdrawRequest,
)
from turnbuckle.wire.value import fingerprint

# -- asking ------------------------------------------------------------------------------------------------------


def create(tx: Transaction, graph_id: str, request: ReviewCreateRequest, caller: Caller) -> ReviewItem:
    """A new item, or what filing it again makes of the one that has its key (lbb-graph 4.2)."""
    request = replace(request, question=question_rules.without_nulls(request.question))
    question_rules.check_question(request.kind, request.question)
    question_rules.check_facts(request.facts)
    asked = _asked(graph_id, request, tx.now_ms)
    known = None
    while known is None:  # made by another between the insert and the lock, and removed with its graph
        reviews.add(tx, asked)
        known = reviews.lock_by_key(tx, graph_id, asked.key)
    item = known if known.review_id == asked.review_id else rules.refile(known, asked, tx.now_ms)
    if request.wait is not None and item.status == OPEN:
        item = _note_waiter(tx, item, request.wait)
    reviews.save(tx, known, item)
    effect.confirm(tx, caller, "review", item.key.decode())
    return _whole(tx, item)


def _asked(graph_id: str, request: ReviewCreateRequest, now_ms: int) -> Review:
    question_hash, proposal_hash = rules.fingerprints(request.kind, request.question)
    subject, workflow = request.subject, request.workflow
    about = "" if subject is None else subject.iri or subject.name or subject.key or ""
    key = request.key or rules.derived_key(request.kind, about, question_hash)
    item = Review(
        graph_id,
        f"rev_{secrets.token_hex(12)}",
        key.encode(),
        request.kind,
        request.scope,
        OPEN,
        1,
        request.title.encode(),
        msgspec.json.encode(request.question),
        question_hash,
        proposal_hash,
        msgspec.json.encode(request.origin),
        now_ms,
        now_ms,
        subject=_json(subject),
        evidence=_json(request.evidence or None),
        evidence_hash=_bytes(request.evidence_hash),
        rationale=_bytes(request.rationale),
        facts=_json(request.facts),
        workflow=_json(workflow),
        eval=_json(request.eval),
        origin_id=_bytes(request.origin.id),
        workflow_name=_bytes(rules.starter_of(request.origin.id) if workflow is None else workflow.name),
        run=None if workflow is None else _bytes(workflow.run),
        eval_id=_eval_id(request.eval),
        subject_type=None if subject is None else _bytes(subject.type),
        property=_bytes(request.question.property),
    )
    size.check("facts", item.facts or b"", limits.REVIEW_FACTS_BYTES)
    size.check("question", b"".join((item.question, item.evidence or b"", item.eval or b"")), limits.REVIEW_ITEM_BYTES)
    return item


def _eval_id(value: Any) -> bytes | None:
    """The `id` of an evaluation, where it names one."""
    if not question_rules.has_json(value):
        return None
    found = msgspec.json.decode(value)
    name = found.get("id") if isinstance(found, dict) else found
    return name.encode() if isinstance(name, str) else None


def _note_waiter(tx: Transaction, item: Review, wait: ReviewWait) -> Review:
    """The turn gets the answer too; the item shows the newest asker (lbb-graph 9, row 16)."""
    signal = wait.signal or effect_rules.signal_name(item.review_id)
    reviews.put_waiter(tx, Waiter(item.graph_id, item.review_id, wait.identity, wait.turn, signal, tx.now_ms))
    return replace(item, wait=msgspec.json.encode(replace(wait, signal=signal)))


# -- answering ---------------------------------------------------------------------------------------------------


def answer(
    tx: Transaction, graph_id: str, query: ReviewQuery, request: ReviewAnswerRequest, caller: Caller
) -> ReviewItem:
    """Record the answer; what it does follows in transactions of its own (operations.review_effects)."""
    if question_rules.has_json(request.edits):
        what = "edits: got some, expected none: only items of kind `change` have what could be edited"
        raise Refused("invalid_param", what, param="edits")
    if _is_new(tx, graph_id, caller, "answer", query.id, request):
        item = _locked(tx, graph_id, query.id)
        rules.check_revision(item, request.revision)
        answered = _answered(tx, item, request.answer, caller)
        if request.comment is not None:
            answered = _commented(tx, answered, request.comment, None, caller)
        reviews.save(tx, item, answered)
    return get(tx, graph_id, query)


def _answered(tx: Transaction, item: Review, said: ReviewDecision, caller: Caller) -> Review:
    """Refused(payload_too_large) for an answer that nobody who waits for it could take."""
    writes = effect_rules.writes(item.kind, item.scope, said.decision, item.subject, item.facts)
    made = rules.answer(item, said, caller.by, writes, tx.now_ms)
    size.check("answer", made.answer or b"", limits.REVIEW_ANSWER_BYTES)
    return made


def answer_batch(
    tx: Transaction, graph_id: str, request: ReviewAnswerBatchRequest, caller: Caller
) -> ReviewAnswerBatchResponse:
    """The same answer for up to 500 items; those it does not fit are skipped, each with its reason."""
    if not _is_new(tx, graph_id, caller, "answer-batch", "", request):
        return _known_batch(tx, graph_id, caller)
    told: dict[str, ReviewBatchResult] = {}
    for review_id in sorted(set(request.ids)):  # one order of locks for all
        told[review_id] = _answer_one(tx, graph_id, review_id, request, caller)
    results = [told[review_id] for review_id in dict.fromkeys(request.ids)]
    count = sum(result.answered for result in results)
    batch_id = f"rvb_{secrets.token_hex(12)}"
    made = ReviewAnswerBatchResponse(batch_id=batch_id, answered=count, skipped=len(results) - count, results=results)
    if caller.idempotency_key:
        reviews.keep_answer(tx, graph_id, _key(caller), msgspec.json.encode(made))
    return made


def _known_batch(tx: Transaction, graph_id: str, caller: Caller) -> ReviewAnswerBatchResponse:
    _, stored = reviews.known_request(tx, graph_id, _key(caller))
    assert stored is not None  # kept in the transaction that made the key known
    return msgspec.json.decode(stored, type=ReviewAnswerBatchResponse)


def _answer_one(
    tx: Transaction, graph_id: str, review_id: str, request: ReviewAnswerBatchRequest, caller: Caller
) -> ReviewBatchResult:
    item = None
    try:
        item = _locked(tx, graph_id, review_id)
        rules.check_revision(item, (request.shown or {}).get(review_id))
        _check_pattern(item, request.pattern)
        answered = _answered(tx, item, request.answer, caller)
    except Refused as refused:  # before anything of this item was written
        status: Any = None if item is None else item.status
        reason = f"{refused.code}: {refused.message}"
        return ReviewBatchResult(id=review_id, answered=False, status=status, reason=reason)
    reviews.save(tx, item, answered)
    return ReviewBatchResult(id=review_id, answered=True, status=ANSWERED)


def _check_pattern(item: Review, pattern: str | None) -> None:
    mine = rules.pattern_id(item.kind, item.subject_type, item.property, item.origin_id)
    if pattern is not None and pattern != mine:
        raise Refused("invalid_param", f"pattern: got {pattern!r}, the item is of {mine}", param="pattern")


def withdraw(
    tx: Transaction, graph_id: str, query: ReviewQuery, request: ReviewWithdrawRequest, caller: Caller
) -> ReviewItem:
    """Nobody is asked any more. Refused(conflict) unless the item is open."""
    if _is_new(tx, graph_id, caller, "withdraw", query.id, request):
        item = _locked(tx, graph_id, query.id)
        reviews.save(tx, item, rules.withdraw(item, request.reason, tx.now_ms))
    return get(tx, graph_id, query)


def comment(
    tx: Transaction, graph_id: str, query: ReviewQuery, request: ReviewCommentRequest, caller: Caller
) -> ReviewItem:
    """A remark on an item in any status."""
    if _is_new(tx, graph_id, caller, "comment", query.id, request):
        item = _locked(tx, graph_id, query.id)
        reviews.save(tx, item, _commented(tx, item, request.text, request.author, caller))
    return get(tx, graph_id, query)


def _commented(tx: Transaction, item: Review, text: str, author: str | None, caller: Caller) -> Review:
    number = item.comment_count + 1
    if number > limits.REVIEW_COMMENTS:
        raise Refused("conflict", f"item {item.review_id} already has {limits.REVIEW_COMMENTS} comments")
    said = (text.encode(), _bytes(author), caller.by.encode(), tx.now_ms)
    reviews.add_comment(tx, Comment(item.graph_id, item.review_id, number, *said))
    return replace(item, comment_count=number, updated_at_ms=tx.now_ms)


# -- once under an idempotency key -------------------------------------------------------------------------------


def _is_new(tx: Transaction, graph_id: str, caller: Caller, verb: str, review_id: str, body: msgspec.Struct) -> bool:
    """Whether the request was not done before. Refused(idempotency_conflict) when its key was used for another one."""
    if not caller.idempotency_key or graph_id == NOWHERE:
        return True
    asked = fingerprint(msgspec.json.encode([verb, review_id, body]))
    if reviews.add_request(tx, graph_id, _key(caller), asked):
        return True
    known, _ = reviews.known_request(tx, graph_id, _key(caller))
    if known != asked:
        what = f"the idempotency key {caller.idempotency_key[:80]!r} was used for another request"
        raise Refused("idempotency_conflict", what)
    return False


def _key(caller: Caller) -> bytes:
    key = (caller.idempotency_key or "").encode()
    if len(key) > limits.ID_CHARS:
        what = f"idempotency-key: got {len(key)} characters, expected at most {limits.ID_CHARS}"
        raise Refused("invalid_param", what, param="idempotency-key")
    return key


# -- reading -----------------------------------------------------------------------------------------------------


def get(tx: Transaction, graph_id: str, query: ReviewQuery) -> ReviewItem:
    item = reviews.get(tx, graph_id, query.id)
    if item is None:
        raise _missing(query.id)
    return _whole(tx, item)


def detail(tx: Transaction, graph_id: str, query: ReviewQuery) -> ReviewItem:
    """The older name of `get`."""
    return get(tx, graph_id, query)


def _whole(tx: Transaction, item: Review) -> ReviewItem:
    return review_answers.of_item(item, reviews.comments(tx, item), reviews.count_waiters(tx, item))


def _locked(tx: Transaction, graph_id: str, review_id: str) -> Review:
    item = reviews.lock(tx, graph_id, review_id)
    if item is None:
        raise _missing(review_id)
    return item


def _missing(review_id: str) -> Refused:
    return Refused("not_found", f"there is no review item {review_id!r} in this graph")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _json(value: Any) -> bytes | None:
    return None if value is None or value is UNSET or value == msgspec.Raw(b"null") else msgspec.json.encode(value)
