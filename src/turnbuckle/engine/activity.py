"""A model activity: one call under an effect id, reserved before it is made and stored when it has its answer.

Whether a call is to be made is decided here; the call itself is outside any transaction. Source: lbb-graph 3.2.
"""

import msgspec
from msgspec.structs import replace

from turnbuckle.wire import limits
from turnbuckle.wire.errors import Refused


class Activity(msgspec.Struct, frozen=True):
    graph_id: str
    job: str  # reason, decide or embed
    effect_id: str
    request_hash: bytes
    holder: str
    lease_until_ms: int
    begun_at_ms: int
    calls: int
    instance_id: str | None
    turn: int | None
    answered_at_ms: int | None
    answer: bytes | None
    keep_until_ms: int


def reserve(asked: Activity, known: Activity | None) -> Activity | None:
    """The row of the call that `asked` may make now; None while the same call is on its way elsewhere.

    Only for one that is not answered. Refused(activity_effect_conflict) when the id is that of another request. A call
    whose lease ended was lost with its server: it is made again, as whatever came back is not known (decision 31).
    """
    if known is None:
        return asked
    is_under_way = known.lease_until_ms > asked.begun_at_ms
    if known.answer is not None or is_under_way:
        check_same(asked, known)
    if is_under_way:
        return None
    return replace(asked, calls=known.calls + 1)


def check_same(asked: Activity, known: Activity) -> None:
    """Refused(activity_effect_conflict) unless the inputs are the same JSON values."""
    if known.request_hash != asked.request_hash:
        raise Refused(
            "activity_effect_conflict",
            f"effect_id {asked.effect_id!r} was used for another {asked.job} request "
            f"(content {known.request_hash.hex()}, now {asked.request_hash.hex()})",
            param="effect_id",
        )


def is_held(activity: Activity, holder: str) -> bool:
    """Whether this call is the one on its way."""
    return activity.answer is None and activity.holder == holder


def renew(activity: Activity, now_ms: int) -> Activity:
    return replace(activity, lease_until_ms=now_ms + limits.CALL_LEASE_MS)


def answered(activity: Activity, answer: bytes, now_ms: int) -> Activity:
    """With its answer, kept at least 30 days from now. The first answer stays: one id, one answer."""
    if activity.answer is not None:
        return activity
    keep_until_ms = now_ms + limits.ACTIVITY_MS
    return replace(activity, answer=answer, answered_at_ms=now_ms, lease_until_ms=now_ms, keep_until_ms=keep_until_ms)


def keep_on(activity: Activity, now_ms: int) -> Activity:
    """For another day: its turn is still there and may ask for it."""
    return replace(activity, keep_until_ms=now_ms + limits.DAY_MS)
