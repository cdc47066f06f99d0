"""Model activities and the log of their calls (lbb-graph 3)."""

from turnbuckle.http.activities import Activities
from turnbuckle.http.endpoints.endpoint import READERS, Endpoint
from turnbuckle.http.outside import OutsideActivities
from turnbuckle.operations import call
from turnbuckle.wire import limits
from turnbuckle.wire.activity import (
    ChatActivityRequest,
    ChatActivityResponse,
    DecideActivityRequest,
    DecideActivityResponse,
    EmbedActivityRequest,
    EmbedActivityResponse,
    HttpActivityRequest,
    HttpActivityResponse,
    ReasonActivityRequest,
    ReasonActivityResponse,
)
from turnbuckle.wire.call import ModelCallQuery, ModelCallResponse, ModelCallsQuery, ModelCallsResponse

_CALLED = (
    "activity_effect_conflict",
    "activity_request_refused",
    "workflow_budget_exceeded",
    "models_not_configured",
    "model_unavailable",
)
ACTIVITIES: tuple[Endpoint, ...] = (
    Endpoint(
        "POST",
        "/v1/workflows/activities/reason",
        Activities.reason,
        "Have a model answer a prompt by a JSON Schema; once under an effect id.",
        ReasonActivityResponse,
        body=ReasonActivityRequest,
        refusals=_CALLED,
        makes_graph=True,
        with_caller=True,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/activities/decide",
        Activities.decide,
        "Have a model choose among options, with probabilities; once under an effect id.",
        DecideActivityResponse,
        body=DecideActivityRequest,
        refusals=_CALLED,
        makes_graph=True,
        with_caller=True,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/activities/embed",
        Activities.embed,
        "Texts as vectors; once under an effect id.",
        EmbedActivityResponse,
        body=EmbedActivityRequest,
        body_bytes=limits.ACTIVITY_BODY_BYTES,
        refusals=_CALLED,
        makes_graph=True,
        with_caller=True,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/activities/chat",
        OutsideActivities.chat,
        "Have a model go on with a conversation, once; for flow workers.",
        ChatActivityResponse,
        body=ChatActivityRequest,
        refusals=_CALLED,
        makes_graph=True,
        with_caller=True,
    ),
    Endpoint(
        "POST",
        "/v1/workflows/activities/http",
        OutsideActivities.http,
        "Ask a host that the server allows, once; for flow workers.",
        HttpActivityResponse,
        body=HttpActivityRequest,
        refusals=("activity_effect_conflict", "activity_request_refused", "http_unavailable"),
        makes_graph=True,
        with_caller=True,
    ),
    Endpoint(
        "GET",
        "/v1/models/calls",
        call.list_page,
        "Calls of models, newest first.",
        ModelCallsResponse,
        query=ModelCallsQuery,
        roles=READERS,
    ),
    Endpoint(
        "GET",
        "/v1/models/calls/get",
        call.get,
        "One call with what was asked and answered.",
        ModelCallResponse,
        query=ModelCallQuery,
        refusals=("model_call_not_found",),
        roles=READERS,
        with_caller=True,
    ),
)
