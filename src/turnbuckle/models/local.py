"""An embedding model in this process, from a package that ships its weights: the extra `embeddings`.

WordLlama: a table of one vector for each token, averaged. 16 MB, no downloads, thousands of texts a second on one core.
It says how near texts are in their words and topics; it does not read sentences.
"""

import asyncio
import threading
from typing import Any, Literal

from turnbuckle.models.provider import CallFailed, Probabilities, Prompt, Reply, Vectors, estimated_tokens
from turnbuckle.models.settings import BadSettings
from turnbuckle.wire.activity import DecideActivityRequest, EmbedActivityRequest

MODEL = "wordllama-l2-supercat-256"


class LocalProvider:
    def __init__(self, name: str, dim: Literal[64, 128, 256]) -> None:
        """Raises BadSettings when the extra is not installed."""
        try:
            from wordllama import WordLlama
        except ImportError as exc:
            raise BadSettings(
                f"providers.{name}: the embedding model is not installed; install turnbuckle[embeddings]"
            ) from exc
        # The weights are in the package; nothing is looked for elsewhere.
        self._model: Any = WordLlama.load(trunc_dim=dim, disable_download=True)
        self._one = threading.Lock()  # its tokenizer keeps settings of the present call

    async def reason(self, model: str, asked: Prompt) -> Reply[bytes]:
        raise CallFailed("models_not_configured", "the local model only embeds")

    async def decide(self, model: str, asked: DecideActivityRequest) -> Reply[Probabilities]:
        raise CallFailed("models_not_configured", "the local model only embeds")

    async def embed(self, model: str, asked: EmbedActivityRequest) -> Reply[Vectors]:
        vectors = await asyncio.to_thread(self._vectors, asked.texts)
        return Reply(vectors, MODEL, estimated_tokens(*asked.texts))

    def _vectors(self, texts: list[str]) -> Vectors:
        with self._one:
            found: Vectors = self._model.embed(texts, norm=True).tolist()
        return found

    async def aclose(self) -> None:
        """Its weights go with the process."""
