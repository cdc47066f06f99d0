"""What the models are asked. The wording belongs to the version: change both together."""

import json
from collections.abc import Iterable
from typing import Any

from values_extract.check import Proposal
from values_extract.coerce import shown
from values_extract.settings import Settings

PROMPT_CHARS_MAX = 200_000  # prompt and system together

READ = """You read values of given properties out of one text.
The user's message is a JSON object: the instance, what kind of thing it is, the properties with their types and units,
and the text. Answer with one item for each property the text gives a value for, and none for the others.
- value: as the text says it. Do not convert units and do not compute.
- unit: the unit the text states for it, or an empty text.
- quote: the shortest run of words, copied from the text letter by letter, that holds value and unit.
Take only what is true of the instance itself, not of an accessory, another version or an example."""

SCHEMA = {
    "type": "object",
    "properties": {
        "values": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {name: {"type": "string"} for name in ("property", "value", "unit", "quote")},
                "required": ["property", "value", "unit", "quote"],
            },
        }
    },
    "required": ["values"],
}

_MEANINGS = {
    "supported": "the quote plainly says that this is the value of the property for this instance",
    "weak": "the quote may mean it, but is vague, rounded, or leaves open what it is about",
    "not_supported": "the quote is about something else: an accessory, another version, a condition, another property",
}


def read_prompt(settings: Settings, name: str, text: str) -> str:
    """The JSON text of the question for one instance."""
    asked = {
        "instance": name,
        "class": settings.class_name,
        "context": settings.context,
        "properties": {
            name: {"type": value_type, "unit": settings.units.get(name, "")}
            for name, value_type in settings.properties.items()
        },
        "text": text,
    }
    return json.dumps(asked, ensure_ascii=False)


def support_questions(proposals: Iterable[Proposal]) -> dict[str, dict[str, Any]]:
    """One question for each value, by its property; the decision model answers them in one call."""
    return {
        proposal.property: {
            "instructions": f"Property: {proposal.property}. Value: {_with_unit(proposal)}. "
            f'How well does this quote support it: "{proposal.quote}"',
            "criteria": dict(_MEANINGS),
        }
        for proposal in proposals
    }


def _with_unit(proposal: Proposal) -> str:
    return f"{shown(proposal.value)} {proposal.unit}".strip()
