"""Runs of a named workflow, over all its shards (lbb-graph 5.9)."""

import hashlib
from collections import Counter

import msgspec

from turnbuckle.engine import call as call_rules
from turnbuckle.engine.run import Run
from turnbuckle.graph import named as rules
from turnbuckle.operations import answers
from turnbuckle.operations import call as call_operations
from turnbuckle.store import call as calls
from turnbuckle.store import named as names
from turnbuckle.store import run as run_rows
from turnbuckle.store.named import Told
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.call import ModelCallRow
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.named import (
    NamedWorkflowRunAnswer,
    NamedWorkflowRunQuery,
    NamedWorkflowRunResult,
    NamedWorkflowRunResultCounts,
    NamedWorkflowRunResultsQuery,
    NamedWorkflowRunResultsResponse,
    NamedWorkflowRunsQuery,
    NamedWorkflowRunsResponse,
    NamedWorkflowRunStats,
    NamedWorkflowRunStatsQuery,
)
from turnbuckle.wire.run import WorkflowRunCounts, WorkflowRunResultsReport, WorkflowRunUsage

_CALLS_SHOWN = 1_000
_CALL_PAGES = 10  # of a run's time that are looked through for its calls
_RUNS_SUMMED = 10_000
_RUNS_LOOKED_AT = 200  # for one page of results


def runs(tx: Transaction, graph_id: str, query: NamedWorkflowRunsQuery) -> NamedWorkflowRunsResponse:
    _check_there(tx, graph_id, query.name)
    before = query.cursor or run_rows.LAST
    found = names.runs(tx, graph_id, query.name, query.outcome, before, query.limit + 1)
    page = found[: query.limit]
    return NamedWorkflowRunsResponse(
        object="list",
        data=[answers.of_run(run) for run in page],
        has_more=len(found) > query.limit,
        next_cursor=page[-1].run_id if len(found) > query.limit else None,
    )


def _check_there(tx: Transaction, graph_id: str, name: str) -> None:
    if names.get(tx, graph_id, name) is None:
        raise rules.missing(name)


def get_run(tx: Transaction, graph_id: str, query: NamedWorkflowRunQuery) -> NamedWorkflowRunAnswer:
    _check_there(tx, graph_id, query.name)
    run = names.run(tx, graph_id, query.name, query.id)
    if run is None:
        raise Refused("workflow_run_not_found", f"{query.name} has no run {query.id!r}; runs are kept 30 days")
    found, is_cut = _calls(tx, run)
    return NamedWorkflowRunAnswer(run=answers.of_run(run), calls=found, calls_truncated=is_cut)


def _calls(tx: Transaction, run: Run) -> tuple[list[ModelCallRow], bool]:
    """The run's calls, newest first, and whether there may be more. A call's id tells when it was made."""
    first, before = call_rules.bounds(run.started_at_ms, run.ended_at_ms + limits.MINUTE_MS)
    found: list[ModelCallRow] = []
    for _ in range(_CALL_PAGES):
        page = calls.page(tx, run.graph_id, first, before, None, _CALLS_SHOWN)
        found += [call_operations.row(call) for call in page if call.run_id == run.run_id.encode()]
        if len(page) < _CALLS_SHOWN or len(found) >= _CALLS_SHOWN:
            return found[:_CALLS_SHOWN], len(found) > _CALLS_SHOWN or len(page) == _CALLS_SHOWN
        before = page[-1].id
    return found, True


def run_stats(tx: Transaction, graph_id: str, query: NamedWorkflowRunStatsQuery) -> NamedWorkflowRunStats:
    _check_there(tx, graph_id, query.name)
    from_ms = tx.now_ms - query.hours * limits.HOUR_MS
    first = f"{from_ms:013d}"  # a run's id begins with when it began
    totals = names.run_totals(tx, graph_id, query.name, first)
    reports = names.run_reports(tx, graph_id, query.name, first, _RUNS_SUMMED)
    return NamedWorkflowRunStats(
        name=query.name,
        hours=query.hours,
        from_ms=from_ms,
        to_ms=tx.now_ms,
        runs=sum(count for _, count, _ in totals),
        outcomes={outcome: count for outcome, count, _ in sorted(totals)},
        running_ms=sum(ms for _, _, ms in totals),
        usage=_sum_usage([usage for usage, _ in reports if usage is not None]),
        counts=_sum_counts([results for _, results in reports if results is not None]),
        truncated=len(reports) == _RUNS_SUMMED,
    )


