"""What writes, reviews and requeues tell the run results about the inputs they worked on (lbb-engine 6.6)."""

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lbb.entities import ENTITY_ID_KEY_SENTINEL, ENTITY_IRI_NAMESPACE
from lbb.wire_json import wire_value
from lbb.workflows.js_json import value_text
from lbb.workflows.results import Input, instances_of
from lbb.workflows.running import RunningTurn, current_turn, running_turns

if TYPE_CHECKING:
    from lbb.models import ReviewItem
    from lbb.workflows.owned_write import OwnedWrite
    from lbb.workflows.requeue import FailedInstance

logger = logging.getLogger("lbb.workflows")

_REGION = ("page", "x0", "y0", "x1", "y1")


def report(turn: RunningTurn | None, inputs: Iterable[Input]) -> None:
    """Add the inputs to the turn's run results, when it has any. Results never cost a turn: what fails is logged."""
    if turn is None or turn.results is None:
        return
    try:
        for item in inputs:
            turn.results.add(item)
    except Exception:
        logger.exception("some run results of turn %s are left out", turn.task.name)


def turn_of_review(body: Mapping[str, Any]) -> RunningTurn | None:
    """The turn whose message names the subject, if exactly one does; else that of the current task."""
    iri = (body.get("subject") or {}).get("iri")
    naming = [turn for turn in running_turns() if iri in instances_of(turn.task.message)] if iri else []
    return naming[0] if len(naming) == 1 else current_turn.get()


def inputs_of_write(write: "OwnedWrite") -> list[Input]:
    """Each subject: written with its fields and edges, or of no value."""
    rows, edges = list(wire_value(write.entity_properties)), list(wire_value(write.triplets))
    return [_input_of_subject(subject, rows, edges) for subject in wire_value(write.subjects)]


def inputs_of_failed(failed: Iterable["FailedInstance"]) -> list[Input]:
    return [
        {"iri": item.instance, "label": "", "outcome": "failed", "values": [], "error": item.error} for item in failed
    ]


def input_of_review(body: Mapping[str, Any], item: "ReviewItem") -> list[Input]:
    """The record asked about, with what was asked as its value; nothing for an item without a subject."""
    subject, question = body.get("subject") or {}, body.get("question") or {}
    if not (subject.get("iri") or subject.get("name")):
        return []
    is_answered = item.status != "open" and item.answer is not None
    evidence: Mapping[str, Any] = next(iter(body.get("evidence") or ()), {})
    value = {
        "property": question.get("property") or body.get("title"),
        "value": value_text(question.get("value", question.get("proposed"))),
        "quote": evidence.get("quote"),
        "outcome": "answered" if is_answered else "review",
        "support": value_text(question.get("confidence")),
        "source": evidence.get("source_id"),
        "region": _region(evidence.get("region")),
        "review_item": item.id,
    }
    outcome = "no_value" if is_answered else "review"
    return [{"iri": subject.get("iri"), "label": subject.get("name"), "outcome": outcome, "values": [value]}]


def _input_of_subject(
    subject: Mapping[str, Any], rows: list[Mapping[str, Any]], edges: list[Mapping[str, Any]]
) -> Input:
    identity = _identity(subject)
    values = [value for row in rows if _identity(row) == identity for value in _values_of_row(row)]
    values += [_value_of_edge(edge) for edge in edges if _identity(edge.get("source") or {}) == identity]
    entity_id = identity[1] if identity[0] == "id" else None
    return {
        "iri": ENTITY_IRI_NAMESPACE + entity_id if entity_id else None,
        "label": "" if subject.get("name") == entity_id else subject.get("name"),
        "outcome": "written" if values else "no_value",
        "values": values,
    }


def _identity(reference: Mapping[str, Any]) -> tuple[str, ...]:
    """What tells two references of one commit to the same record from each other (lbb-graph 2.4)."""
    key, kind = reference.get("key"), str(reference.get("type"))
    if reference.get("entity_id"):
        return ("id", str(reference["entity_id"]))
    if isinstance(key, str) and key.startswith(ENTITY_ID_KEY_SENTINEL):
        return ("id", key.removeprefix(ENTITY_ID_KEY_SENTINEL))
    return ("key", kind, str(key)) if key is not None else ("name", kind, str(reference.get("name")))


def _values_of_row(row: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    fields = row.get("properties") or {}
    pairs = fields.items() if isinstance(fields, Mapping) else ((item["field"], item["value"]) for item in fields)
    for name, value in pairs:
        yield {"property": name, "value": value_text(value), "quote": "", "outcome": "written"}


def _value_of_edge(edge: Mapping[str, Any]) -> dict[str, Any]:
    evidence = edge.get("evidence") or {}
    if isinstance(evidence, str):
        evidence = {"text": evidence}
    return {
        "property": edge.get("relation"),
        "value": (edge.get("target") or {}).get("name"),
        "quote": evidence.get("text"),
        "outcome": "written",
        "support": value_text(edge.get("confidence")),
        "source": evidence.get("source_id"),
        "region": _region(evidence.get("region")),
    }


def _region(region: Any) -> dict[str, Any] | None:
    """The place on a page without its confidence, which run results do not have."""
    return {name: region.get(name) for name in _REGION} if isinstance(region, Mapping) else None
