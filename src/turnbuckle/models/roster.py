"""Who serves which activity in this server: the settings with their providers made, prices and budgets at hand."""

from pathlib import Path
from typing import NamedTuple

from turnbuckle.models import local, mock, settings
from turnbuckle.models.mock import MockProvider
from turnbuckle.models.openai import OpenAiProvider
from turnbuckle.models.price import cost_micro_usd
from turnbuckle.models.provider import Provider
from turnbuckle.models.sending import Sender
from turnbuckle.models.settings import (
    BadSettings,
    Job,
    LocalSettings,
    MockSettings,
    OpenAiSettings,
    ProviderSettings,
    Settings,
)
from turnbuckle.wire.errors import Refused

_MOCKED = {"reason": mock.GENERATIVE, "decide": mock.DECISION, "embed": mock.EMBEDDING, "chat": mock.GENERATIVE}


class Seat(NamedTuple):
    """What serves an activity."""

    name: str  # of the provider, as the settings call it
    model: str
    provider: Provider


class Models:
    """Made at the server's start; `aclose` ends its connections."""

    def __init__(self, chosen: Settings, folder: Path, why_none: str) -> None:
        """Raises BadSettings for what the settings point to: secrets, an answer key, a package."""
        self._settings = chosen
        self._why_none = why_none
        self._sections: dict[str, ProviderSettings] = {settings.MOCK: MockSettings(), **chosen.providers}
        key = settings.answer_key(chosen, folder)
        used = {name for job in settings.JOBS if (name := chosen.activities.of(job)) is not None}
        self._providers: dict[str, Provider] = {}
        for name in sorted(used):
            section = self._sections[name]
            match section:
                case MockSettings():
                    self._providers[name] = MockProvider(key)
                case LocalSettings():
                    self._providers[name] = local.LocalProvider(name, section.dim)
                case OpenAiSettings():
                    secret = settings.secret(name, section, folder)
                    self._providers[name] = OpenAiProvider(section, Sender(name, section, secret))

    def serving(self, job: Job) -> Seat:
        """Refused(models_not_configured) when nothing serves it."""
        name = self._settings.activities.of(job)
        if name is None:
            raise Refused("models_not_configured", f"no model serves {job} here: {self._why_none}")
        return Seat(name, self._model_of(name, job), self._providers[name])

    def _model_of(self, name: str, job: Job) -> str:
        match self._sections[name]:
            case MockSettings():
                return _MOCKED[job]
            case LocalSettings():
                return local.MODEL
            case OpenAiSettings() as section:
                model = section.model_of(job)
                assert model is not None  # settings.read has looked
                return model

    def cost_micro_usd(self, model: str, tokens_in: int, tokens_out: int) -> int:
        """By the model's name in the settings."""
        return cost_micro_usd(self._settings.prices, model, tokens_in, tokens_out)

    def budget_micro_usd(self, environment: str) -> int | None:
        """What the environment may spend in a UTC month."""
        usd = self._settings.budgets.get(environment)
        return None if usd is None else round(usd * 1_000_000)

    def described(self) -> list[str]:
        """A line for each activity, without secrets."""
        return [self._line(job) for job in settings.JOBS]

    def _line(self, job: Job) -> str:
        name = self._settings.activities.of(job)
        if name is None:
            return f"{job}: no model ({self._why_none})"
        section = self._sections[name]
        where = f" at {section.url}" if isinstance(section, OpenAiSettings) else ""
        model = self._model_of(name, job)
        price = "" if model in self._settings.prices or not where else ", no price: its calls are charged nothing"
        return f"{job}: {model} of {name}{where}{price}"

    async def aclose(self) -> None:
        for provider in self._providers.values():
            await provider.aclose()


def open_models(file: Path | None, *, is_dev: bool) -> Models:
    """As the file says; without one mock models in dev mode, else none.

    Raises BadSettings.
    """
    if file is None:
        chosen, folder, why = settings.ALL_MOCK if is_dev else settings.NONE, Path(), "the server has no --models file"
    else:
        chosen, folder, why = settings.read(file), file.parent, f"{file.name} names none under [activities]"
    try:
        return Models(chosen, folder, why)
    except BadSettings as exc:
        raise BadSettings(f"{file or 'models'}: {exc}") from exc
