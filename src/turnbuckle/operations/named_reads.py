"""Named workflows for a reader: settings, status, shards, queue and runs (lbb-graph 5.2, 5.8, 5.9)."""

from typing import Literal, cast

import msgspec

from turnbuckle.engine import instance as instance_rules
from turnbuckle.graph import named as rules
from turnbuckle.graph import watch_terms
from turnbuckle.graph.head import GraphHead
from turnbuckle.graph.named import Flight, Named, Owned, Shard
from turnbuckle.operations import answers, budget, instance, trigger, turn
from turnbuckle.operations.progress import Progress
from turnbuckle.store import graph as graphs
from turnbuckle.store import instance as instances
from turnbuckle.store import named as names
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.instance import OnExhausted, WorkflowInboxQuery
from turnbuckle.wire.moment import rfc3339
from turnbuckle.wire.named import (
    NamedWorkflow,
    NamedWorkflowDetails,
    NamedWorkflowShardState,
    NamedWorkflowsQuery,
    NamedWorkflowsResponse,
    NamedWorkflowStatus,
    NamedWorkflowTrigger,
    WorkflowOwns,
    WorkflowReviewTrigger,
    WorkflowSpend,
    WorkflowWorkerType,
)
from turnbuckle.wire.watch import (
    WorkflowInFlight,
    WorkflowQueueQuery,
    WorkflowQueueResponse,
    WorkflowQueueShard,
    WorkflowShardTurn,
)

_TURNS_SHOWN = 10
State = Literal["backfilling", "ready", "paused", "failed", "unavailable"]


def get(tx: Transaction, graph_id: str, query: NamedWorkflowsQuery) -> NamedWorkflow | NamedWorkflowsResponse:
    """One workflow by its name, or a page of them."""
    if query.name is not None:
        return shown(tx, *_find(tx, graph_id, query.name))
    head = graphs.head(tx, graph_id)
    found = [] if head is None else names.page(tx, graph_id, query.cursor or "", query.limit + 1)
    page = found[: query.limit]
    return NamedWorkflowsResponse(
        object="list",
        data=[] if head is None else [shown(tx, head, named) for named in page],
        has_more=len(found) > query.limit,
        next_cursor=page[-1].name if len(found) > query.limit else None,
    )


def _find(tx: Transaction, graph_id: str, name: str) -> tuple[GraphHead, Named]:
    """Refused(named_workflow_not_found), also for what a deleted graph has left."""
    head, named = graphs.head(tx, graph_id), names.get(tx, graph_id, name)
    if head is None or named is None:
        raise rules.missing(name)
    return head, named


def shown(tx: Transaction, head: GraphHead, named: Named) -> NamedWorkflow:
    kind = trigger.KINDS[named.kind]
    progress = kind.progress(tx, head, named)
    states = shard_states(tx, named)
    return NamedWorkflow(
        object="workflow",
        name=named.name,
        starter=rules.STARTER,
        runs_in="worker",
        workflow=WorkflowWorkerType(workflow_type=named.workflow_type, version=named.version),
        triggers=[kind.shown(tx, head, named), *_review(named)],
        shards=named.shards,
        window=named.window_messages,
        batch=named.batch,
        on_exhausted=cast(OnExhausted, named.on_exhausted),
        paused=named.paused_at_ms is not None,
        status=status(tx, head, named, progress, states),
        created=rfc3339(named.created_at_ms),
        updated=rfc3339(named.updated_at_ms),
        route_by=None if named.route_by is None else watch_terms.iri_of(named.route_by),
        owns=owns(named),
        fan_in=named.fan_in,
        budget_usd_per_month=_usd(named),
        shard_states=states,
        details=None if progress.details is None else _with_flight(progress, states),
        pass_=progress.running,
    )


def owns(named: Named) -> WorkflowOwns | None:
    return watch_terms.shown_owned(msgspec.json.decode(named.owns, type=Owned))


def _review(named: Named) -> list[NamedWorkflowTrigger]:
    if named.review_id is None:
        return []
    return [
        NamedWorkflowTrigger(id=named.review_id, kind="review", review=WorkflowReviewTrigger(workflow=named.review_of))
    ]


def _usd(named: Named) -> float | None:
    return None if named.budget_micro_usd is None else named.budget_micro_usd / 1_000_000


