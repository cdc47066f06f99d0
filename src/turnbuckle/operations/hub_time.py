"""The second API's times: microseconds on the store's clock, which counts milliseconds."""

from turnbuckle.hub.moment import micro_iso, parse_us
from turnbuckle.store.hub_place import Place, Span
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_base import HubOrderedPageRequest
from turnbuckle.wire.hub_errors import HubRefused

__all__ = ["micro_iso", "moment", "now_us", "span"]


def now_us(tx: Transaction) -> int:
    return tx.now_ms * 1_000


def moment(name: str, text: object) -> int | None:
    """A time that a request names, None when it names none. HubRefused(invalid_request_body) when it is no time."""
    if not isinstance(text, str):
        return None
    try:
        return parse_us(text)
    except ValueError as exc:
        raise HubRefused("invalid_request_body", f"{name}: {exc}") from exc


def span(request: HubOrderedPageRequest, after: Place | None) -> Span:
    """The rows that a listing asks for; both of its bounds are exclusive."""
    since_us = moment("created_since", request.created_since)
    return Span(request.ascending, after, since_us, moment("created_before", request.created_before))
