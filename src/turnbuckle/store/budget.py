"""Money spent by month, and what a named workflow may spend. Amounts are micro-dollars."""

from turnbuckle.store.transaction import Transaction


def limit(tx: Transaction, graph_id: str, workflow: str) -> int | None:
    row = tx.row("budget_get", graph_id=graph_id, workflow=workflow)
    return None if row is None else int(row[0])


def set_limit(tx: Transaction, graph_id: str, workflow: str, micro_usd: int | None) -> None:
    if micro_usd is None:
        tx.run("budget_remove", graph_id=graph_id, workflow=workflow)
    else:
        tx.run("budget_put", graph_id=graph_id, workflow=workflow, micro_usd=micro_usd)


def spent(tx: Transaction, graph_id: str, workflow: str, month: str) -> int:
    row = tx.row("spend_get", graph_id=graph_id, workflow=workflow, month=month)
    return 0 if row is None else int(row[0])


def spent_in(tx: Transaction, environment: str, month: str) -> int:
    row = tx.row("environment_spend_get", environment=environment, month=month)
    return 0 if row is None else int(row[0])


def spend(tx: Transaction, graph_id: str, workflow: str, month: str, micro_usd: int) -> None:
    tx.run("spend_add", graph_id=graph_id, workflow=workflow, month=month, micro_usd=micro_usd)


def spend_in(tx: Transaction, environment: str, month: str, micro_usd: int) -> None:
    tx.run("environment_spend_add", environment=environment, month=month, micro_usd=micro_usd)
