"""The file that says which provider serves which activity: `turnbuckle serve --models models.toml`.

    [activities]
    reason = "openai"

    [providers.openai]
    kind = "openai"
    url = "https://api.example.com/v1"
    key_env = "EXAMPLE_API_KEY"
    reason_model = "large-1"

Secrets are named, never written in it: an environment variable or a file of their own. They are in no message.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from turnbuckle.models.answer_key import NO_KEY, AnswerKey
from turnbuckle.models.price import Price

Job = Literal["reason", "decide", "embed", "chat"]
JOBS: tuple[Job, ...] = ("reason", "decide", "embed", "chat")
MOCK = "mock"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
Usd = Annotated[float, Meta(ge=0)]


class BadSettings(ValueError):
    """The message names the file, the key, what was got and what is expected."""


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class MockSettings(_Section, frozen=True, kw_only=True, tag_field="kind", tag="mock"):
    """Answers that cost nothing, always the same."""


class LocalSettings(_Section, frozen=True, kw_only=True, tag_field="kind", tag="local"):
    """An embedding model in this process: the extra `embeddings`."""

    dim: Literal[64, 128, 256] = 256


class OpenAiSettings(_Section, frozen=True, kw_only=True, tag_field="kind", tag="openai"):
    """Any endpoint that speaks the OpenAI wire form."""

    url: Annotated[str, Meta(pattern=r"^https?://[^/@\s?#]+(/[^\s?#]*)?$")]
    key_env: str | None = None  # the environment variable that holds the key
    key_file: str | None = None  # the file that holds it
    reason_model: str | None = None
    decide_model: str | None = None
    embed_model: str | None = None
    chat_model: str | None = None  # absent: the reason_model
    decide_by: Literal["tokens", "schema"] = "tokens"
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    timeout_s: Annotated[float, Meta(gt=0, le=600)] = 120.0  # of one attempt
    retries: Annotated[int, Meta(ge=0, le=10)] = 2  # after the first attempt
    concurrency: Annotated[int, Meta(ge=1, le=1_000)] = 8  # requests on their way at once

    def model_of(self, job: Job) -> str | None:
        chat = self.chat_model or self.reason_model
        return {"reason": self.reason_model, "decide": self.decide_model, "embed": self.embed_model, "chat": chat}[job]


ProviderSettings = MockSettings | LocalSettings | OpenAiSettings


class Activities(_Section, frozen=True, kw_only=True):
    """Names of providers; an activity without one is refused."""

    reason: str | None = None
    decide: str | None = None
    embed: str | None = None
    chat: str | None = None  # absent: as for reason

    def of(self, job: Job) -> str | None:
        chat = self.chat or self.reason
        return {"reason": self.reason, "decide": self.decide, "embed": self.embed, "chat": chat}[job]


class Settings(_Section, frozen=True, kw_only=True):
    activities: Activities = Activities()
    providers: dict[str, ProviderSettings] = field(default_factory=dict)
    prices: dict[str, Price] = field(default_factory=dict)  # by model
    budgets: dict[str, Usd] = field(default_factory=dict)  # by environment: dollars per UTC month
    mock_answers: str | None = None  # the mock models' answer key


NONE = Settings()
ALL_MOCK = Settings(activities=Activities(reason=MOCK, decide=MOCK, embed=MOCK))


def read(path: Path) -> Settings:
    """Raises BadSettings for a file that is not there, no TOML, or does not fit together."""
    try:
        document = tomllib.loads(path.read_bytes().decode())
    except OSError as exc:
        raise BadSettings(f"{path}: cannot be read: {exc.strerror}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise BadSettings(f"{path}: no TOML: {exc}") from exc
    try:
        for table, name, one in _entries(document):
            _convert(one, f".{table}.{name}")
        settings = _convert(document, "")
    except BadSettings as exc:
        raise BadSettings(f"{path}: {exc}") from None
    for problem in _problems(settings):
        raise BadSettings(f"{path}: {problem}")
    return settings


def _entries(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each entry of the tables whose names are free, as a document of its own: the decoder does not tell the name."""
    for table in ("providers", "prices", "budgets"):
        found = document.get(table)
        for name, section in found.items() if isinstance(found, dict) else ():
            yield table, name, {table: {name: section}}


