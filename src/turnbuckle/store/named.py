"""Named workflows, their shards, and the messages of theirs that are on their way."""

from typing import NamedTuple

from turnbuckle.engine.run import Run
from turnbuckle.graph.named import Flight, Named, Shard
from turnbuckle.store.transaction import Transaction


def get(tx: Transaction, graph_id: str, name: str) -> Named | None:
    return tx.one("named_get", Named, graph_id=graph_id, name=name)


def lock(tx: Transaction, graph_id: str, name: str) -> Named | None:
    """The workflow, locked until the operation ends: after its graph and before its instances."""
    return tx.one("named_lock", Named, graph_id=graph_id, name=name)


def take(tx: Transaction, graph_id: str, name: str) -> Named | None:
    """The same, or None when another operation has it just now."""
    return tx.one("named_take", Named, graph_id=graph_id, name=name)


def add(tx: Transaction, named: Named) -> bool:
    """False when the name is taken."""
    return tx.insert("named_insert", named) == 1


def save(tx: Transaction, old: Named, new: Named) -> None:
    tx.save("named_update", old, new)


def delete(tx: Transaction, graph_id: str, name: str) -> bool:
    """False when there was none. The numbers of its shards' messages stay."""
    return tx.run("named_delete", graph_id=graph_id, name=name) == 1


def page(tx: Transaction, graph_id: str, after: str, limit: int) -> list[Named]:
    """By name, after the name `after`."""
    return tx.all("named_page", Named, graph_id=graph_id, after=after, limit=limit)


def with_review_trigger(tx: Transaction, graph_id: str, of: str | None = None) -> list[Named]:
    """Workflows that get the answers to the review items of the workflow `of`; None: of any."""
    return tx.all("named_for_answers", Named, graph_id=graph_id, of=of)


def budget_micro_usd(tx: Transaction, graph_id: str, name: str) -> int | None:
    """What the workflow's model calls may cost in a month; None: no limit of its own, or no such workflow."""
    named = get(tx, graph_id, name)
    return None if named is None else named.budget_micro_usd


# -- shards ------------------------------------------------------------------------------------------------------


def shards(tx: Transaction, graph_id: str, name: str) -> dict[int, Shard]:
    """All it ever had, by index."""
    return {shard.shard: shard for shard in tx.all("named_shard_page", Shard, graph_id=graph_id, name=name)}


def add_shard(tx: Transaction, shard: Shard) -> None:
    tx.insert("named_shard_insert", shard)


def save_shard(tx: Transaction, old: Shard, new: Shard) -> None:
    tx.save("named_shard_update", old, new)


def add_flight(tx: Transaction, flight: Flight) -> None:
    tx.insert("named_flight_insert", flight)


def flights(tx: Transaction, graph_id: str, instance_id: str) -> list[Flight]:
    """Messages of the shard whose turns have not finished, the oldest first."""
    return tx.all("named_flight_page", Flight, graph_id=graph_id, instance_id=instance_id)


def land(tx: Transaction, graph_id: str, instance_id: str) -> None:
    """Forget the messages whose turns have finished, or are gone."""
    tx.run("named_flight_land", graph_id=graph_id, instance_id=instance_id)


# -- runs of all shards ------------------------------------------------------------------------------------------


def runs(tx: Transaction, graph_id: str, workflow: str, outcome: str | None, before: str, limit: int) -> list[Run]:
    """Newest first, before the run `before`."""
    return tx.all("named_runs", Run, graph_id=graph_id, workflow=workflow, outcome=outcome, before=before, limit=limit)


def run(tx: Transaction, graph_id: str, workflow: str, run_id: str) -> Run | None:
    return tx.one("named_run", Run, graph_id=graph_id, workflow=workflow, run_id=run_id)


def run_totals(tx: Transaction, graph_id: str, workflow: str, first: str) -> list[tuple[str, int, int]]:
    """(outcome, runs, milliseconds) of runs whose ids are not before `first`."""
    rows = tx.rows("named_run_totals", graph_id=graph_id, workflow=workflow, first=first)
    return [(outcome, int(runs), int(ms)) for outcome, runs, ms in rows]


def run_reports(
    tx: Transaction, graph_id: str, workflow: str, first: str, limit: int
) -> list[tuple[bytes | None, bytes | None]]:
    """Usage and results of the newest runs whose ids are not before `first`."""
    rows = tx.rows("named_run_reports", graph_id=graph_id, workflow=workflow, first=first, limit=limit)
    return [(usage, results) for usage, results in rows]


class Told(NamedTuple):
    """What a run told of its inputs."""

    run_id: str
    turn: int
    at_ms: int
    results: bytes


def run_results(
    tx: Transaction, graph_id: str, workflow: str, run_id: str | None, through: str, limit: int
) -> list[Told]:
    """Newest first, from the run `through` on; of all runs or of one."""
    rows = tx.rows(
        "named_run_results", graph_id=graph_id, workflow=workflow, run_id=run_id, through=through, limit=limit
    )
    return [Told(*row) for row in rows]
