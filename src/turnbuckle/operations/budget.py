"""What model calls may cost and have cost. Amounts are micro-dollars per UTC month (lbb-graph 3.3)."""

from turnbuckle.engine import budget as rules
from turnbuckle.store import budget as budgets
from turnbuckle.store.transaction import Transaction


def limit_of(tx: Transaction, graph_id: str, workflow: str) -> int | None:
    """What the named workflow may spend in a month; None without a limit of its own."""
    return budgets.limit(tx, graph_id, workflow)


def set_limit(tx: Transaction, graph_id: str, workflow: str, usd_per_month: float | None) -> None:
    """Called with the setting of a named workflow whenever it is written; None takes the limit away."""
    budgets.set_limit(tx, graph_id, workflow, None if usd_per_month is None else rules.micro_usd(usd_per_month))


def spent_by(tx: Transaction, graph_id: str, workflow: str) -> tuple[str, int]:
    """The present month and what the named workflow has spent in it."""
    month = rules.month_of(tx.now_ms)
    return month, budgets.spent(tx, graph_id, workflow, month)


def check(
    tx: Transaction, graph_id: str, environment: str, workflow: str | None, environment_limit: int | None
) -> None:
    """Refused(workflow_budget_exceeded) when this month's money of the workflow or the environment is spent."""
    month = rules.month_of(tx.now_ms)
    if workflow is not None and (limit := limit_of(tx, graph_id, workflow)) is not None:
        rules.check(f"workflow {workflow!r}", budgets.spent(tx, graph_id, workflow, month), limit, tx.now_ms)
    if environment_limit is not None:
        spent = budgets.spent_in(tx, environment, month)
        rules.check(f"environment {environment!r}", spent, environment_limit, tx.now_ms)


def charge(tx: Transaction, graph_id: str, environment: str, workflow: str | None, micro_usd: int) -> None:
    if micro_usd == 0:
        return
    month = rules.month_of(tx.now_ms)
    if workflow is not None:
        budgets.spend(tx, graph_id, workflow, month, micro_usd)
    budgets.spend_in(tx, environment, month, micro_usd)
