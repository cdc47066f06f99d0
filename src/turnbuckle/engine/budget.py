"""Money that model calls may cost: micro-dollars per UTC month, of an environment and of a named workflow.

A call is refused when what was spent has reached the limit, so the last ones may overshoot it (lbb-graph 3.3).
"""

import datetime

from turnbuckle.engine import run
from turnbuckle.wire.errors import Refused

_INSTANCE = "instance:"


def month_of(at_ms: int) -> str:
    """`2027-01`"""
    return _utc(at_ms).strftime("%Y-%m")


def next_month_at_ms(at_ms: int) -> int:
    """The first instant of the next UTC month."""
    # The 1st plus 31 days is always in the next month.
    later = _utc(at_ms).replace(day=1, hour=0, minute=0, second=0, microsecond=0) + datetime.timedelta(days=31)
    return int(later.replace(day=1).timestamp()) * 1_000


def _utc(at_ms: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(at_ms // 1_000, datetime.UTC)


def workflow_of(instance_id: str) -> str | None:
    """The named workflow that an instance belongs to."""
    name = run.named_workflow(instance_id)
    return None if name.startswith(_INSTANCE) else name


def check(whose: str, spent_micro_usd: int, limit_micro_usd: int | None, now_ms: int) -> None:
    """Refused(workflow_budget_exceeded) with the start of the next month when the month's money is spent."""
    if limit_micro_usd is None or spent_micro_usd < limit_micro_usd:
        return
    raise Refused(
        "workflow_budget_exceeded",
        f"{whose} has spent {_usd(spent_micro_usd)} in {month_of(now_ms)}, its budget is {_usd(limit_micro_usd)}",
        retry_at_ms=next_month_at_ms(now_ms),
    )


def micro_usd(usd: float) -> int:
    return round(usd * 1_000_000)


def _usd(micro: int) -> str:
    return f"{micro / 1_000_000:.6f} USD"
