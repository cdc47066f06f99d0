"""Models that cost nothing and always answer the same: for development and tests.

Answers follow from a hash of the input. An answer key (answer_key.py) may say what some inputs get.
"""

import asyncio
import hashlib
import json
import math

import msgspec

from turnbuckle.models import schema as schemas
from turnbuckle.models.answer_key import NO_KEY, AnswerKey, readable
from turnbuckle.models.chance import Chance
from turnbuckle.models.provider import CallFailed, Conversation, Probabilities, Prompt, Reply, Vectors, estimated_tokens
from turnbuckle.models.sample import sample
from turnbuckle.models.sample_text import NoSample
from turnbuckle.wire.activity import DecideActivityRequest, DecisionQuestion, EmbedActivityRequest

GENERATIVE, DECISION, EMBEDDING = "mock-generative", "mock-decision", "mock-embedding"
DIM = 64


class MockProvider:
    def __init__(self, key: AnswerKey = NO_KEY) -> None:
        self._key = key

    async def reason(self, model: str, asked: Prompt) -> Reply[bytes]:
        schema = schemas.filled(asked.schema)
        known = self._key.value(readable(asked.prompt) + "\n" + (asked.system or ""))
        if known is None:
            seed = _seed(asked.prompt, asked.system or "", json.dumps(schema, sort_keys=True))
            answer = await asyncio.to_thread(_sampled, schema, seed)  # a large schema takes its time
        else:
            answer = known
            if (problem := schemas.problem(asked.schema, json.loads(answer))) is not None:
                raise CallFailed(
                    "activity_request_refused", f"the answer key's value does not follow schema: {problem}"
                )
        tokens_in = estimated_tokens(asked.prompt, asked.system or "")
        return Reply(answer, model, tokens_in, estimated_tokens(answer.decode()))

    async def decide(self, model: str, asked: DecideActivityRequest) -> Reply[Probabilities]:
        state = bytes(asked.state).decode()
        answers = {id: self._decided(state, id, question) for id, question in asked.questions.items()}
        read = [state, *(q.instructions + "".join(q.criteria.values()) for q in asked.questions.values())]
        return Reply(answers, model, estimated_tokens(*read), len(answers))

    def _decided(self, state: str, id: str, question: DecisionQuestion) -> dict[str, float]:
        options = list(question.criteria)
        known = self._key.probabilities("\n".join((readable(state), id, question.instructions)), options)
        return known or _shares(options, Chance(_seed(state, id, question.instructions, *sorted(options))))

    async def embed(self, model: str, asked: EmbedActivityRequest) -> Reply[Vectors]:
        return Reply([_vector(text) for text in asked.texts], model, estimated_tokens(*asked.texts))

    async def chat(self, model: str, asked: Conversation) -> Reply[str]:
        """By the first rule for `reason` that fits the conversation: a text as it is, other JSON written out."""
        texts = [message["content"] for message in asked.messages]
        known = self._key.value("\n".join(map(readable, texts)))
        value = None if known is None else json.loads(known)
        text = value if isinstance(value, str) else f"(mock) {texts[-1]}" if known is None else known.decode()
        return Reply(text, model, estimated_tokens(*texts), estimated_tokens(text))

    async def aclose(self) -> None:
        """It holds nothing."""


def _seed(*parts: str) -> bytes:
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=32).digest()


def _sampled(schema: schemas.Schema, seed: bytes) -> bytes:
    try:
        return json.dumps(sample(schema, seed), ensure_ascii=False).encode()
    except NoSample as exc:
        raise CallFailed("activity_request_refused", f"the mock model finds no answer for this schema: {exc}") from exc


def _shares(options: list[str], chance: Chance) -> dict[str, float]:
    """One option with most of the probability, the rest over the others; the sum is 1."""
    ranked = sorted(options)  # the order in which they are asked changes nothing
    choice = chance.one_of(ranked)
    most = round(0.55 + 0.4 * chance.share(), 6)
    weights = {option: 1 + chance.share() for option in ranked if option != choice}
    total = sum(weights.values())
    shares = {option: (1 - most) * weight / total for option, weight in weights.items()}
    return {option: most if option == choice else shares[option] for option in options}


def _vector(text: str) -> list[float]:
    """A direction that depends on the text alone: equal texts are near each other, no others."""
    digest = hashlib.shake_256(text.encode()).digest(2 * DIM)
    numbers = [int.from_bytes(digest[i : i + 2], "big") - 32_767.5 for i in range(0, 2 * DIM, 2)]
    length = math.sqrt(sum(number * number for number in numbers))
    return [number / length for number in numbers]
