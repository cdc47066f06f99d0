"""An embedding model in this process, from a package that ships its weights: the extra `embeddings`.

WordLlama's table has a vector for each of 32,000 tokens; a text is the mean of its tokens. 16 MB, no downloads. It says
how near texts are in words and topics; it does not read sentences. Its own loader looks for the tokenizer in a
folder where the package does not put it and goes on to a download, so the two files are read here.
"""

import asyncio
import importlib.util
from pathlib import Path
from typing import Any, Literal

from turnbuckle.models.provider import CallFailed, Conversation, Probabilities, Prompt, Reply, Vectors, estimated_tokens
from turnbuckle.models.settings import BadSettings
from turnbuckle.wire.activity import DecideActivityRequest, EmbedActivityRequest

MODEL = "wordllama-l2-supercat"
_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class LocalProvider:
    def __init__(self, name: str, dim: Literal[64, 128, 256]) -> None:
        """Raises BadSettings when the extra is not installed."""
        folder = _folder()
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError:
            folder = None
        if folder is None or not (folder / _WEIGHTS).exists():
            raise BadSettings(f"providers.{name}: the embedding model is not there; install turnbuckle[embeddings]")
        # The first dimensions are a smaller model: it was trained so.
        self._table: Any = load_file(folder / _WEIGHTS)["embedding.weight"][:, :dim]
        self._tokenizer: Any = Tokenizer.from_file(str(folder / _TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    async def reason(self, model: str, asked: Prompt) -> Reply[bytes]:
        raise CallFailed("models_not_configured", "the local model only embeds")

    async def decide(self, model: str, asked: DecideActivityRequest) -> Reply[Probabilities]:
        raise CallFailed("models_not_configured", "the local model only embeds")

    async def chat(self, model: str, asked: Conversation) -> Reply[str]:
        raise CallFailed("models_not_configured", "the local model only embeds")

    async def embed(self, model: str, asked: EmbedActivityRequest) -> Reply[Vectors]:
        vectors = await asyncio.to_thread(lambda: [self._vector(text) for text in asked.texts])
        return Reply(vectors, MODEL, estimated_tokens(*asked.texts))

    def _vector(self, text: str) -> list[float]:
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids or [0]  # 0 is the unknown token
        mean = self._table[ids].astype("float32").mean(axis=0)
        unit: list[float] = (mean / ((mean**2).sum() ** 0.5 or 1.0)).tolist()
        return unit

    async def aclose(self) -> None:
        """Its weights go with the process."""


def _folder() -> Path | None:
    spec = importlib.util.find_spec("wordllama")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent
