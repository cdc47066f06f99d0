"""What a call costs, from the price table of the settings."""

import math
from collections.abc import Mapping
from decimal import Decimal

import msgspec


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Dollars for a million tokens."""

    usd_per_million_in: float = 0.0
    usd_per_million_out: float = 0.0


FREE = Price()


def cost_micro_usd(prices: Mapping[str, Price], model: str, tokens_in: int, tokens_out: int) -> int:
    """Rounded up; a model that is not in the table costs nothing."""
    price = prices.get(model, FREE)
    # Dollars for a million tokens are micro-dollars for one. Decimals: 0.1 and ten times it must not round up to 2.
    exact = _decimal(price.usd_per_million_in) * tokens_in + _decimal(price.usd_per_million_out) * tokens_out
    return math.ceil(exact)


def _decimal(number: float) -> Decimal:
    return Decimal(repr(number))
