"""The mock models' answer key: what they answer to inputs that contain certain texts, from a JSON file.

    {"reason": [{"when": ["Desk Alba"], "value": {"values": []}}],
     "decide": [{"when": ["Desk Alba", "width"], "probabilities": {"supported": 0.92}}]}

The first rule whose texts all occur counts. `reason` looks in system and prompt, `decide` in the state, the question's
id and its instructions; what `probabilities` leave over is split evenly over the other options.
"""

import json
from typing import Any

import msgspec

from turnbuckle.wire.base import Json


class ReasonRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    when: list[str]
    value: Json


class DecideRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    when: list[str]
    probabilities: dict[str, float]


class AnswerKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    reason: list[ReasonRule] = []
    decide: list[DecideRule] = []

    def value(self, text: str) -> bytes | None:
        """The JSON to answer, when a rule fits."""
        found = next((rule for rule in self.reason if _fits(rule.when, text)), None)
        return None if found is None else bytes(found.value)

    def probabilities(self, text: str, options: list[str]) -> dict[str, float] | None:
        """Of all options, when a rule fits."""
        found = next((rule for rule in self.decide if _fits(rule.when, text)), None)
        if found is None:
            return None
        named = {option: share for option, share in found.probabilities.items() if option in options}
        others = [option for option in options if option not in named]
        left = max(0.0, 1 - sum(named.values())) / max(1, len(others))
        return {option: named.get(option, left) for option in options}


NO_KEY = AnswerKey()


def _fits(when: list[str], text: str) -> bool:
    return all(part in text for part in when)


def readable(text: str) -> str:
    """The text, and once more with its escapes read when it is JSON: a rule names what a person reads."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or none that anybody reads
        return text
    return f"{text}\n{json.dumps(value, ensure_ascii=False)}\n" + "\n".join(_strings(value))


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _strings(part)]
