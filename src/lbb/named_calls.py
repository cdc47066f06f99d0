"""The calls about the named workflows of a graph (lbb-graph 5.1, 5.2)."""

from collections.abc import Mapping, Sequence
from typing import Any

from lbb import models
from lbb.answer import RawLbbResponse
from lbb.call import Call, as_mapping, as_model, given
from lbb.list_page import ListPage

_NAMED = "/v1/workflows/named"
_RETRIED: Any = {"retry": True}  # the same request again changes nothing


def use_workflow_starter(
    starter: str,
    *,
    name: str | None = None,
    class_: str | None = None,
    fields: Sequence[str | Mapping[str, Any]] | None = None,
    exclude: Sequence[str] | None = None,
    params: Mapping[str, Any] | None = None,
    gate: float | None = None,
    budget_usd_per_month: float | None = None,
    workflow: Mapping[str, str] | None = None,
    owns: Mapping[str, Sequence[str]] | None = None,
    batch: int | None = None,
) -> Call[dict[str, Any]]:
    """Create or change the triggered workflow that watches `class_` and its `fields`.

    `workflow` is `{"workflow_type", "version"}` of your code, `owns` the `classes`, `relations` and `properties` that
    it writes, `batch` the instances in one message. ValueError for `fields` or `exclude` without `class_`.
    """
    if class_ is None and (fields is not None or exclude is not None):
        raise ValueError("fields and exclude belong to a class: pass class_= too")
    watch = given(fields=fields, exclude=exclude)
    body = {"starter": starter} | given(
        name=name,
        watch=None if class_ is None else {"class": class_, **watch},
        params=params,
        gate=None if gate is None else {"below": gate},
        budget_usd_per_month=budget_usd_per_month,
        workflow=workflow,
        owns=owns,
        batch=batch,
    )
    return Call("PUT", "/v1/workflows/triggered", {"body": body, "options": _RETRIED}, as_mapping)


def list_named(*, limit: int | None = None, cursor: str | None = None) -> Call[ListPage[models.NamedWorkflow]]:
    """One page of the graph's workflows, by name."""
    return Call("GET", _NAMED, {"params": {"limit": limit, "cursor": cursor}}, _page_of(models.NamedWorkflow))


def get(name: str) -> Call[models.NamedWorkflow]:
    """LbbError 404 `named_workflow_not_found` when there is none of that name."""
    return Call("GET", _NAMED, {"params": {"name": name}}, _WORKFLOW)


def put(body: Mapping[str, Any]) -> Call[models.NamedWorkflow]:
    """Create or change the workflow `body["name"]`; nothing happens when it is so already."""
    return Call("PUT", _NAMED, {"body": body, "options": _RETRIED}, _WORKFLOW)


def delete(name: str, *, confirm: str) -> Call[models.NamedWorkflowDeleteResponse]:
    """Delete the workflow and its queue. Facts and instances stay. `confirm` is its name again."""
    arguments: Any = {"params": {"name": name, "confirm": confirm}, "options": _RETRIED}
    return Call("DELETE", _NAMED, arguments, as_model(models.NamedWorkflowDeleteResponse))


def run(name: str) -> Call[models.NamedWorkflowRunResponse]:
    """Send everything the workflow watches once more."""
    arguments: Any = {"params": {"name": name}, "options": _RETRIED}
    return Call("POST", _NAMED + "/run", arguments, as_model(models.NamedWorkflowRunResponse))


def pause(name: str, paused: bool = True) -> Call[models.NamedWorkflow]:
    """Stop the trigger and every shard, or let them go on with what came meanwhile."""
    arguments: Any = {"params": {"name": name}, "body": {"paused": paused}, "options": _RETRIED}
    return Call("POST", _NAMED + "/pause", arguments, _WORKFLOW)


def requeue(name: str, request: Mapping[str, Any]) -> Call[models.WorkflowRequeueResponse]:
    """Give instances of the turn `{"workflow_id", "turn", "items": [{"instance", "error"?}]}` back to the watch."""
    arguments: Any = {"params": {"name": name}, "body": request, "options": _RETRIED}
    return Call("POST", _NAMED + "/requeue", arguments, as_model(models.WorkflowRequeueResponse))


def queue(
    name: str, *, trigger: str | None = None, cursor: str | None = None, limit: int | None = None
) -> Call[models.WorkflowQueueResponse]:
    """One page of what the watch has not sent yet, and what its shards have in hand."""
    params = {"name": name, "trigger": trigger, "cursor": cursor, "limit": limit}
    return Call("GET", _NAMED + "/queue", {"params": params}, as_model(models.WorkflowQueueResponse))


def runs(
    name: str, *, outcome: str | None = None, cursor: str | None = None, limit: int | None = None
) -> Call[ListPage[models.WorkflowRunSummary]]:
    """One page of the workflow's runs, newest first."""
    params = {"name": name, "outcome": outcome, "cursor": cursor, "limit": limit}
    return Call("GET", _NAMED + "/runs", {"params": params}, _page_of(models.WorkflowRunSummary))


def get_run(name: str, id: str) -> Call[models.NamedWorkflowRunAnswer]:
    """A run with its model calls; LbbError 404 `workflow_run_not_found`."""
    return Call(
        "GET", _NAMED + "/runs/get", {"params": {"name": name, "id": id}}, as_model(models.NamedWorkflowRunAnswer)
    )


def run_stats(name: str, *, hours: int | None = None) -> Call[models.NamedWorkflowRunStats]:
    """What the runs of the last `hours` did and cost."""
    params = {"name": name, "hours": hours}
    return Call("GET", _NAMED + "/runs/stats", {"params": params}, as_model(models.NamedWorkflowRunStats))


def run_results(
    name: str,
    *,
    run: str | None = None,
    outcome: str | None = None,
    iri: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Call[models.NamedWorkflowRunResultsResponse]:
    """One page of what the runs did with each input; `outcome` may be a list with commas."""
    params = {"name": name, "run": run, "outcome": outcome, "iri": iri, "cursor": cursor, "limit": limit}
    read = as_model(models.NamedWorkflowRunResultsResponse)
    return Call("GET", _NAMED + "/runs/results", {"params": params}, read)


def send_events(name: str, events: Sequence[Mapping[str, Any]]) -> Call[models.WorkflowStreamEventsResponse]:
    """Send 1 to 500 events `{"id", "key"?, "type"?, "time"?, "data"?}` to a stream trigger; known ids are skipped."""
    arguments: Any = {"params": {"name": name}, "body": {"events": events}, "options": _RETRIED}
    return Call("POST", _NAMED + "/events", arguments, as_model(models.WorkflowStreamEventsResponse))


def _page_of(cls: Any) -> Any:
    def read(answer: RawLbbResponse) -> ListPage[Any]:
        data = answer.data
        rows = [cls.model_validate(row) for row in data["data"]]
        return ListPage(data=rows, has_more=data.get("has_more", False), next_cursor=data.get("next_cursor"))

    return read


_WORKFLOW = as_model(models.NamedWorkflow)
