"""Model calls that name the turn and the step they are made in, and are counted there (lbb-graph 3.4, 3.5)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from lbb.activity_calls import activity
from lbb.errors import LbbError
from lbb.workflows.running import turn_of_call

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient

Model = TypeVar("Model", bound=BaseModel)


async def ask_model(
    client: "AsyncLbbClient",
    name: str,
    body: dict[str, Any],
    model: type[Model],
    *,
    instance: str | None,
    test: str | Mapping[str, str] | None,
) -> Model:
    """Send the activity `name`. `instance` is what the call works on, `test` the workflow whose test makes it."""
    effect_id = body.get("effect_id")
    turn = turn_of_call(effect_id)
    if turn is not None:
        body["workflow"] = turn.call_mark(effect_id, instance)
    if test is not None:
        body["test"] = {"workflow": test} if isinstance(test, str) else test
    try:
        answer = await client.ask(activity(name, body))
    except LbbError as error:
        if turn is not None:
            turn.usage.count_refusal(error.status_code)
        raise
    if turn is not None:
        turn.usage.count_answer(answer)
    return model.model_validate(answer)
