"""What a turn route answers to `Prefer: return=minimal`: only what a worker reads (lbb-engine 3)."""

from turnbuckle.wire.base import Answer, Json


class BriefOperation(Answer, frozen=True, kw_only=True):
    checkpoint: Json


class BriefTurn(Answer, frozen=True, kw_only=True):
    operation: BriefOperation | None = None
