"""What a trigger sends, read from a turn's message (lbb-graph 5.4)."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from lbb import models
from lbb.workflows.errors import WorkflowError

TRIGGER_MESSAGE_TYPE = "instances"
SCHEDULE_MESSAGE_TYPE = "schedule"
EVENTS_MESSAGE_TYPE = "events"
REVIEW_MESSAGE_TYPE = "review.answered"

Model = TypeVar("Model", bound=BaseModel)


def parse_trigger_message(value: Any, where: str = "message") -> models.WorkflowTriggerMessage:
    """The message of a watch; WorkflowError, which names `where`, for anything else. Unknown reasons stay as text."""
    if isinstance(value, models.WorkflowTriggerMessage):
        return value
    if message_type(value) != TRIGGER_MESSAGE_TYPE:
        raise WorkflowError(f'{where} is no trigger message: its type is {message_type(value)!r:.100}, not "instances"')
    # Older servers named the workflow `starter` and left an empty `removed` out.
    message = parse_message(
        models.WorkflowTriggerMessage, {"removed": [], "workflow": value.get("starter"), **value}, where
    )
    if message.as_of_commit_seq < 0:
        raise WorkflowError(f"{where} is no trigger message: as_of_commit_seq is {message.as_of_commit_seq}")
    return message


def parse_message(model: type[Model], value: Any, where: str) -> Model:
    try:
        return model.model_validate(value, strict=True)
    except ValidationError as exc:
        problems = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in exc.errors()[:3])
        raise WorkflowError(f"{where} is no {model.__name__}: {problems}") from exc


def message_type(value: Any) -> Any:
    return value.get("type") if isinstance(value, Mapping) else None
