"""Model activities: reserve a call, then store its answer. The call itself is made between the two (decision 18).

*Begin* looks for the answer, checks the budget and reserves the effect id; *finish* stores, charges and logs; *fail*
charges and logs, and lets the id go, as failures are not stored. The effect ledger hears of both.
"""

from typing import Any

import msgspec

from turnbuckle.engine import activity as rules
from turnbuckle.engine import budget as budget_rules
from turnbuckle.engine import call as call_rules
from turnbuckle.engine.activity import Activity
from turnbuckle.engine.call import Call
from turnbuckle.operations import budget, effect
from turnbuckle.operations.caller import Caller
from turnbuckle.store import activity as activities
from turnbuckle.store import call as calls
from turnbuckle.store.transaction import Topic, Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.activity import ActivityRequest
from turnbuckle.wire.effect import EffectMark
from turnbuckle.wire.value import fingerprint

_HTTP = "http"  # the one that calls no model: no budget, no row in the log of calls
_LOST = "its server ended before it had stored an answer; the model may have answered, and cost"


class Asked(msgspec.Struct, frozen=True):
    """A model call as a request asks for it."""

    graph_id: str
    caller: Caller
    job: str
    request: ActivityRequest
    inputs: bytes  # the JSON of what makes it another request: not the label, not who asks
    request_hash: bytes
    summary: str

    @property
    def topic(self) -> Topic:
        """What those wait for who ask for the same."""
        return ("answered", self.graph_id, self.job, self.request.effect_id or "")

    @property
    def workflow(self) -> str | None:
        """The named workflow that is charged."""
        if self.request.test is not None:
            return self.request.test.workflow
        return None if self.request.workflow is None else budget_rules.workflow_of(self.request.workflow.identity)

    @property
    def ledger_kind(self) -> str:
        return _HTTP if self.job == _HTTP else "model"

    @property
    def ledger_target(self) -> str:
        return self.job if self.request.effect_id is None else f"{self.job} {self.request.effect_id}"


class Made(msgspec.Struct, frozen=True):
    """A call that is made, and what came of it."""

    id: str  # random; who holds the reservation
    provider: str
    model: str
    tokens_in: int = 0
    tokens_out: int = 0
    cost_micro_usd: int = 0
    ms: int = 0


class Stored(msgspec.Struct, frozen=True):
    answer: bytes


class Reserved(msgspec.Struct, frozen=True):
    """The call is to be made now; without an effect id there is nothing to renew or release."""


class UnderWay(msgspec.Struct, frozen=True):
    """The same call is on its way elsewhere."""

    lease_ms: int  # until it may be taken over


def ask(graph_id: str, caller: Caller, job: str, request: ActivityRequest, inputs: dict[str, Any], text: str) -> Asked:
    """`text` is what the log shows a line of."""
    body = msgspec.json.encode(inputs)
    caller = msgspec.structs.replace(caller, effect=caller.effect or _mark(caller, request))
    return Asked(graph_id, caller, job, request, body, fingerprint(body), call_rules.summary(request.label, text))


def _mark(caller: Caller, request: ActivityRequest) -> EffectMark | None:
    """For the effect ledger: the step that the request names, where no header does."""
    maker = request.workflow
    if maker is None or maker.step is None or request.effect_id is None:
        return None
    return EffectMark(caller.graph, maker.identity, maker.turn, maker.step, request.effect_id)


def stored(tx: Transaction, asked: Asked) -> bytes | None:
    """The answer that is there, as a reader sees it. Refused(activity_effect_conflict) when it is another request's."""
    known = activities.get(tx, asked.graph_id, asked.job, asked.request.effect_id or "")
    if known is None or known.answer is None:
        return None
    rules.check_same(_activity(asked, "", tx.now_ms), known)
    return known.answer


def begin(tx: Transaction, asked: Asked, call: Made, environment_limit: int | None) -> Stored | Reserved | UnderWay:
    """The stored answer, or the right to make `call`. A stored answer needs no budget (lbb-graph 3.2).

    Refused(activity_effect_conflict | workflow_budget_exceeded).
    """
    known = _known(tx, asked)
    mine = _activity(asked, call.id, tx.now_ms)
    if known is not None and known.answer is not None:
        rules.check_same(mine, known)
        return Stored(known.answer)
    reserved = rules.reserve(mine, known)
    if reserved is None:
        assert known is not None
        return UnderWay(known.lease_until_ms - tx.now_ms)
    if asked.job != _HTTP:
        budget.check(tx, asked.graph_id, asked.caller.environment, asked.workflow, environment_limit)
    if asked.request.effect_id is not None:
        if known is not None:
            lost = msgspec.structs.replace(call, id=f"{known.holder}-lost")  # it may come back with a record of its own
            _log(tx, asked, lost, b"null", _LOST)
            activities.save(tx, known, reserved)
        elif not activities.add(tx, reserved):
            return UnderWay(0)  # another request came in between: look again
    effect.intend(tx, asked.caller, asked.ledger_kind, asked.ledger_target)
    return Reserved()


