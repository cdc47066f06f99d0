"""Workflows by starter: what `use_workflow_starter` makes is a named workflow (lbb-graph 5.1)."""

from typing import TypeVar

from msgspec.structs import replace

from turnbuckle.graph import named as rules
from turnbuckle.graph.head import GraphHead
from turnbuckle.graph.named import Named
from turnbuckle.operations import named as named_operations
from turnbuckle.operations import named_reads
from turnbuckle.store import named as names
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.moment import rfc3339
from turnbuckle.wire.named import (
    NamedWorkflowRequest,
    NamedWorkflowTriggerRequest,
    TriggeredWorkflow,
    TriggeredWorkflowRequest,
    TriggeredWorkflowsQuery,
    TriggeredWorkflowsResponse,
)

T = TypeVar("T")
VERSION = "v1"
# Starters of the reference whose turns its server runs itself.
_NOT_HERE = frozenset({"values.extract", "search.embed", "ontology.fit", "documents.link", "documents.map"})
# What a request by starter has no word for stays as it is.
_KEPT = ("review_id", "review_of", "shards", "route_by", "window_messages", "fan_in", "on_exhausted", "trigger_id")


def put(tx: Transaction, graph_id: str, request: TriggeredWorkflowRequest) -> TriggeredWorkflow:
    """Create or change the workflow; the same request again changes nothing."""
    _check_starter(request.starter)
    _check_settings(request)
    asked = NamedWorkflowRequest(
        name=_name(request),
        workflow=_given(request.workflow, "workflow"),
        triggers=[NamedWorkflowTriggerRequest(watch=request.watch)],
        batch=request.batch,
        owns=request.owns,
        budget_usd_per_month=request.budget_usd_per_month,
    )
    head = named_operations.head_of(tx, graph_id)
    new, old = named_operations.settle(tx, head, asked), names.get(tx, graph_id, asked.name)
    if old is not None:
        new = replace(new, **{name: getattr(old, name) for name in _KEPT})
    return shown(tx, head, named_operations.write(tx, head, new))


def _check_starter(text: str) -> None:
    starter, _, version = text.partition("@")
    if starter in _NOT_HERE:
        what = f"got {text!r}, whose turns the reference's server runs; here a worker runs them: take `workflow`"
        raise rules.invalid("starter", f"{what}, and for values.extract the template values-extract")
    if starter != rules.STARTER or version not in ("", VERSION):
        raise Refused("not_found", f"there is no starter {text!r}; there is `workflow`", param="starter")


def _check_settings(request: TriggeredWorkflowRequest) -> None:
    if request.params:
        raise rules.invalid("params", "the starter `workflow` has no settings of its own")
    if request.gate is not None:
        raise rules.invalid("gate", "the starter `workflow` has no gate: the worker decides")
    _given(request.watch, "watch")


def _given(value: T | None, param: str) -> T:
    if value is None:
        raise rules.invalid(param, "got nothing; the starter `workflow` needs it")
    return value


def _name(request: TriggeredWorkflowRequest) -> str:
    """The given one, or that of the class in lower case."""
    if request.name is not None:
        return request.name
    text = _given(request.watch, "watch").class_.strip().removesuffix(">")
    return text.rsplit("/", 1)[-1].rsplit("#", 1)[-1].rsplit(":", 1)[-1].lower()


def get(
    tx: Transaction, graph_id: str, query: TriggeredWorkflowsQuery
) -> TriggeredWorkflow | TriggeredWorkflowsResponse:
    """One by its name, or a page of them. The named routes tell more."""
    if query.starter is not None:
        _check_starter(query.starter)
    if query.name is not None:
        named = names.get(tx, graph_id, query.name)
        if named is None:
            raise Refused("triggered_workflow_not_found", f"there is no workflow {query.name[:80]!r} in this graph")
        return shown(tx, named_operations.head_of(tx, graph_id), named)
    found = names.page(tx, graph_id, query.cursor or "", query.limit + 1)
    page, head = found[: query.limit], named_operations.head_of(tx, graph_id)
    return TriggeredWorkflowsResponse(
        object="list",
        data=[shown(tx, head, named) for named in page],
        has_more=len(found) > query.limit,
        next_cursor=page[-1].name if len(found) > query.limit else None,
    )


def shown(tx: Transaction, head: GraphHead, named: Named) -> TriggeredWorkflow:
    whole = named_reads.shown(tx, head, named)
    return TriggeredWorkflow(
        starter=rules.STARTER,
        version=VERSION,
        name=named.name,
        status=whole.status,
        watch=whole.triggers[0].watch,
        workflow=whole.workflow,
        owns=whole.owns,
        batch=named.batch,
        details=whole.details,
        created_at=whole.created,
        updated_at=rfc3339(named.updated_at_ms),
    )
