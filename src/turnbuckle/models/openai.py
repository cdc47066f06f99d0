"""Any endpoint that speaks the OpenAI wire form: `chat/completions` with a JSON Schema, and `embeddings`.

An answer that does not follow the schema is refused and not repaired: the caller decides what to do (lbb-graph 3.3).
"""

import asyncio
import json
import math
from typing import Any

from turnbuckle.models import decision
from turnbuckle.models import schema as schemas
from turnbuckle.models.provider import CallFailed, Conversation, Probabilities, Prompt, Reply, Vectors, estimated_tokens
from turnbuckle.models.sending import Sender
from turnbuckle.models.settings import OpenAiSettings
from turnbuckle.wire.activity import DecideActivityRequest, DecisionQuestion, EmbedActivityRequest

_TOP_LOGPROBS = 20  # the most that the wire form offers
_OPTION_TOKENS = 4  # room for a space or a bracket before the letter
_TOKENS_PER_SHARE = 24  # an option's id and its number
_Chat = dict[str, Any]


class OpenAiProvider:
    def __init__(self, settings: OpenAiSettings, sender: Sender) -> None:
        self._settings = settings
        self._sender = sender
        self._tells_tokens = settings.decide_by == "tokens"  # until an answer comes without probabilities

    async def aclose(self) -> None:
        await self._sender.aclose()

    # -- reason --------------------------------------------------------------------------------------------------

    async def reason(self, model: str, asked: Prompt) -> Reply[bytes]:
        schema = schemas.filled(asked.schema)
        system = [] if asked.system is None else [_message("system", asked.system)]
        messages = [*system, _message("user", asked.prompt)]
        return await self._structured(model, messages, schema, asked.max_tokens)

    async def _structured(self, model: str, messages: list[_Chat], schema: _Chat, max_tokens: int) -> Reply[bytes]:
        format = {"name": "answer", "schema": schema, "strict": schemas.is_strict(schema)}
        body = {"response_format": {"type": "json_schema", "json_schema": format}}
        answer = _Answer(await self._chat(model, messages, max_tokens, body), model)
        text = answer.text()
        try:
            value = json.loads(text, parse_constant=_refuse_constant)
            # Written anew: without duplicate keys, numbers over any bound and lone surrogates.
            encoded = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, RecursionError) as exc:
            raise answer.refused("the model's answer is no JSON") from exc
        problem = await asyncio.to_thread(schemas.problem, schema, value)
        if problem is not None:
            raise answer.refused(f"the model's answer does not follow the schema: {problem}")
        return Reply(encoded, answer.model, answer.tokens_in, answer.tokens_out)

    async def _chat(self, model: str, messages: list[_Chat], max_tokens: int, more: _Chat) -> _Chat:
        body = {"model": model, "messages": messages, self._settings.max_tokens_field: max_tokens, **more}
        return await self._sender.post("chat/completions", body)

    # -- decide --------------------------------------------------------------------------------------------------

    async def decide(self, model: str, asked: DecideActivityRequest) -> Reply[Probabilities]:
        most_options = max(len(question.criteria) for question in asked.questions.values())
        if self._tells_tokens and most_options <= _TOP_LOGPROBS:
            told = await self._by_tokens(model, asked)
            if told is not None:
                return told
            self._tells_tokens = False
        return await self._by_schema(model, asked)

    async def _by_tokens(self, model: str, asked: DecideActivityRequest) -> Reply[Probabilities] | None:
        """Each question by the probabilities of the letter that the model would write; None where they are not told.

        The first question goes alone: an endpoint that tells none is found out by one call.
        """
        state = bytes(asked.state).decode()
        (first_id, first), *rest = asked.questions.items()
        answers = {first_id: await self._letter(model, state, first)}
        if not answers[first_id].tells_tokens:
            return None
        others = await _all(self._letter(model, state, question) for _, question in rest)
        answers |= dict(zip((id for id, _ in rest), others, strict=True))
        found = {id: decision.by_letters(asked.questions[id], answer.top()) for id, answer in answers.items()}
        return Reply(
            {id: shares for id, shares in found.items() if shares is not None},
            answers[first_id].model,
            sum(answer.tokens_in for answer in answers.values()),
            sum(answer.tokens_out for answer in answers.values()),
        )

    async def _letter(self, model: str, state: str, question: DecisionQuestion) -> "_Answer":
        messages = [_message("system", decision.LETTER_SYSTEM), _message("user", decision.letters(state, question))]
        more = {"logprobs": True, "top_logprobs": _TOP_LOGPROBS, "temperature": 0}
        return _Answer(await self._chat(model, messages, _OPTION_TOKENS, more), model)

    async def _by_schema(self, model: str, asked: DecideActivityRequest) -> Reply[Probabilities]:
        """All questions in one call: the model writes a number for each option."""
        options = sum(len(question.criteria) for question in asked.questions.values())
        messages = [_message("system", decision.SHARES_SYSTEM), _message("user", decision.shares_prompt(asked))]
        max_tokens = 256 + _TOKENS_PER_SHARE * options
        told = await self._structured(model, messages, decision.shares_schema(asked), max_tokens)
        return Reply(decision.by_shares(asked, told.value), told.model, told.tokens_in, told.tokens_out)

    # -- chat ----------------------------------------------------------------------------------------------------

    async def chat(self, model: str, asked: Conversation) -> Reply[str]:
        body: _Chat = {"model": model, "messages": asked.messages}
        if asked.max_tokens is not None:
            body[self._settings.max_tokens_field] = asked.max_tokens
        if asked.temperature is not None:
            body["temperature"] = asked.temperature
        answer = _Answer(await self._sender.post("chat/completions", body), model)
        return Reply(answer.text(), answer.model, answer.tokens_in, answer.tokens_out)

    # -- embed ---------------------------------------------------------------------------------------------------

    async def embed(self, model: str, asked: EmbedActivityRequest) -> Reply[Vectors]:
        body = {"model": model, "input": asked.texts, "encoding_format": "float"}
        answer = _Answer(await self._sender.post("embeddings", body), model)
        vectors = answer.vectors(len(asked.texts))
        return Reply(vectors, answer.model, answer.tokens_in or estimated_tokens(*asked.texts))


