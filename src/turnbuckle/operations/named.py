"""Named workflows: created, changed, paused, run, deleted (lbb-graph 5.1, 5.2, 5.6). Reads are in named_reads.py."""

import msgspec
from msgspec.structs import replace

from turnbuckle.engine import instance as instance_rules
from turnbuckle.engine import turn as turn_rules
from turnbuckle.graph import named as rules
from turnbuckle.graph import watch_terms
from turnbuckle.graph.head import GraphHead
from turnbuckle.graph.named import Named
from turnbuckle.graph.ontology import Ontology
from turnbuckle.operations import budget, named_reads, sender, trigger
from turnbuckle.operations import ontology as ontologies
from turnbuckle.operations.caller import Caller
from turnbuckle.operations.inbox import Inbox
from turnbuckle.store import graph as graphs
from turnbuckle.store import instance as instances
from turnbuckle.store import named as names
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.named import (
    NamedWorkflow,
    NamedWorkflowDeleteQuery,
    NamedWorkflowDeleteResponse,
    NamedWorkflowPauseRequest,
    NamedWorkflowQuery,
    NamedWorkflowRequest,
    NamedWorkflowRunResponse,
    NamedWorkflowTriggerRequest,
    WorkflowReviewTrigger,
)


def put(tx: Transaction, graph_id: str, request: NamedWorkflowRequest) -> NamedWorkflow:
    """Create the workflow or change its settings; the same settings again change nothing."""
    if request.workflow.workflow_type.startswith("lbb."):
        got = request.workflow.workflow_type
        raise rules.invalid("workflow", f"got {got!r}; types that begin with `lbb.` are the server's own")
    head = head_of(tx, graph_id)
    named = write(tx, head, settle(tx, head, request))
    return named_reads.shown(tx, head, named)


def head_of(tx: Transaction, graph_id: str) -> GraphHead:
    """Where the graph stands. An unknown graph has nothing declared that could be watched."""
    return graphs.head(tx, graph_id) or GraphHead(graph_id, "", 0, "", 0)


def settle(tx: Transaction, head: GraphHead, request: NamedWorkflowRequest) -> Named:
    """The request as it is stored, its terms resolved. Refused(workflow_param_invalid) with the field at fault."""
    ontology = ontologies.load(tx, head)
    main, review = _triggers(request.triggers)
    kind, asked = trigger.kind_of(main[1], main[0])
    owned = watch_terms.owned(ontology, request.owns)
    usd = request.budget_usd_per_month
    return Named(
        head.graph_id,
        rules.check_name(request.name),
        request.workflow.workflow_type,
        request.workflow.version,
        kind,
        rules.check_trigger_id(main[1].id or kind, f"{main[0]}.id"),
        trigger.KINDS[kind].resolve(tx, head, asked, f"{main[0]}.{kind}"),
        None if review is None else rules.check_trigger_id(review[1].id or "review", f"{review[0]}.id"),
        None if review is None else _answers_of(review, request.name),
        request.shards or 1,
        _route_by(ontology, request.route_by),
        request.window or limits.WINDOW_DEFAULT,
        request.batch or limits.WATCH_BATCH_DEFAULT,
        msgspec.json.encode(owned),
        rules.check_fan_in(request.fan_in),
        request.on_exhausted or "block",
        None if usd is None else round(usd * 1_000_000),
        tx.now_ms,
        tx.now_ms,
    )


_At = tuple[str, NamedWorkflowTriggerRequest]  # where in the request, and what


def _triggers(asked: list[NamedWorkflowTriggerRequest]) -> tuple[_At, _At | None]:
    """The main trigger and the review trigger."""
    named = [(f"triggers[{at}]", one) for at, one in enumerate(asked)]
    main = [at for at in named if at[1].review is None]
    review = [at for at in named if at[1].review is not None]
    for param, one in review:
        trigger.kind_of(one, param)
    if len(main) != 1 or len(review) > 1:
        got = f"got {len(main)} main and {len(review)} review triggers"
        raise rules.invalid("triggers", f"{got}, expected one of watch, schedule, stream and at most one review")
    ids = [one.id or trigger.kind_of(one, param)[0] for param, one in named]
    if len(set(ids)) != len(ids):
        raise rules.invalid("triggers", f"got the id {ids[0]!r} twice")
    return main[0], review[0] if review else None


def _answers_of(review: _At, name: str) -> str:
    asked = review[1].review
    assert isinstance(asked, WorkflowReviewTrigger)
    return name if asked.workflow is None else rules.check_name(asked.workflow)


def _route_by(ontology: Ontology, text: str | None) -> str | None:
    return None if text is None else watch_terms.field(ontology, text, "route_by").token


def write(tx: Transaction, head: GraphHead, asked: Named) -> Named:
    """The workflow as it is stored now, with its instances there."""
    while (old := names.lock(tx, head.graph_id, asked.name)) is None:  # unless somebody is faster
        if names.add(tx, asked):
            new = _begin(tx, head, asked)
            break
    else:
        if rules.is_same(old, asked):
            return old
        new = _change(tx, head, old, asked)
    sender.ensure(tx, new)
    budget.set_limit(tx, new.graph_id, new.name, _usd(new))
    tx.announce(sender.TOPIC, head.graph_id)
    return new


