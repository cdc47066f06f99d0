"""The effect ledger: what the server does for a step, what a step declares of what it does elsewhere, and reading."""

import itertools
from collections.abc import Iterator

from turnbuckle.engine import effect as rules
from turnbuckle.engine.effect import Effect
from turnbuckle.engine.operation import Operation
from turnbuckle.engine.turn import Turn
from turnbuckle.operations import answers
from turnbuckle.operations import turn as turn_operations
from turnbuckle.operations.caller import Caller
from turnbuckle.operations.inbox import Inbox
from turnbuckle.store import effect as effects
from turnbuckle.store import graph as graphs
from turnbuckle.store import instance as instances
from turnbuckle.store import step as steps
from turnbuckle.store import turn as turns
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.effect import (
    EffectMark,
    WorkflowEffect,
    WorkflowEffectsQuery,
    WorkflowEffectsResponse,
    WorkflowTurnEffectRequest,
)
from turnbuckle.wire.errors import Refused

_LOOKED_AT = 1_000  # effects that one page looks through for those in the asked state


# -- writing -----------------------------------------------------------------------------------------------------


def intend(tx: Transaction, caller: Caller, kind: str, target: str) -> None:
    """Note what a request of a step is about to do, in a transaction of its own before it is done.

    A request without a mark, or whose mark names no turn of this environment, leaves no trace.
    """
    _record(tx, caller, kind, target, is_confirmed=False)


def confirm(tx: Transaction, caller: Caller, kind: str, target: str) -> None:
    """Note what a request of a step has done: in the transaction that does it, or after it."""
    _record(tx, caller, kind, target, is_confirmed=True)


def _record(tx: Transaction, caller: Caller, kind: str, target: str, *, is_confirmed: bool) -> None:
    mark = caller.effect
    if mark is None:
        return
    graph_id = graphs.find(tx, caller.environment, mark.graph)
    found = None if graph_id is None else turns.load(tx, graph_id, mark.workflow_id, mark.turn)
    if found is not None:
        _put(tx, _asked(found, mark, kind, target, tx.now_ms), is_confirmed)


def declare(tx: Transaction, graph_id: str, request: WorkflowTurnEffectRequest) -> WorkflowEffect:
    """What the holder's step is about to do outside, or has done. Refused(turn_lease_lost) for a token that lost."""
    inbox = Inbox.of_holder(tx, graph_id, request.workflow_id, request.turn, request.token)
    operation = inbox.running
    if operation is None or operation.key != request.step:
        now = "no step runs" if operation is None else f"the running step is {operation.key!r}"
        raise Refused("conflict", f"step: got {request.step!r}, but {now}", param="step")
    assert inbox.head is not None
    mark = EffectMark("", request.workflow_id, request.turn, request.step, request.effect_id)
    asked = _asked((inbox.head, operation), mark, request.kind, request.target, tx.now_ms)
    saved = _put(tx, asked, request.state == "confirmed")
    return answers.of_effect(saved, inbox.head, operation, ())


def _asked(found: tuple[Turn, Operation | None], mark: EffectMark, kind: str, target: str, now_ms: int) -> Effect:
    turn, operation = found
    return Effect(
        turn.graph_id,
        turn.instance_id,
        turn.number,
        rules.number(mark.effect_id, kind, target.encode()),
        mark.step,
        mark.effect_id,
        kind,
        target.encode(),
        attempt=turn.attempt,
        began_at_ms=0 if operation is None else operation.started_at_ms,
        attempts=1,
        intended_at_ms=now_ms,
    )


def _put(tx: Transaction, asked: Effect, is_confirmed: bool) -> Effect:
    where = (asked.graph_id, asked.instance_id, asked.turn, asked.number)
    known = effects.get(tx, *where)
    if known is None:
        made = rules.confirm(asked, tx.now_ms) if is_confirmed else asked
        if effects.add(tx, made):
            return made
        known = effects.get(tx, *where)  # another request of the step was faster
        assert known is not None
    meant = rules.intend(known, asked)
    told = rules.confirm(meant, tx.now_ms) if is_confirmed else meant
    effects.save(tx, known, told)
    return told


# -- reading -----------------------------------------------------------------------------------------------------


def page(tx: Transaction, graph_id: str, query: WorkflowEffectsQuery) -> WorkflowEffectsResponse:
    """Effects of an instance or one turn of it, or of the whole graph those that nobody has confirmed."""
    after = _after(query.after)
    if query.id is not None:
        turn_operations.find_instance(tx, graph_id, query.id)
        if query.turn is None:
            found = effects.of_instance(tx, graph_id, query.id, after[1:], _LOOKED_AT)
        else:
            found = [e for e in effects.of_turn(tx, graph_id, query.id, query.turn) if e.number > after[2]]
    elif query.turn is not None or query.state == "confirmed":
        param = "turn" if query.turn is not None else "state"
        raise Refused(
            "invalid_param", f"{param}: got it without id; of a graph the unconfirmed are listed", param=param
        )
    else:
        found = effects.unconfirmed(tx, graph_id, after, _LOOKED_AT)
    return _page(tx, found, query)


def _page(tx: Transaction, found: list[Effect], query: WorkflowEffectsQuery) -> WorkflowEffectsResponse:
    """The first of `found` that are in the asked state. A page may be short: then there is still a next one."""
    shown: list[WorkflowEffect] = []
    for (instance_id, number), group in itertools.groupby(found, lambda effect: (effect.instance_id, effect.turn)):
        for effect, answer in _of_turn(tx, instance_id, number, list(group)):
            if query.id is None and answer.state == "confirmed":
                continue  # its step was saved
            if query.state in (None, answer.state):
                shown.append(answer)
            if len(shown) == query.limit and effect is not found[-1]:
                return WorkflowEffectsResponse(effects=shown, next_after=_cursor(effect))
    return WorkflowEffectsResponse(effects=shown, next_after=_cursor(found[-1]) if len(found) == _LOOKED_AT else None)


def _of_turn(
    tx: Transaction, instance_id: str, number: int, found: list[Effect]
) -> Iterator[tuple[Effect, WorkflowEffect]]:
    """With the state of each as of now."""
    if not found:
        return
    instance = instances.get(tx, found[0].graph_id, instance_id)
    whole = None if instance is None else turn_operations.load(tx, instance, number, payloads=False)
    if whole is None:
        raise LookupError(f"effects of turn {number} of {instance_id}, which is gone")
    saved = {key for key, _ in steps.times(tx, whole.turn)}
    for effect in found:
        yield effect, answers.of_effect(effect, whole.turn, whole.operation, saved)


def _cursor(effect: Effect) -> str:
    return f"{effect.instance_id}/{effect.turn}/{effect.number}"


def _after(cursor: str) -> tuple[str, int, str]:
    if not cursor:
        return "", 0, ""
    instance_id, turn, number = [*cursor.split("/"), "", ""][:3]
    if not turn.isascii() or not turn.isdigit() or len(turn) > 15:
        raise Refused("invalid_param", f"after: got {cursor!r}, expected a next_after of this list", param="after")
    return instance_id, int(turn), number
