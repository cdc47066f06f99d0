"""The model calls of a graph (lbb-graph 3.1), without a worker: nothing here says which turn makes them."""

from collections.abc import Mapping, Sequence
from typing import Any

from lbb.call import Call, as_mapping, given
from lbb.request import RequestOptions

REASON_TIMEOUT_SECONDS = 300.0

_ACTIVITIES = "/v1/workflows/activities/"


def reason_activity(
    prompt: str,
    schema: Any,
    *,
    system: str | None = None,
    max_tokens: int | None = None,
    effect_id: str | None = None,
    label: str | None = None,
) -> Call[dict[str, Any]]:
    """An answer of the reasoning model that follows the JSON schema: `models.ReasonActivityResponse` describes it.

    Under one `effect_id` the same request is answered once and repeated free of cost; another request is a 409.
    """
    return activity("reason", reason_body(prompt, schema, system, max_tokens, effect_id, label))


def decide_activity(
    state: Any, questions: Mapping[str, Any], *, effect_id: str | None = None, label: str | None = None
) -> Call[dict[str, Any]]:
    """The probability of each option of each question, given `state`: see `models.DecideActivityResponse`."""
    return activity("decide", decide_body(state, questions, effect_id, label))


def embed_activity(
    texts: Sequence[str], *, effect_id: str | None = None, label: str | None = None
) -> Call[dict[str, Any]]:
    """One vector for each text: see `models.EmbedActivityResponse`. TypeError for one plain string."""
    return activity("embed", embed_body(texts, effect_id, label))


def activity(name: str, body: Mapping[str, Any]) -> Call[dict[str, Any]]:
    """Without an effect id a repeat may pay twice, so it is sent again only after a 429."""
    options: RequestOptions = {"retry": True if "effect_id" in body else "rate_limited"}
    if name == "reason":
        options["timeout"] = REASON_TIMEOUT_SECONDS
    return Call("POST", _ACTIVITIES + name, {"body": body, "options": options}, as_mapping)


def reason_body(
    prompt: str, schema: Any, system: str | None, max_tokens: int | None, effect_id: str | None, label: str | None
) -> dict[str, Any]:
    optional = given(system=system, max_tokens=max_tokens, effect_id=effect_id, label=label)
    return {"prompt": prompt, "schema": schema} | optional


def decide_body(state: Any, questions: Mapping[str, Any], effect_id: str | None, label: str | None) -> dict[str, Any]:
    return {"state": state, "questions": questions} | given(effect_id=effect_id, label=label)


def embed_body(texts: Sequence[str], effect_id: str | None, label: str | None) -> dict[str, Any]:
    if isinstance(texts, str):
        raise TypeError('embed takes a list of texts, got one string; write ["..."]')
    return {"texts": list(texts)} | given(effect_id=effect_id, label=label)
