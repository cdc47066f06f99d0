"""The effect ledger: what the steps of a turn have done outside, or may have done (ours; decision 2)."""

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from turnbuckle.wire import limits
from turnbuckle.wire.base import Answer, AtMs, Count, Name, Request, Token, TurnNumber

EffectId = Annotated[str, Meta(pattern=limits.EFFECT_PATTERN.removesuffix("$") + r"$(?!\n)")]
EffectTarget = Annotated[str, Meta(min_length=1, max_length=limits.EFFECT_TARGET_CHARS)]
EffectState = Literal["intended", "confirmed", "in_doubt"]


class EffectMark(msgspec.Struct, frozen=True):
    """Which step of which turn sends a request: the header `lbb-effect`, `graph/instance/turn/step/effect id`."""

    graph: str
    workflow_id: str
    turn: int
    step: str
    effect_id: str


_MARK = re.compile(
    r"(?P<graph>[a-z0-9][a-z0-9_-]{0,62})/(?P<workflow_id>[\w.-]{1,128})/(?P<turn>[0-9]{1,15})/(?P<step>[\w.-]{1,128})/"
    r"(?P<effect_id>[\w.:/-]{1,200})",
    re.ASCII,
)


def read_mark(header: str) -> EffectMark | None:
    """None when it is no such header."""
    match = _MARK.fullmatch(header)
    if match is None:
        return None
    return EffectMark(match["graph"], match["workflow_id"], int(match["turn"]), match["step"], match["effect_id"])


class WorkflowEffect(Answer, omit_defaults=False, frozen=True, kw_only=True):
    """One outside effect of a step. In doubt: the attempt that meant to do it ended before it said that it had."""

    id: str
    workflow_id: str
    turn: Count
    step: str
    effect_id: str  # what the outside world can tell a repeat by
    kind: str
    target: str
    state: EffectState
    attempt: Count  # the latest that began it
    attempts: Count  # how many have
    intended_at_ms: AtMs
    confirmed_at_ms: AtMs | None


class WorkflowTurnEffectRequest(Request, frozen=True, kw_only=True):
    """Under a lease: what the running step is about to do, or has done."""

    workflow_id: Name
    turn: TurnNumber
    token: Token
    step: Name
    effect_id: EffectId
    kind: Name
    target: EffectTarget
    state: Literal["intended", "confirmed"] = "intended"


class WorkflowEffectsQuery(Request, frozen=True, kw_only=True):
    """Of one instance, or one turn of it; without `id` those of the whole graph that nobody has confirmed."""

    id: Name | None = None
    turn: TurnNumber | None = None
    state: EffectState | None = None
    after: Annotated[str, Meta(max_length=limits.ID_CHARS)] = ""
    limit: Annotated[int, Meta(ge=1, le=limits.PAGE_MAX)] = limits.PAGE_DEFAULT


class WorkflowEffectsResponse(Answer, frozen=True, kw_only=True):
    effects: list[WorkflowEffect]
    next_after: str | None = None