def _sum_usage(told: list[bytes]) -> WorkflowRunUsage:
    total: Counter[str] = Counter()
    for usage in told:
        total.update(msgspec.json.decode(usage, type=dict[str, int]))
    return WorkflowRunUsage(**{name: total[name] for name in WorkflowRunUsage.__struct_fields__})


def _sum_counts(told: list[bytes]) -> WorkflowRunCounts:
    total: Counter[str] = Counter()
    for results in told:
        total.update(msgspec.structs.asdict(msgspec.json.decode(results, type=WorkflowRunResultsReport).counts))
    return WorkflowRunCounts(**total)


# -- results -----------------------------------------------------------------------------------------------------


def run_results(tx: Transaction, graph_id: str, query: NamedWorkflowRunResultsQuery) -> NamedWorkflowRunResultsResponse:
    """What runs did with each input. A page that looked through many runs in vain may be short and have more."""
    _check_there(tx, graph_id, query.name)
    through, after = _place(query.cursor)
    wanted = None if query.outcome is None else frozenset(query.outcome.split(","))
    told = names.run_results(tx, graph_id, query.name, query.run, through, _RUNS_LOOKED_AT)
    found: list[NamedWorkflowRunResult] = []
    for run in told:
        for at, result in enumerate(_of_run(run)):
            if run.run_id == through and at <= after:
                continue
            if (wanted is None or result.outcome in wanted) and query.iri in (None, result.iri):
                if len(found) == query.limit:
                    return _results(tx, graph_id, query, found, _cursor(run.run_id, at - 1))
                found.append(result)
    more = _cursor(told[-1].run_id, limits.INPUTS_PER_RUN) if len(told) == _RUNS_LOOKED_AT else None
    return _results(tx, graph_id, query, found, more)


def _of_run(told: Told) -> list[NamedWorkflowRunResult]:
    report = msgspec.json.decode(told.results, type=WorkflowRunResultsReport)
    return [
        NamedWorkflowRunResult(
            **msgspec.structs.asdict(one), id=_id(told.run_id, at), run=told.run_id, turn=told.turn, at_ms=told.at_ms
        )
        for at, one in enumerate(report.inputs)
    ]


def _id(run_id: str, at: int) -> str:
    return "wrr_" + hashlib.blake2b(f"{run_id}\0{at}".encode(), digest_size=12).hexdigest()


def _results(
    tx: Transaction,
    graph_id: str,
    query: NamedWorkflowRunResultsQuery,
    found: list[NamedWorkflowRunResult],
    next_cursor: str | None,
) -> NamedWorkflowRunResultsResponse:
    return NamedWorkflowRunResultsResponse(
        object="list",
        data=found,
        has_more=next_cursor is not None,
        next_cursor=next_cursor,
        run_counts=None if query.run is None else _counts(tx, graph_id, query.name, query.run),
    )


def _counts(tx: Transaction, graph_id: str, name: str, run_id: str) -> NamedWorkflowRunResultCounts | None:
    told = names.run_results(tx, graph_id, name, run_id, run_id, 1)
    if not told:
        return None
    report = msgspec.json.decode(told[0].results, type=WorkflowRunResultsReport)
    counted = sum(msgspec.structs.astuple(report.counts))
    return NamedWorkflowRunResultCounts(counts=report.counts, inputs=counted, listed=len(report.inputs))


def _cursor(run_id: str, at: int) -> str:
    return f"{run_id}~{at}"


def _place(cursor: str | None) -> tuple[str, int]:
    """The run that the page goes on in, and after which of its inputs."""
    if cursor is None:
        return run_rows.LAST, -1
    run_id, mark, at = cursor.rpartition("~")
    if not mark or not at.removeprefix("-").isdecimal() or not at.isascii() or len(at) > 4:
        raise rules.bad_cursor(cursor)
    return run_id, int(at)
