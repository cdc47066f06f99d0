"""Ids that follow from other ids: engine/ids.py (P23, P24)."""

import re

from hypothesis import given
from hypothesis import strategies as st

from turnbuckle.engine import ids
from turnbuckle.wire.base import ID_PATTERN

parts = st.tuples(st.text(max_size=8), st.text(max_size=8), st.integers(1, 10**6), st.binary(max_size=8))
PLAIN = ("g", "inc", 1, b"m-1")


def test_an_effect_prefix_is_32_hex_digits() -> None:
    assert re.fullmatch("[0-9a-f]{32}", ids.effect_prefix(*PLAIN))


def test_an_effect_prefix_stays_the_same() -> None:
    """Stored effects are found by it, so the formula is a promise."""
    assert ids.effect_prefix(*PLAIN) == "3cc699d5ad8af5f6b5628c5b98273ebb"


@given(one=parts, other=parts)
def test_other_turns_have_other_effect_prefixes(
    one: tuple[str, str, int, bytes], other: tuple[str, str, int, bytes]
) -> None:
    """Of another graph, another life of the instance, another number or another message."""
    clean = [tuple(p.replace("\0", "") if isinstance(p, str) else p for p in side) for side in (one, other)]

    assert (ids.effect_prefix(*clean[0]) == ids.effect_prefix(*clean[1])) == (clean[0] == clean[1])  # type: ignore[arg-type]


def test_a_continuations_message_id_is_none_that_a_user_may_send() -> None:
    made = ids.continuation_id(ids.effect_prefix(*PLAIN)).decode()

    assert not re.search(ID_PATTERN, made)


def test_of_a_token_only_a_hash_is_kept() -> None:
    assert b"secret" not in ids.token_hash("secret")
    assert ids.token_hash("secret") == ids.token_hash("secret") != ids.token_hash("Secret")
