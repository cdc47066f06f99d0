"""Field values of records."""

import msgspec


class Fact(msgspec.Struct, frozen=True):
    """One field's value in the commits [from_seq, to_seq); to_seq None is still.

    `value` is JSON of the property's declared type: `214`, `"text"`, `true`, `["a", "b"]` for a set (in order, each
    once), `"2026-01-31T08:05:00Z"` for a date_time (always UTC), base64 text for bytes.
    """

    graph_id: str
    entity_id: str
    property_id: str  # the property's term
    from_seq: int
    to_seq: int | None
    value: bytes
