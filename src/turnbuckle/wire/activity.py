"""Model activities: a prompt answered by a schema, questions decided among options, texts as vectors (lbb-graph 3)."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from turnbuckle.wire import limits
from turnbuckle.wire.base import _END, Answer, Count, Json, Name, Request

EFFECT_PATTERN = limits.EFFECT_PATTERN.removesuffix("$") + _END
OPTION_PATTERN = limits.OPTION_PATTERN.removesuffix("$") + _END
EffectId = Annotated[str, Meta(pattern=EFFECT_PATTERN)]
OptionId = Annotated[str, Meta(pattern=OPTION_PATTERN)]
Label = Annotated[str, Meta(max_length=limits.LABEL_CHARS)]
Prompt = Annotated[str, Meta(min_length=1, max_length=limits.PROMPT_CHARS)]
AnswerTokens = Annotated[int, Meta(ge=limits.ANSWER_TOKENS[0], le=limits.ANSWER_TOKENS[1])]
EmbeddedText = Annotated[str, Meta(min_length=limits.TEXT_CHARS[0], max_length=limits.TEXT_CHARS[1])]
Probability = Annotated[float, Meta(ge=0, le=1)]


class ActivityWorkflow(Request, frozen=True, kw_only=True):
    """Which turn makes the call. Its shape is checked, not that the caller holds the turn (lbb-graph 3.4)."""

    identity: Name
    turn: Annotated[int, Meta(ge=1, le=limits.INT_MAX)]
    run_id: Annotated[str, Meta(max_length=limits.ID_CHARS)] | None = None
    step: Name | None = None
    instance: Annotated[str, Meta(max_length=limits.CALL_INSTANCE_CHARS)] | None = None


class ActivityTest(Request, frozen=True, kw_only=True):
    """Marks a call of a workflow test: logged under `tests/<workflow>`, charged to that workflow."""

    workflow: OptionId


class ActivityRequest(Request, frozen=True, kw_only=True):
    """What the three have in common. None of it makes a request another one under its effect id."""

    effect_id: EffectId | None = None
    label: Label | None = None
    workflow: ActivityWorkflow | None = None
    test: ActivityTest | None = None


class ReasonActivityRequest(ActivityRequest, frozen=True, kw_only=True):
    prompt: Prompt
    schema: Annotated[Json, Meta(extra_json_schema={"type": "object"})]
    system: Annotated[str, Meta(max_length=limits.PROMPT_CHARS)] | None = None
    max_tokens: AnswerTokens | None = None


class ReasonActivityResponse(Answer, omit_defaults=False, frozen=True, kw_only=True):
    value: Json  # it follows the schema
    model: str
    tokens_in: Count
    tokens_out: Count
    cost_micro_usd: Count
    cached: bool


class DecisionQuestion(Request, frozen=True, kw_only=True):
    instructions: str
    criteria: Annotated[
        dict[OptionId, str], Meta(min_length=limits.OPTIONS[0], max_length=limits.OPTIONS[1])
    ]  # option: what it means


class DecideActivityRequest(ActivityRequest, frozen=True, kw_only=True):
    state: Json  # what the questions are about
    questions: Annotated[
        dict[OptionId, DecisionQuestion], Meta(min_length=limits.QUESTIONS[0], max_length=limits.QUESTIONS[1])
    ]


class DecisionAnswer(Answer, frozen=True, kw_only=True):
    choice: str | None = None
    confidence: Probability | None = None  # that of the choice
    probabilities: dict[str, Probability] | None = None


class DecideActivityResponse(Answer, omit_defaults=False, frozen=True, kw_only=True):
    answers: dict[str, DecisionAnswer]  # a question that the model skipped is missing
    model: str
    tokens_in: Count
    tokens_out: Count
    cost_micro_usd: Count
    cached: bool


class EmbedActivityRequest(ActivityRequest, frozen=True, kw_only=True):
    texts: Annotated[list[EmbeddedText], Meta(min_length=limits.TEXTS[0], max_length=limits.TEXTS[1])]


class EmbedActivityResponse(Answer, omit_defaults=False, frozen=True, kw_only=True):
    vectors: list[list[float]]  # one for each text, in order
    model: str
    dim: Count
    tokens_in: Count
    cost_micro_usd: Count
    cached: bool


# -- for executions of the second API (decision 50) --------------------------------------------------------------


class ChatMessage(Request, frozen=True, kw_only=True):
    role: Literal["system", "user", "assistant"]
    content: str


SecretName = Annotated[str, Meta(min_length=1, max_length=limits.LABEL_CHARS)]


class ChatActivityRequest(ActivityRequest, frozen=True, kw_only=True):
    effect_id: EffectId  # never without one
    messages: Annotated[list[ChatMessage], Meta(min_length=1, max_length=limits.CHAT_MESSAGES)]
    model: Annotated[str, Meta(min_length=1, max_length=200)] | None = None  # the server's own when absent
    base_url: Annotated[str, Meta(min_length=1, max_length=limits.HTTP_URL_CHARS)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    max_tokens: AnswerTokens | None = None
    credential: SecretName | None = None  # the name of a secret of the server, for base_url


class ChatActivityResponse(Answer, omit_defaults=False, frozen=True, kw_only=True):
    text: str
    model: str
    tokens_in: Count
    tokens_out: Count
    cost_micro_usd: Count
    cached: bool


class HttpActivityRequest(ActivityRequest, frozen=True, kw_only=True):
    effect_id: EffectId  # never without one
    method: Annotated[str, Meta(min_length=1, max_length=16)]
    url: Annotated[str, Meta(min_length=1, max_length=limits.HTTP_URL_CHARS)]
    headers: Annotated[dict[str, str], Meta(max_length=limits.HTTP_HEADERS)] | None = None
    json: Json | UnsetType = UNSET  # the body, or `text`
    text: str | None = None
    timeout_s: Annotated[int, Meta(ge=limits.HTTP_TIMEOUT_S[0], le=limits.HTTP_TIMEOUT_S[1])] | None = None
    credential: SecretName | None = None  # the name of a secret of the server, sent as a Bearer token


class HttpActivityResponse(Answer, frozen=True, kw_only=True):
    """Any answer, whatever its status. Secrets that the host repeats are hidden."""

    status: Count
    headers: dict[str, str]
    text: str | None = None
    json: Json | UnsetType = UNSET  # of an answer whose type is JSON, in place of the text
    cached: bool = False
