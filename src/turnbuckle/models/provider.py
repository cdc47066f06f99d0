"""What a provider of models is: three calls, each with one answer or one refusal."""

from typing import Generic, Protocol, TypeVar

import msgspec

from turnbuckle.wire.activity import DecideActivityRequest, EmbedActivityRequest
from turnbuckle.wire.errors import Refused

T = TypeVar("T")
Probabilities = dict[str, dict[str, float]]  # question: option: probability; a question that was skipped is missing
Vectors = list[list[float]]
_CHARS_PER_TOKEN = 4  # lbb-graph 3.1


class Reply(msgspec.Struct, Generic[T], frozen=True):
    """What a model answered, and what it counted."""

    value: T
    model: str
    tokens_in: int
    tokens_out: int = 0


class Prompt(msgspec.Struct, frozen=True):
    """What `reason` is asked, with its schema checked and closed."""

    prompt: str
    system: str | None
    schema: dict[str, object]
    max_tokens: int


class Conversation(msgspec.Struct, frozen=True):
    """What `chat` is asked: messages `{"role", "content"}`, the oldest first."""

    messages: list[dict[str, str]]
    max_tokens: int | None = None
    temperature: float | None = None


class Provider(Protocol):
    """Every call raises CallFailed when there is no answer that can be used, and nothing else."""

    async def reason(self, model: str, asked: Prompt) -> Reply[bytes]:
        """JSON that follows the schema."""

    async def decide(self, model: str, asked: DecideActivityRequest) -> Reply[Probabilities]: ...

    async def embed(self, model: str, asked: EmbedActivityRequest) -> Reply[Vectors]: ...

    async def chat(self, model: str, asked: Conversation) -> Reply[str]:
        """The text that goes on."""

    async def aclose(self) -> None: ...


class CallFailed(Refused):
    """A call without an answer. What the model counted all the same is charged."""

    def __init__(
        self, code: str, message: str, *, tokens_in: int = 0, tokens_out: int = 0, retry_after_s: int | None = None
    ) -> None:
        super().__init__(code, message, retry_after_s=retry_after_s)
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out


def estimated_tokens(*texts: str) -> int:
    """Where a provider counts none."""
    return -(-sum(map(len, texts)) // _CHARS_PER_TOKEN)
