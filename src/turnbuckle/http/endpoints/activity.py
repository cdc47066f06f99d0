"""Model activities and the log of their calls (lbb-graph 3)."""

import msgspec

from turnbuckle.wire.activity import (
    DecideActivityRequest,
    DecideActivityResponse,
    EmbedActivityRequest,
    EmbedActivityResponse,
    ReasonActivityRequest,
    ReasonActivityResponse,
)
from turnbuckle.wire.call import ModelCallResponse, ModelCallsResponse

ACTIVITY_MODELS: tuple[type[msgspec.Struct], ...] = (
    ReasonActivityRequest,
    ReasonActivityResponse,
    DecideActivityRequest,
    DecideActivityResponse,
    EmbedActivityRequest,
    EmbedActivityResponse,
    ModelCallResponse,
    ModelCallsResponse,
)
