"""A text that follows a pattern, a format or a length, for the mock models."""

import importlib
import string
from collections.abc import Callable
from typing import Any

from turnbuckle.models.chance import Chance

# How a pattern is read: the standard library's own reader has no public name.
_read: Callable[[str], Any] = importlib.import_module("re._parser").parse
_CLASSES = {
    "CATEGORY_DIGIT": string.digits,
    "CATEGORY_NOT_DIGIT": string.ascii_letters,
    "CATEGORY_SPACE": " ",
    "CATEGORY_NOT_SPACE": string.ascii_letters + string.digits,
    "CATEGORY_WORD": string.ascii_letters + string.digits + "_",
    "CATEGORY_NOT_WORD": " -.,",
}
_PRINTABLE = string.ascii_letters + string.digits + " -_.,:;/!?"
_MORE = 3  # repetitions beyond what a pattern needs
_WORDS = ("amber", "birch", "cedar", "delta", "ember", "field", "grove", "harbor", "inlet", "juniper")


class NoSample(ValueError):
    """There is no such value, or this does not find it."""


def of_pattern(pattern: str, chance: Chance) -> str:
    """A text with a match of the pattern. Raises NoSample for what it cannot read."""
    try:
        return "".join(_of_token(token, chance) for token in _read(pattern))
    except (ValueError, KeyError, RecursionError) as exc:  # ValueError is also the reader's own error
        raise NoSample(f"no text for the pattern {pattern[:80]!r}") from exc


def _of_token(token: tuple[Any, Any], chance: Chance) -> str:
    name, argument = str(token[0]), token[1]
    if name == "LITERAL":
        return chr(argument)
    if name == "AT":
        return ""
    if name == "ANY":
        return chance.one_of(_PRINTABLE)
    if name in ("IN", "NOT_LITERAL"):
        return _of_set([("NEGATE", None), ("LITERAL", argument)] if name == "NOT_LITERAL" else argument, chance)
    if name == "BRANCH":
        return "".join(_of_token(part, chance) for part in chance.one_of(argument[1]))
    if name == "SUBPATTERN":
        return "".join(_of_token(part, chance) for part in argument[-1])
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, parts = argument
        times = chance.integer(int(least), min(int(most), int(least) + _MORE))
        return "".join(_of_token(part, chance) for _ in range(times) for part in parts)
    raise NoSample(f"patterns with {name}")


def _of_set(items: list[tuple[Any, Any]], chance: Chance) -> str:
    named = [(str(kind), argument) for kind, argument in items]
    if named and named[0][0] == "NEGATE":
        left = [character for character in _PRINTABLE if not any(_holds(item, character) for item in named[1:])]
        return chance.one_of(left)
    kind, argument = chance.one_of(named)
    if kind == "RANGE":
        return chr(chance.integer(*argument))
    return chr(argument) if kind == "LITERAL" else chance.one_of(_CLASSES[str(argument)])


def _holds(item: tuple[str, Any], character: str) -> bool:
    kind, argument = item
    if kind == "RANGE":
        return bool(argument[0] <= ord(character) <= argument[1])
    return ord(character) == argument if kind == "LITERAL" else character in _CLASSES[str(argument)]


def of_format(name: str, chance: Chance) -> str | None:
    """None for a format that is not known: any text has it."""
    number = chance.integer(1, 28)
    date = f"20{chance.integer(10, 40)}-{chance.integer(1, 12):02d}-{number:02d}"
    time = f"{chance.integer(0, 23):02d}:{chance.integer(0, 59):02d}:{chance.integer(0, 59):02d}Z"
    hexes = f"{chance.number():016x}{chance.number():016x}"
    word = chance.one_of(_WORDS)
    known = {
        "date": date,
        "time": time,
        "date-time": f"{date}T{time}",
        "duration": f"P{number}D",
        "email": f"{word}@example.com",
        "idn-email": f"{word}@example.com",
        "hostname": f"{word}.example.com",
        "idn-hostname": f"{word}.example.com",
        "uri": f"https://example.com/{word}",
        "iri": f"https://example.com/{word}",
        "uri-reference": f"/{word}",
        "iri-reference": f"/{word}",
        "uuid": f"{hexes[:8]}-{hexes[8:12]}-4{hexes[13:16]}-8{hexes[17:20]}-{hexes[20:]}",
        "ipv4": f"192.0.2.{number}",
        "ipv6": f"2001:db8::{number:x}",
        "regex": f"^{word}$",
        "json-pointer": f"/{word}",
    }
    return known.get(name)


def of_length(least: int, most: int | None, about: str, chance: Chance) -> str:
    """Words that begin with what they are about."""
    text = f"{about} {chance.one_of(_WORDS)}".strip()
    while len(text) < least:
        text += f" {chance.one_of(_WORDS)}"
    return text if most is None else text[: max(least, most)].ljust(least, "x")[:most]
