"""Review triggers: an answer as one message to each workflow that asked for it (lbb-graph 5.7)."""

from typing import Any

import msgspec
from msgspec import Raw

from turnbuckle.engine import review as rules
from turnbuckle.engine import review_effects as effects
from turnbuckle.engine.review import Review
from turnbuckle.graph.named import shard_identity, shard_of
from turnbuckle.operations import instance
from turnbuckle.store import named as named_workflows
from turnbuckle.store import review as reviews
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.instance import WorkflowMessageRequest
from turnbuckle.wire.review import ReviewSubject
from turnbuckle.wire.turn import WorkflowMessageOrigin


class Target(msgspec.Struct, frozen=True):
    """Where a workflow gets the answer."""

    workflow: str  # its name
    instance_id: str  # of the shard


def targets(tx: Transaction, graph_id: str, item: Review) -> list[Target]:
    """The workflows with a review trigger on one of those that asked, by name, each with the shard of the subject."""
    found = {
        named.name: named
        for asker in rules.asked_by(item)
        for named in named_workflows.with_review_trigger(tx, graph_id, asker)
    }
    return [Target(name, shard_identity(name, _shard(item, found[name].shards))) for name in sorted(found)]


def _shard(item: Review, shards: int) -> int:
    """That of the record's IRI, as the watch sends it; else the first (lbb-graph 5.7)."""
    subject = None if item.subject is None else msgspec.json.decode(item.subject, type=ReviewSubject)
    return shard_of(subject.iri.encode(), shards) if subject is not None and subject.iri is not None else 0


def send(tx: Transaction, item: Review, target: Target) -> None:
    """One message under an id that is the same for every try. Refused as `instance.send` refuses."""
    message_id = effects.message_id(item)
    request = WorkflowMessageRequest(
        workflow_id=target.instance_id,
        id=message_id,
        message=Raw(_message(tx, item, target.workflow)),
        origin=WorkflowMessageOrigin(kind="review", message_id=message_id, trigger="review"),
    )
    instance.send(tx, item.graph_id, request)


def _message(tx: Transaction, item: Review, workflow: str) -> bytes:
    environment, graph = reviews.graph_named(tx, item.graph_id)
    message = {
        "type": "review.answered",
        "workflow": workflow,
        "graph": {"tenant_id": environment, "graph_id": graph, "branch_id": "main"},
        "review_item": _item(item),
    }
    return msgspec.json.encode(message)  # far below the limit of a message, as an answer has a limit of its own


def _item(item: Review) -> dict[str, Any]:
    """What the handler needs to act on the answer; the rest is a read away."""
    optional = {
        "subject": _json(item.subject),
        "property": _text(item.property),
        "workflow": _json(item.workflow),
        "commit_seq": item.commit_seq,
        "commit_error": _text(item.commit_error),
    }
    return {
        "object": "review_item",
        "id": item.review_id,
        "key": item.key.decode(),
        "kind": item.kind,
        "scope": item.scope,
        "revision": item.revision,
        "title": item.title.decode(),
        "origin": Raw(item.origin),
        "answer": _json(item.answer),
        **{name: value for name, value in optional.items() if value is not None},
    }


def _json(stored: bytes | None) -> Raw | None:
    return None if stored is None else Raw(stored)


def _text(stored: bytes | None) -> str | None:
    return None if stored is None else stored.decode()
