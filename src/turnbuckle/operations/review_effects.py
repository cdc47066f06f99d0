"""What an answer does after it was recorded, one transaction at a time: the commit, then each one who waits.

`advance` does the next step; who calls it goes on while it says so, and hands a refusal to `note`. Every step looks
at the locked item first, so a request and upkeep may work on one item at once. Source: lbb-graph 4.4.
"""

import msgspec
from msgspec import Raw

from turnbuckle.engine import review_effects as rules
from turnbuckle.engine.review import DROPPED, SENT, Review, Waiter
from turnbuckle.operations import review_trigger, signal
from turnbuckle.operations.caller import the_server
from turnbuckle.operations.commit import commit
from turnbuckle.store import review as reviews
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.commit import GraphCommitRequest, GraphCommitResponse
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.turn import WorkflowTurnSignalRequest

DUE_AT_ONCE = 50


def due(tx: Transaction) -> list[tuple[str, str]]:
    """(graph id, review id) of answers that have something to do now."""
    return reviews.due(tx, DUE_AT_ONCE)


def next_due_at(tx: Transaction) -> int | None:
    return reviews.next_due_at(tx)


class StepFailed(Exception):
    """A step of an answer was refused; nothing of it is saved."""

    def __init__(self, step: rules.Step, cause: Refused) -> None:
        super().__init__(str(cause))
        self.step = step
        self.cause = cause


def advance(tx: Transaction, graph_id: str, review_id: str) -> bool:
    """Do the next thing the answer does; whether there is more. What it raises is for `note`."""
    item = reviews.get(tx, graph_id, review_id)
    step = None if item is None else rules.next_step(item)
    if item is None or step is None:
        return False
    try:
        return _write(tx, item) if step == "write" else _deliver(tx, item)
    except Refused as refused:  # what the driver raises is for the database to map, or to try again
        raise StepFailed(step, refused) from refused


def note(tx: Transaction, graph_id: str, review_id: str, failure: Exception) -> bool:
    """Write down that a step failed; whether to go on at once. Not when another has done that step meanwhile."""
    item = reviews.lock(tx, graph_id, review_id)
    step = None if item is None else rules.next_step(item)
    if item is None or step is None:
        return False
    cause = failure.cause if isinstance(failure, StepFailed) else failure
    if isinstance(failure, StepFailed) and failure.step != step:
        return True
    is_passing = not isinstance(cause, Refused) or rules.is_passing(cause)
    error = str(cause) if isinstance(cause, Refused) else f"{type(cause).__name__}: {cause}"
    if step == "deliver":
        reviews.save(tx, item, rules.delivery_failed(item, error, tx.now_ms))
        return False
    decide = rules.write_failed if is_passing else rules.write_refused
    reviews.save(tx, item, decide(item, _key_of(item), error, tx.now_ms))
    return not is_passing


def _key_of(item: Review) -> str | None:
    """The commit's key; None where no commit can be made of the item."""
    try:
        return rules.commit_key(item, rules.commit_request(item))
    except Refused:
        return None


# -- the commit --------------------------------------------------------------------------------------------------


def _write(tx: Transaction, seen: Review) -> bool:
    """Commit first, as the graph is locked before the item; the key makes a repeat the same commit."""
    request = rules.commit_request(seen)
    key = rules.commit_key(seen, request)
    made = _write_value(tx, seen, key, request)
    item = reviews.lock(tx, seen.graph_id, seen.review_id)
    if item is not None and item.revision == seen.revision and rules.next_step(item) == "write":
        skipped = [f"{row.path}: record {row.entity_id} was retracted" for row in made.skipped_entities or ()]
        done = rules.written(item, key, made.commit_seq, bool(made.no_op), "; ".join(skipped), tx.now_ms)
        reviews.save(tx, item, done)
    return item is not None


def _write_value(tx: Transaction, item: Review, key: str, request: GraphCommitRequest) -> GraphCommitResponse:
    """Refused as `commit` refuses: the value then stays out of the graph."""
    caller = the_server(*reviews.graph_named(tx, item.graph_id))
    return commit(tx, item.graph_id, request, msgspec.structs.replace(caller, idempotency_key=key))


# -- the news ----------------------------------------------------------------------------------------------------


def _deliver(tx: Transaction, seen: Review) -> bool:
    item = reviews.lock(tx, seen.graph_id, seen.review_id)
    if item is None or rules.next_step(item) != "deliver":
        return item is not None  # another was faster
    waiter = reviews.next_waiter(tx, item)
    if waiter is not None:
        reviews.save(tx, item, _tell(tx, item, waiter))
        return True
    for target in review_trigger.targets(tx, item.graph_id, item):
        name = f"trigger:{target.workflow}"
        if name not in rules.targets(item):
            reviews.save(tx, item, _send(tx, item, target, name))
            return True
    reviews.save(tx, item, rules.delivered(item, tx.now_ms))
    return False


def _tell(tx: Transaction, item: Review, waiter: Waiter) -> Review:
    """The answer to one turn. One that cannot take it any more is dropped, with the reason."""
    assert item.answer is not None
    request = WorkflowTurnSignalRequest(
        workflow_id=waiter.instance_id,
        turn=waiter.turn,
        id=rules.event_id(item),
        name=waiter.signal,
        value=Raw(item.answer),
    )
    try:
        signal.send(tx, item.graph_id, request)
    except Refused as refused:
        if rules.is_passing(refused):
            raise
        error = f"{waiter.instance_id}, turn {waiter.turn}: {refused}"
        _save(tx, waiter, DROPPED, error)
        return rules.told(item, rules.SIGNAL, DROPPED, error)
    _save(tx, waiter, SENT, None)
    return rules.told(item, rules.SIGNAL, SENT)


def _save(tx: Transaction, waiter: Waiter, outcome: str, error: str | None) -> None:
    stored = None if error is None else error.encode()
    reviews.save_waiter(tx, waiter, msgspec.structs.replace(waiter, outcome=outcome, error=stored))


def _send(tx: Transaction, item: Review, target: review_trigger.Target, name: str) -> Review:
    try:
        review_trigger.send(tx, item, target)
    except Refused as refused:
        if rules.is_passing(refused):
            raise
        return rules.told(item, name, DROPPED, f"{name}: {refused}")
    return rules.told(item, name, SENT)