def _convert(document: dict[str, Any], entry: str) -> Settings:
    try:
        return msgspec.convert(document, Settings)
    except msgspec.ValidationError as exc:
        raise BadSettings(_explained(str(exc), entry)) from None


def _problems(settings: Settings) -> list[str]:
    """What is wrong with the sections as they name each other."""
    found = []
    for job in JOBS:
        name = settings.activities.of(job)
        if name is None:
            continue
        provider = settings.providers.get(name, MockSettings() if name == MOCK else None)
        if provider is None:
            known = ", ".join(sorted({MOCK, *settings.providers}))
            found.append(f"activities.{job}: got {name!r}, expected a provider of this file: {known}")
        elif isinstance(provider, LocalSettings) and job != "embed":
            found.append(f"activities.{job}: got {name!r}, which only embeds; expected a provider for {job}")
        elif isinstance(provider, OpenAiSettings) and provider.model_of(job) is None:
            found.append(f"providers.{name}.{job}_model: it is missing; expected the model that serves {job}")
    for name, provider in settings.providers.items():
        if isinstance(provider, OpenAiSettings) and provider.key_env and provider.key_file:
            found.append(f"providers.{name}.key_file: got it beside key_env, expected one of the two")
    return found


_AT = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>[^`]*)`)?$", re.DOTALL)


def _explained(message: str, entry: str) -> str:
    """The decoder's sentence with the key first. No value is shown: it may be a secret at the wrong place."""
    match = _AT.match(message)
    assert match is not None
    path = re.sub(r"^\.\w+\[\.\.\.\]", lambda _: entry, (match["path"] or "$").removeprefix("$")).removeprefix(".")
    what = match["what"]
    if path.endswith(".kind"):
        what += ", expected 'openai', 'local' or 'mock'"
    if "unknown field" in what and re.search(r"`(api_)?key`|`secret`|`token`", what):
        what += "; secrets are not written here: name an environment variable as key_env, or a file as key_file"
    return f"{path or 'the file'}: {what[0].lower()}{what[1:]}"


# -- what the file points to -------------------------------------------------------------------------------------


def secret(
    name: str, provider: OpenAiSettings, folder: Path, environment: Mapping[str, str] = os.environ
) -> str | None:
    """The provider's key; None for one that needs none. Raises BadSettings, without showing it."""
    if provider.key_env is not None:
        found = environment.get(provider.key_env, "").strip()
        if not found:
            shown = repr(provider.key_env) if _VARIABLE.fullmatch(provider.key_env) else "what is no variable's name"
            raise BadSettings(f"providers.{name}.key_env: got {shown}, expected an environment variable that is set")
        return _checked(found, f"providers.{name}.key_env")
    if provider.key_file is not None:
        try:
            found = (folder / provider.key_file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as exc:
            raise BadSettings(f"providers.{name}.key_file: cannot be read: {type(exc).__name__}") from None
        return _checked(found, f"providers.{name}.key_file")
    return None


def _checked(secret: str, key: str) -> str:
    if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise BadSettings(f"{key}: got what cannot be sent in a header, expected the provider's key alone")
    return secret


def answer_key(settings: Settings, folder: Path) -> AnswerKey:
    """Raises BadSettings for a file that cannot be read as one."""
    if settings.mock_answers is None:
        return NO_KEY
    path = folder / settings.mock_answers
    try:
        return msgspec.json.decode(path.read_bytes(), type=AnswerKey)
    except OSError as exc:
        raise BadSettings(f"mock_answers: {path} cannot be read: {exc.strerror}") from exc
    except (msgspec.MsgspecError, UnicodeDecodeError) as exc:
        raise BadSettings(f"mock_answers: {path} is no answer key: {exc}") from exc
