"""Which of a model's proposals may be believed so far: known, single, of their type, and quoted from the text."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from values_extract.coerce import Typed, coerce
from values_extract.quotes import quote_holds, value_in_quote
from values_extract.settings import Settings

QUOTE_CHARS_MAX = 1_000  # a longer one quotes nothing in particular


@dataclass(frozen=True)
class Proposal:
    """A proposal that passed."""

    property: str
    value: Typed
    unit: str  # as the model named it, or "" when it named none
    quote: str


def check(settings: Settings, text: str, proposals: Iterable[Mapping[str, Any]]) -> tuple[list[Proposal], Counter[str]]:
    """What passed, in order, and how many failed by their first failure.

    `proposals` are `{property, value, unit, quote}`, all text. Failures: unknown_property, duplicate (a second value
    of one property, also when the first one fails later), invalid_value, quote_not_found.
    """
    passed: list[Proposal] = []
    failed: Counter[str] = Counter()
    seen: set[str] = set()
    for said in proposals:
        found = _check(settings, text, {name: _text(said.get(name)) for name in _FIELDS}, seen)
        if isinstance(found, Proposal):
            passed.append(found)
        else:
            failed[found] += 1
    return passed, failed


_FIELDS = ("property", "value", "unit", "quote")


def _check(settings: Settings, text: str, said: Mapping[str, str], seen: set[str]) -> Proposal | str:
    """The proposal, or the name of its first failure."""
    name = said["property"]
    value_type = settings.properties.get(name)
    if value_type is None:
        return "unknown_property"
    if name in seen:
        return "duplicate"
    seen.add(name)
    try:
        coerced = coerce(said["value"], value_type)
    except ValueError:
        return "invalid_value"
    quote = said["quote"].strip()
    if len(quote) > QUOTE_CHARS_MAX or not quote_holds(text, quote):
        return "quote_not_found"
    if not value_in_quote(coerced.value, value_type, quote):
        return "quote_not_found"
    return Proposal(name, coerced.value, said["unit"].strip() or coerced.unit, quote)


def _text(said: Any) -> str:
    """Some models answer 60 where "60" was asked for, and null where "" was."""
    return "" if said is None else str(said)
