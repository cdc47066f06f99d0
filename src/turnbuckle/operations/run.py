"""Records of runs, read."""

import msgspec

from turnbuckle.operations import answers, turn
from turnbuckle.store import run as runs
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.run import (
    WorkflowRunQuery,
    WorkflowRunResultsReport,
    WorkflowRunResultsResponse,
    WorkflowRunsQuery,
    WorkflowRunsResponse,
)


def list_page(tx: Transaction, graph_id: str, query: WorkflowRunsQuery) -> WorkflowRunsResponse:
    turn.find_instance(tx, graph_id, query.id)
    found = runs.page(tx, graph_id, query.id, query.after or runs.LAST, query.limit + 1)
    page = found[: query.limit]
    return WorkflowRunsResponse(
        runs=[answers.of_run(run) for run in page],
        next_after=page[-1].run_id if len(found) > query.limit else None,
    )


def get(tx: Transaction, graph_id: str, query: WorkflowRunQuery) -> WorkflowRunResultsResponse:
    turn.find_instance(tx, graph_id, query.id)
    run = runs.get(tx, graph_id, query.id, query.run)
    if run is None:
        raise Refused("workflow_run_not_found", f"{query.id} has no run {query.run!r}; runs are kept 30 days")
    results = None if run.results is None else msgspec.json.decode(run.results, type=WorkflowRunResultsReport)
    return WorkflowRunResultsResponse(run=answers.of_run(run), results=results)
