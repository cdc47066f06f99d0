"""Models without a model: rules that read texts like the samples, for tests that need no server and cost nothing.

They answer in the shapes of the real activities, and are as sure of themselves as a real model would be.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

MATERIALS = ("oak", "pine", "beech", "ash", "walnut", "steel", "brass", "glass", "marble", "leather", "linen", "wool")
ACCESSORIES = ("footstool", "cushion", "matching", "sold separately", "accessory")
CONDITIONS = ("if ", "when ordered", "on request", "only in ")

_NUMBER = r"(\d+(?:[.,]\d+)?)"
_UNIT = r"(?:\s*(mm|cm|m|inch(?:es)?)\b)?"
_PAIR = re.compile(rf"{_NUMBER}\s*x\s*{_NUMBER}\s*(mm|cm|m)\b", re.IGNORECASE)
_SIZES = {
    "width_cm": rf"(?:about\s+)?{_NUMBER}{_UNIT}\s+wide\b|\bwidth:?\s*(?:about\s+)?{_NUMBER}{_UNIT}",
    "depth_cm": rf"(?:about\s+)?{_NUMBER}{_UNIT}\s+deep\b|\bdepth:?\s*(?:about\s+)?{_NUMBER}{_UNIT}",
}
_COLOR = re.compile(r"\bcolou?r:\s*(\w+)", re.IGNORECASE)
_MATERIAL = re.compile(rf"(?:\w+ \w+ )?\b({'|'.join(MATERIALS)})\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n")
_QUOTE = re.compile(r': "(.*)"$', re.DOTALL)


def reason(prompt: str) -> dict[str, Any]:
    """`{values: [{property, value, unit, quote}]}` for a prompt as `prompts.read_prompt` writes it."""
    text = json.loads(prompt)["text"]
    return {"values": [*_sizes(text), *_material(text), *_color(text)]}


def decide(state: Mapping[str, Any], questions: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """`{question: {choice, confidence, probabilities}}` for questions as `prompts.support_questions` writes them."""
    return {name: _answer(state["text"], question) for name, question in questions.items()}


def support(text: str, quote: str) -> float:
    """0.05 for a quote about an accessory or a variant, 0.6 for a rounded one, else 0.92."""
    sentence = next((one for one in _SENTENCE_END.split(text) if quote in one), "").casefold()
    if any(word in sentence for word in ACCESSORIES) or sentence.startswith(CONDITIONS):
        return 0.05
    return 0.6 if "about" in quote.casefold() else 0.92


def _answer(text: str, question: Mapping[str, Any]) -> dict[str, Any]:
    quoted = _QUOTE.search(question["instructions"])
    share = support(text, quoted[1]) if quoted else 0.0
    others = [option for option in question["criteria"] if option != "supported"]
    probabilities = {"supported": share, **{option: round((1 - share) / len(others), 4) for option in others}}
    choice = max(probabilities, key=lambda option: probabilities[option])
    return {"choice": choice, "confidence": probabilities[choice], "probabilities": probabilities}


def _sizes(text: str) -> list[dict[str, str]]:
    pair = _PAIR.search(text)
    if pair:
        width, depth, unit = pair.groups()
        return [_item("width_cm", width, unit, pair[0]), _item("depth_cm", depth, unit, pair[0])]
    return [item for name in _SIZES for item in _size(name, text)]


def _size(name: str, text: str) -> list[dict[str, str]]:
    found = re.search(_SIZES[name], text, re.IGNORECASE)
    if found is None:
        return []
    value, unit = (found[1], found[2]) if found[1] else (found[3], found[4])
    return [_item(name, value, unit or "", found[0])]


def _material(text: str) -> list[dict[str, str]]:
    found = _MATERIAL.search(text)
    return [_item("material", found[1].lower(), "", found[0])] if found else []


def _color(text: str) -> list[dict[str, str]]:
    found = _COLOR.search(text)
    return [_item("color", found[1].lower(), "", found[0])] if found else []


def _item(name: str, value: str, unit: str, quote: str) -> dict[str, str]:
    return {"property": name, "value": value, "unit": unit, "quote": quote}
