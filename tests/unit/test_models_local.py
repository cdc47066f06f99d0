"""The embedding model in the server's own process: models/local.py, the extra `embeddings`."""

import builtins
import math
from pathlib import Path
from typing import Any

import pytest

from turnbuckle.models.local import MODEL, LocalProvider
from turnbuckle.models.provider import CallFailed, Vectors
from turnbuckle.models.roster import open_models
from turnbuckle.models.settings import BadSettings
from turnbuckle.wire.activity import EmbedActivityRequest


async def embedded(*texts: str, dim: Any = 256) -> Vectors:
    return (await LocalProvider("words", dim).embed(MODEL, EmbedActivityRequest(texts=list(texts)))).value


def nearness(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("dim", [64, 128, 256])
async def test_texts_about_one_thing_are_nearer_than_others(dim: int) -> None:
    texts = ("the parcel was delivered late", "late delivery of a parcel", "income tax law")

    parcel, delivery, tax = await embedded(*texts, dim=dim)

    assert len(parcel) == dim
    assert nearness(parcel, delivery) > nearness(parcel, tax) + 0.3


@pytest.mark.parametrize("text", [" ", "\n", "\0", "x" * 8_000, "日本語", "🙂", "\u200b"])
async def test_any_text_has_a_vector_of_length_one(text: str) -> None:
    (vector,) = await embedded(text)

    assert math.isclose(nearness(vector, vector), 1, rel_tol=1e-4)


async def test_it_does_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    file.write_text('activities.embed = "words"\nproviders.words = { kind = "local", dim = 64 }\n')
    models = open_models(file, is_dev=False)

    seat = models.serving("embed")
    assert (seat.name, seat.model) == ("words", MODEL)
    assert models.described()[2] == f"embed: {MODEL} of words"
    with pytest.raises(CallFailed):
        await seat.provider.decide("m", None)  # type: ignore[arg-type]


def test_without_the_extra_the_start_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.startswith("tokenizers"):
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(BadSettings, match=r"install turnbuckle\[embeddings\]"):
        LocalProvider("words", 64)
