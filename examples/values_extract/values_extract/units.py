"""Whether the text itself states the unit that a number is stored in. Nothing is converted: a person decides."""

import re

from values_extract.quotes import NUMBER, numbers

# Spellings by unit. A bare "in" is left out: it is a word in most texts.
_SPELLINGS = {
    "mm": "mm millimetre millimetres millimeter millimeters",
    "cm": "cm centimetre centimetres centimeter centimeters",
    "dm": "dm decimetre decimetres decimeter decimeters",
    "m": "m metre metres meter meters",
    "km": "km kilometre kilometres kilometer kilometers",
    "inch": 'inch inches " ″',
    "ft": "ft foot feet",
    "mm2": "mm2 mm²",
    "cm2": "cm2 cm²",
    "dm2": "dm2 dm²",
    "m2": "m2 m² sqm",
    "cm3": "cm3 cm³",
    "dm3": "dm3 dm³",
    "m3": "m3 m³",
    "ml": "ml millilitre millilitres milliliter milliliters",
    "cl": "cl",
    "dl": "dl",
    "l": "l litre litres liter liters",
    "mg": "mg",
    "g": "g gram grams",
    "kg": "kg kilogram kilograms",
    "t": "t tonne tonnes",
    "w": "w watt watts",
    "kw": "kw kilowatt kilowatts",
    "wh": "wh",
    "kwh": "kwh",
    "s": "s second seconds",
    "min": "min minute minutes",
    "h": "h hour hours",
}
_UNITS = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings.split()}
_UNIT = "|".join(re.escape(spelling) for spelling in sorted(_UNITS, key=len, reverse=True))
# The unit of a number stands behind it, or behind the last number of its row: the cm of "120 x 60 cm" is for both.
_BEHIND = re.compile(rf"(?:\s*(?:x|\u00d7|by|/|-|\u2013|to)\s*{NUMBER.pattern})*\s*({_UNIT})(?!\w)", re.IGNORECASE)
_BEFORE = re.compile(rf"[(\[]\s*({_UNIT})\s*[)\]]\s*[:=]?\s*$", re.IGNORECASE)  # "Width (cm): 60"


def unit_problem(declared: str | None, value: float, quote: str, named: str = "") -> str | None:
    """Why `value` may not be in the unit `declared`, in words for a person; None when the quote states that unit.

    `named` is the unit a model named, if it did: it confirms nothing, but when it is another one that is a doubt.
    """
    if declared is None:
        return None
    stated = units_of(value, quote)
    if declared not in stated:
        return f"the text says {stated[0]}, not {declared}" if stated else "the text states no unit"
    meant = unit_of(named)
    return f"the model read {named}, the text says {declared}" if meant not in (None, declared) else None


def units_of(value: float, quote: str) -> list[str]:
    """The units the quote states for each place where it says the value."""
    places = [(start, end) for number, start, end in numbers(quote) if number == value]
    found = [_BEHIND.match(quote, end) or _BEFORE.search(quote[:start]) for start, end in places]
    return [_UNITS[match[1].casefold()] for match in found if match]


def unit_of(spelling: str) -> str | None:
    """The unit a word means; None for a word that is none."""
    return _UNITS.get(spelling.strip().rstrip(".").casefold())