def status(
    tx: Transaction, head: GraphHead, named: Named, progress: Progress, states: list[NamedWorkflowShardState]
) -> NamedWorkflowStatus:
    through = progress.processed_through_seq
    month, spent = budget.spent_by(tx, named.graph_id, named.name)
    error = None if named.last_error is None else named.last_error.decode()
    return NamedWorkflowStatus(
        state=_state(named, progress, states),
        pending=progress.pending,
        pending_since_ms=progress.pending_since_ms,
        processed_through_seq=through,
        published_seq=head.head_seq,
        lag_commits=None if through is None else head.head_seq - through,
        counters={"sent_messages": named.sent_messages, **progress.counters},
        backfill=progress.backfill,
        spend=WorkflowSpend(month=month, cost_micro_usd=spent),
        budget_usd_per_month=_usd(named),
        last_error=progress.unavailable or error,
        last_error_at=None if named.last_error_at_ms is None else rfc3339(named.last_error_at_ms),
    )


def _state(named: Named, progress: Progress, states: list[NamedWorkflowShardState]) -> State:
    """One word: what hinders it most, else whether it is going through all instances."""
    if progress.unavailable is not None:
        return "unavailable"
    if named.paused_at_ms is not None:
        return "paused"
    if any(one.status == "failed" for one in states):
        return "failed"  # a shard stands still until a person retries or skips its turn
    return "ready" if progress.running is None else "backfilling"


# -- shards ------------------------------------------------------------------------------------------------------


def shard_states(tx: Transaction, named: Named) -> list[NamedWorkflowShardState]:
    known = names.shards(tx, named.graph_id, named.name)
    return [_shard_state(tx, named, index, known.get(index)) for index in range(named.shards)]


def _shard_state(tx: Transaction, named: Named, index: int, shard: Shard | None) -> NamedWorkflowShardState:
    instance_id = rules.shard_identity(named.name, index)
    full_since_ms = None if shard is None else shard.window_full_since_ms
    found = instances.get(tx, named.graph_id, instance_id)
    settled, head = (None, None) if found is None else turn.instance_as_of_now(tx, found, payloads=False)
    stands = None if head is None else head.turn
    is_held = stands is not None and answers.status(stands, tx.now_ms) == "running"
    return NamedWorkflowShardState(
        index=index,
        workflow_id=instance_id,
        next_message=1 if shard is None else shard.next_message,
        pending_messages=None if settled is None else settled.pending,
        status=None if settled is None else instance_rules.status(settled, stands, tx.now_ms),
        running=stands.number if stands is not None and is_held else None,
        in_flight=_oldest(names.flights(tx, named.graph_id, instance_id)),
        window_full_since=None if full_since_ms is None else rfc3339(full_since_ms),
    )


def _oldest(flights: list[Flight]) -> WorkflowInFlight | None:
    if not flights:
        return None
    first = flights[0]
    return WorkflowInFlight(message_id=answers.text(first.message_id), turn=first.turn, sent_at_ms=first.sent_at_ms)


def _with_flight(progress: Progress, states: list[NamedWorkflowShardState]) -> NamedWorkflowDetails:
    assert progress.details is not None
    return msgspec.structs.replace(progress.details, in_flight=states[0].in_flight if states else None)


def queue(tx: Transaction, graph_id: str, query: WorkflowQueueQuery) -> WorkflowQueueResponse:
    """What waits for a message, and what the shards have in hand."""
    head, named = _find(tx, graph_id, query.name)
    if query.trigger not in (None, named.trigger_id):
        what = f"trigger: got {query.trigger!r}, expected {named.trigger_id!r}"
        raise Refused("invalid_param", what, param="trigger")
    waiting = trigger.KINDS[named.kind].queue(tx, head, named, query)
    return msgspec.structs.replace(waiting, shards=[_in_hand(tx, named, shard) for shard in range(named.shards)])


def _in_hand(tx: Transaction, named: Named, shard: int) -> WorkflowQueueShard:
    instance_id = rules.shard_identity(named.name, shard)
    inbox = None
    if instances.get(tx, named.graph_id, instance_id) is not None:
        inbox = instance.inbox(tx, named.graph_id, WorkflowInboxQuery(id=instance_id, limit=_TURNS_SHOWN))
    return WorkflowQueueShard(
        index=shard,
        workflow_id=instance_id,
        turns=[
            WorkflowShardTurn(
                turn=one.turn,
                message_id=one.message_id,
                status=one.status,
                attempt=one.attempt,
                received_at_ms=one.received_at_ms,
                error=one.error,
            )
            for one in (inbox.messages if inbox is not None else [])
        ],
        in_flight=_oldest(names.flights(tx, named.graph_id, instance_id)),
    )