def _begin(tx: Transaction, head: GraphHead, new: Named) -> Named:
    trigger.KINDS[new.kind].begin(tx, head, new)
    _pause_shards(tx, new)  # those of a deleted workflow of that name may be paused still
    return new


def _change(tx: Transaction, head: GraphHead, old: Named, asked: Named) -> Named:
    kept = ("created_at_ms", "paused_at_ms", "sent_messages", "last_error", "last_error_at_ms")
    new = replace(asked, **{name: getattr(old, name) for name in kept})
    waiting = trigger.KINDS[old.kind].pending(tx, old) if old.kind == new.kind else 0
    rules.check_change(old, new, sender.unfinished(tx, old), waiting)
    names.save(tx, old, new)
    trigger.KINDS[new.kind].change(tx, head, old, new)
    return new


def _usd(named: Named) -> float | None:
    return None if named.budget_micro_usd is None else named.budget_micro_usd / 1_000_000


def delete(tx: Transaction, graph_id: str, query: NamedWorkflowDeleteQuery) -> NamedWorkflowDeleteResponse:
    """Remove the workflow, its trigger and what waits. Facts, instances and their turns stay."""
    if query.confirm != query.name:
        what = f"confirm: got {query.confirm[:80]!r}, expected the name {query.name[:80]!r}"
        raise Refused("invalid_param", what, param="confirm")
    named = names.lock(tx, graph_id, query.name)
    if named is None:
        return NamedWorkflowDeleteResponse(deleted=False)
    trigger.KINDS[named.kind].end(tx, named)
    budget.set_limit(tx, graph_id, named.name, None)
    return NamedWorkflowDeleteResponse(deleted=names.delete(tx, graph_id, named.name))


def pause(
    tx: Transaction, graph_id: str, query: NamedWorkflowQuery, request: NamedWorkflowPauseRequest
) -> NamedWorkflow:
    """Stop the trigger and every shard, or let them go on: what came meanwhile is read then."""
    old = locked(tx, graph_id, query.name)
    new = old
    if request.paused != (old.paused_at_ms is not None):
        new = replace(old, paused_at_ms=tx.now_ms if request.paused else None)
        names.save(tx, old, new)
        _pause_shards(tx, new)
        tx.announce(sender.TOPIC, graph_id)
    return named_reads.shown(tx, head_of(tx, graph_id), new)


def _pause_shards(tx: Transaction, named: Named) -> None:
    for shard in range(named.shards):
        _pause_shard(tx, named, rules.shard_identity(named.name, shard))


def _pause_shard(tx: Transaction, named: Named, instance_id: str) -> None:
    """Paused or not, as the workflow is."""
    found = instances.lock(tx, named.graph_id, instance_id)
    if found is None:  # somebody deleted it: it is made again, paused or not, by the next message
        return
    inbox = Inbox(tx, found)
    if named.paused_at_ms is not None:
        inbox.instance = instance_rules.pause(inbox.instance, tx.now_ms)
    else:
        inbox.instance = instance_rules.resume(inbox.instance, tx.now_ms)
        if instance_rules.may_hurry(inbox.head, "resume"):
            assert inbox.head is not None
            inbox.put(turn_rules.hurry(inbox.head, tx.now_ms))
    inbox.save()


def run(tx: Transaction, graph_id: str, query: NamedWorkflowQuery, caller: Caller) -> NamedWorkflowRunResponse:
    """Let the trigger send everything once more. A repeat while it does so changes nothing."""
    named, head = locked(tx, graph_id, query.name), head_of(tx, graph_id)
    trigger.KINDS[named.kind].run_now(tx, head, named, caller)
    tx.announce(sender.TOPIC, graph_id)
    return NamedWorkflowRunResponse(workflow=named_reads.shown(tx, head, named), queued=True)


def locked(tx: Transaction, graph_id: str, name: str) -> Named:
    """Refused(named_workflow_not_found) when there is none."""
    named = names.lock(tx, graph_id, name)
    if named is None:
        raise rules.missing(name)
    return named


# -- its work ----------------------------------------------------------------------------------------------------


def waiting(tx: Transaction) -> list[tuple[str, str]]:
    """(graph id, name) of workflows whose triggers have something to do now."""
    return [found for kind in trigger.KINDS.values() for found in kind.waiting(tx)]


def advance(tx: Transaction, graph_id: str, name: str, most: int) -> bool:
    """A piece of the trigger's work; whether there may be more now. Nothing while another server is at it."""
    named, head = names.take(tx, graph_id, name), graphs.head(tx, graph_id)
    if named is None or head is None or named.paused_at_ms is not None:
        return False
    return trigger.KINDS[named.kind].advance(tx, head, named, most)


def note_failure(tx: Transaction, graph_id: str, name: str, error: str) -> None:
    """What kept the trigger from its work, for a person to see."""
    named = names.lock(tx, graph_id, name)
    if named is not None:
        text = error[: limits.ERROR_CHARS].encode("utf-8", "replace")
        names.save(tx, named, replace(named, last_error=text, last_error_at_ms=tx.now_ms))