def _known(tx: Transaction, asked: Asked) -> Activity | None:
    effect_id = asked.request.effect_id
    return None if effect_id is None else activities.lock(tx, asked.graph_id, asked.job, effect_id)


def _activity(asked: Asked, holder: str, now_ms: int) -> Activity:
    maker = asked.request.workflow
    return Activity(
        asked.graph_id,
        asked.job,
        asked.request.effect_id or "",
        asked.request_hash,
        holder,
        lease_until_ms=now_ms + limits.CALL_LEASE_MS,
        begun_at_ms=now_ms,
        calls=1,
        instance_id=None if maker is None else maker.identity,
        turn=None if maker is None else maker.turn,
        answered_at_ms=None,
        answer=None,
        keep_until_ms=now_ms + limits.ACTIVITY_MS,
    )


def is_under_way(tx: Transaction, asked: Asked) -> bool:
    """Whether a reader sees the same call on its way, with its lease alive."""
    found = activities.get(tx, asked.graph_id, asked.job, asked.request.effect_id or "")
    return found is not None and found.answer is None and found.lease_until_ms > tx.now_ms


def renew(tx: Transaction, asked: Asked, holder: str) -> None:
    """The call goes on; nothing when another has taken it over."""
    known = _known(tx, asked)
    if known is not None and rules.is_held(known, holder):
        activities.save(tx, known, rules.renew(known, tx.now_ms))


def finish(tx: Transaction, asked: Asked, made: Made, answer: bytes, output: bytes) -> bytes:
    """Store, charge and log. The answer in force: when a call that took this one over was faster, that one's."""
    known = _known(tx, asked)
    if asked.request.effect_id is not None:
        kept = rules.answered(known or _activity(asked, "", tx.now_ms), answer, tx.now_ms)
        if known is None:
            activities.add(tx, kept)
        else:
            activities.save(tx, known, kept)
        assert kept.answer is not None
        answer = kept.answer
        tx.announce(*asked.topic)
    _settle(tx, asked, made, output, None)
    effect.confirm(tx, asked.caller, asked.ledger_kind, asked.ledger_target)
    return answer


def fail(tx: Transaction, asked: Asked, made: Made, error: str) -> None:
    """Charge what it cost all the same, log it, and let the id go: the next request makes a call of its own."""
    release(tx, asked, made.id)
    _settle(tx, asked, made, b"null", error)


def release(tx: Transaction, asked: Asked, holder: str) -> None:
    """Let the id go, unless another call has taken it over."""
    known = _known(tx, asked)
    if known is not None and rules.is_held(known, holder):
        activities.remove(tx, known)
        tx.announce(*asked.topic)


def _settle(tx: Transaction, asked: Asked, made: Made, output: bytes, error: str | None) -> None:
    _log(tx, asked, made, output, error)
    if asked.job != _HTTP:
        budget.charge(tx, asked.graph_id, asked.caller.environment, asked.workflow, made.cost_micro_usd)


def _log(tx: Transaction, asked: Asked, made: Made, output: bytes, error: str | None) -> None:
    if asked.job != _HTTP:
        calls.add(tx, _call(asked, made, output, error, tx.now_ms))


def _call(asked: Asked, made: Made, output: bytes, error: str | None, now_ms: int) -> Call:
    maker = asked.request.workflow
    kept_input, is_input_cut = call_rules.cut(asked.inputs)
    kept_output, is_output_cut = call_rules.cut(output)
    return Call(
        asked.graph_id,
        call_rules.call_id(now_ms, made.id),
        now_ms,
        asked.job,
        made.provider,
        made.model.encode(),
        None if error is None else error[: limits.ERROR_CHARS].encode(),
        asked.summary.encode(),
        is_test=int(asked.request.test is not None),
        workflow=asked.workflow,
        instance_id=None if maker is None else maker.identity,
        turn=None if maker is None else maker.turn,
        run_id=None if maker is None or maker.run_id is None else maker.run_id.encode(),
        step=None if maker is None else maker.step,
        instance=None if maker is None or maker.instance is None else maker.instance.encode(),
        tokens_in=made.tokens_in,
        tokens_out=made.tokens_out,
        cost_micro_usd=made.cost_micro_usd,
        ms=made.ms,
        input=kept_input,
        output=kept_output,
        truncated=int(is_input_cut or is_output_cut),
    )