async def _all(calls: Any) -> list["_Answer"]:
    """All answers; the first failure ends the others."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


def _message(role: str, content: str) -> _Chat:
    return {"role": role, "content": content}


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


class _Answer:
    """A provider's answer, read with care: any field may be missing or of another kind."""

    def __init__(self, told: _Chat, asked_model: str) -> None:
        self._told = told
        usage = told.get("usage")
        self.tokens_in = _count(usage, "prompt_tokens")
        self.tokens_out = _count(usage, "completion_tokens")
        model = told.get("model")
        self.model = model[:200] if isinstance(model, str) and model.isprintable() and model else asked_model

    def refused(self, message: str) -> CallFailed:
        return self._failed("activity_request_refused", message)

    def _failed(self, code: str, message: str) -> CallFailed:
        return CallFailed(code, message, tokens_in=self.tokens_in, tokens_out=self.tokens_out)

    def _choice(self) -> _Chat:
        choices = self._told.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            return choices[0]
        raise self._failed("model_unavailable", "the provider answered without a choice")

    def text(self) -> str:
        """The whole text. Refused when the model declined, was cut off, or wrote none."""
        choice = self._choice()
        message = choice.get("message")
        if not isinstance(message, dict):
            raise self._failed("model_unavailable", "the provider answered a choice without a message")
        if isinstance(refusal := message.get("refusal"), str) and refusal:
            raise self.refused(f"the model declined: {' '.join(refusal[:200].split())}")
        if choice.get("finish_reason") == "length":
            raise self.refused("the model's answer was cut off at max_tokens")
        if choice.get("finish_reason") == "content_filter":
            raise self.refused("the provider's content filter stopped the answer")
        content = message.get("content")
        if not isinstance(content, str) or not content:
            raise self.refused("the model wrote no answer")
        return content

    @property
    def tells_tokens(self) -> bool:
        return self._tokens() is not None

    def _tokens(self) -> list[Any] | None:
        logprobs = self._choice().get("logprobs")
        content = logprobs.get("content") if isinstance(logprobs, dict) else None
        return content if isinstance(content, list) and content else None

    def top(self) -> list[list[tuple[str, float]]]:
        """For each written token the likeliest ones with their probabilities."""
        return [_likeliest(token) for token in self._tokens() or []]

    def vectors(self, count: int) -> Vectors:
        """In the order of the texts, all of one length."""
        data = self._told.get("data")
        rows = data if isinstance(data, list) else []
        if all(isinstance(row, dict) and isinstance(row.get("index"), int) for row in rows):
            rows = sorted(rows, key=lambda row: row["index"])
        vectors: list[Any] = [row.get("embedding") if isinstance(row, dict) else None for row in rows]
        numbers = [[float(number) for number in vector] for vector in vectors if _is_vector(vector)]
        if not len(numbers) == len(vectors) == count or len({len(vector) for vector in numbers}) > 1:
            raise self._failed("model_unavailable", f"the provider did not answer {count} vectors of one length")
        return numbers


def _count(usage: Any, name: str) -> int:
    found = usage.get(name) if isinstance(usage, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 2**40 else 0


def _likeliest(token: Any) -> list[tuple[str, float]]:
    top = token.get("top_logprobs") if isinstance(token, dict) else None
    rows = top if isinstance(top, list) and top else [token]
    return [
        (row["token"], math.exp(min(0.0, _as_float(row["logprob"]))))
        for row in rows
        if isinstance(row, dict) and isinstance(row.get("token"), str) and not math.isnan(_as_float(row.get("logprob")))
    ]


def _is_vector(vector: Any) -> bool:
    return isinstance(vector, list) and bool(vector) and all(math.isfinite(_as_float(number)) for number in vector)


def _as_float(number: Any) -> float:
    """NaN for what is no number that a float can hold, such as an integer of 400 digits."""
    try:
        return float(number) if type(number) in (int, float) else math.nan
    except OverflowError:
        return math.nan
