"""Questions with options, put to a chat model: by the letter it would write, or by numbers that it writes."""

import json
import math
import string
from typing import Any

from turnbuckle.models.provider import Probabilities
from turnbuckle.wire.activity import DecideActivityRequest, DecisionQuestion

_LETTERS = string.ascii_uppercase
LETTER_SYSTEM = (
    "You decide one question about the given state. Answer with the letter of the one option that fits best, "
    "and nothing else."
)
SHARES_SYSTEM = (
    "You decide questions about the given state. For each question give each option the probability that it is the "
    "one that fits, a number from 0 to 1; the numbers of a question add up to 1."
)


def letters(state: str, question: DecisionQuestion) -> str:
    """The prompt of one question, its options lettered in their order."""
    options = "\n".join(
        f"{letter}: {id}: {meaning}" for letter, (id, meaning) in zip(_LETTERS, question.criteria.items(), strict=False)
    )
    return f"State:\n{state}\n\nQuestion:\n{question.instructions}\n\nOptions:\n{options}\n\nLetter:"


def by_letters(question: DecisionQuestion, tokens: list[list[tuple[str, float]]]) -> dict[str, float] | None:
    """Probabilities from the first token that may be a letter; None when none may."""
    options = dict(zip(_LETTERS, question.criteria, strict=False))
    for likeliest in tokens:
        shares = dict.fromkeys(question.criteria, 0.0)
        for token, probability in likeliest:
            option = options.get(token.strip(" \t\n\"'`([*:.)]"))
            if option is not None:
                shares[option] += probability
        if any(shares.values()):
            return _normal(shares)
    return None


def shares_prompt(asked: DecideActivityRequest) -> str:
    questions = {
        id: {"instructions": question.instructions, "options": question.criteria}
        for id, question in asked.questions.items()
    }
    return f"State:\n{bytes(asked.state).decode()}\n\nQuestions:\n{json.dumps(questions, ensure_ascii=False)}"


def shares_schema(asked: DecideActivityRequest) -> dict[str, Any]:
    return _object({id: _object({o: {"type": "number"} for o in q.criteria}) for id, q in asked.questions.items()})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def by_shares(asked: DecideActivityRequest, answer: bytes) -> Probabilities:
    """The numbers made to add up to 1; a question without any above zero was skipped."""
    told: dict[str, dict[str, float]] = json.loads(answer)
    found = {
        id: {option: max(0.0, float(told[id][option])) for option in q.criteria} for id, q in asked.questions.items()
    }
    return {id: _normal(shares) for id, shares in found.items() if 0 < sum(shares.values()) < math.inf}


def _normal(shares: dict[str, float]) -> dict[str, float]:
    total = sum(shares.values())
    return {option: share / total for option, share in shares.items()}
