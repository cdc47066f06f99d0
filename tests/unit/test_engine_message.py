"""Message ids: engine/message.py (P5; decision 7)."""

import pytest
from msgspec.structs import replace

from tests.unit.engine_rows import NOW, WHERE
from turnbuckle.engine import message as messages
from turnbuckle.engine.message import Message
from turnbuckle.wire.errors import Refused

KNOWN = Message(*WHERE, 3, b"r1", b"hash of add 2", b'{"add":2}', 9, NOW)


def test_a_new_id_is_not_known() -> None:
    assert not messages.is_known(KNOWN, None)


def test_the_same_message_again_is_known_also_when_its_content_was_pruned() -> None:
    assert messages.is_known(replace(KNOWN, number=0, received_at_ms=NOW + 9), KNOWN)
    assert messages.is_known(KNOWN, replace(KNOWN, body=None))


def test_the_id_with_another_message_is_refused_with_both_hashes() -> None:
    """B082: the second payload was dropped in silence."""
    both = f"'r1' was used for turn 3 with another message .content {b'hash of add 2'.hex()}, now {b'hash 3'.hex()}."
    both += ": give another message another id"

    with pytest.raises(Refused, match=both) as refused:
        messages.is_known(replace(KNOWN, body_hash=b"hash 3"), KNOWN)

    assert refused.value.code == "conflict"
