"""The log of model calls, read."""

import datetime
from typing import Any

from msgspec import Raw

from turnbuckle.engine import call as rules
from turnbuckle.engine.call import Call
from turnbuckle.operations.caller import Caller
from turnbuckle.store import call as calls
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.call import (
    ModelCall,
    ModelCallOrigin,
    ModelCallQuery,
    ModelCallResponse,
    ModelCallRow,
    ModelCallRun,
    ModelCallsQuery,
    ModelCallsResponse,
    ModelCallUsage,
)
from turnbuckle.wire.errors import Refused

_USES = {"reason": "extract", "decide": "decide", "embed": "embed", "chat": "chat"}
_LAST = "~"  # sorts after every id


def list_page(tx: Transaction, graph_id: str, query: ModelCallsQuery) -> ModelCallsResponse:
    """Newest first, at most 31 days back."""
    first, before = _between(tx.now_ms, query.day)
    if query.checked:
        return ModelCallsResponse(calls=[])  # no judge looks at calls
    before = min(before, query.after or before)
    found = calls.page(tx, graph_id, first, before, query.job, query.limit + 1)
    page = found[: query.limit]
    return ModelCallsResponse(
        calls=[row(call) for call in page],
        next_after=page[-1].id if len(found) > query.limit else None,
    )


def _between(now_ms: int, day: str | None) -> tuple[str, str]:
    """Ids of the UTC day's calls, or of all that are still kept."""
    kept, _ = rules.bounds(now_ms - limits.CALL_MS, 0)
    if day is None:
        return kept, _LAST
    try:
        begins = datetime.datetime.strptime(day + "+0000", "%Y-%m-%d%z")
    except ValueError:
        raise Refused("invalid_param", f"day: got {day!r}, expected a day such as 2027-01-31", param="day") from None
    begins_ms = max(0, int(begins.timestamp()) * 1_000)
    first, before = rules.bounds(begins_ms, begins_ms + limits.DAY_MS)
    return max(first, kept), before


def get(tx: Transaction, graph_id: str, query: ModelCallQuery, caller: Caller) -> ModelCallResponse:
    call = calls.get(tx, graph_id, query.id)
    if call is None:
        raise Refused("model_call_not_found", f"there is no call {query.id!r} in this graph")
    return ModelCallResponse(
        call=ModelCall(
            **_fields(call),
            graph=caller.graph,
            input=Raw(call.input),
            output=Raw(call.output),
            truncated=bool(call.truncated),
            origin=_origin(call),
        )
    )


def row(call: Call) -> ModelCallRow:
    """The call as a list shows it."""
    return ModelCallRow(**_fields(call))


def _fields(call: Call) -> dict[str, Any]:
    return {
        "id": call.id,
        "at_ms": call.at_ms,
        "job": call.job,
        "provider": call.provider,
        "model": call.model.decode(),
        "ok": call.error is None,
        "error": _text(call.error),
        "summary": call.summary.decode(),
        "instance": _text(call.instance),
        "run_id": _text(call.run_id),
        "step": call.step,
        "scope": "test" if call.is_test else "live" if call.step is not None else None,
        "use": _USES[call.job],
        "usage": ModelCallUsage(
            tokens_in=call.tokens_in, tokens_out=call.tokens_out, cost_micro_usd=call.cost_micro_usd, ms=call.ms
        ),
        "sampled": False,
    }


def _origin(call: Call) -> ModelCallOrigin:
    run = ModelCallRun(
        identity=call.instance_id, turn=call.turn, run_id=_text(call.run_id), instance=_text(call.instance)
    )
    return ModelCallOrigin(
        route=f"tests/{call.workflow}" if call.is_test else f"activities/{call.job}",
        workflow=call.workflow,
        run=None if call.instance_id is None else run,
    )


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()
