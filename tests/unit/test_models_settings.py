"""The file that names model providers: models/settings.py, roster.py, price.py."""

import re
from pathlib import Path

import pytest

from turnbuckle.models import settings
from turnbuckle.models.price import Price, cost_micro_usd
from turnbuckle.models.roster import open_models
from turnbuckle.models.settings import BadSettings, OpenAiSettings
from turnbuckle.wire.errors import Refused

SECRET = "sk-do-not-tell-4711"
WHOLE = """
mock_answers = "answers.json"

[activities]
reason = "big"
decide = "mock"
embed = "mock"

[providers.big]
kind = "openai"
url = "https://models.example.com/v1"
key_env = "BIG_KEY"
reason_model = "large-1"
timeout_s = 30
concurrency = 2

[prices."large-1"]
usd_per_million_in = 0.15
usd_per_million_out = 0.6

[budgets]
test = 2.5
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "models.toml"
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIG_KEY", SECRET)
    (tmp_path / "answers.json").write_text('{"reason": [], "decide": []}')
    return written(tmp_path, WHOLE)


def test_a_whole_file_is_read(file: Path) -> None:
    models = open_models(file, is_dev=False)

    assert models.serving("reason")[:2] == ("big", "large-1")
    assert models.serving("decide")[:2] == ("mock", "mock-decision")
    assert models.cost_micro_usd("large-1", 1_000_000, 10) == 150_006
    assert (models.budget_micro_usd("test"), models.budget_micro_usd("live")) == (2_500_000, None)


def test_what_the_start_tells_holds_no_secret(file: Path) -> None:
    lines = open_models(file, is_dev=False).described()

    assert lines == [
        "reason: large-1 of big at https://models.example.com/v1",
        "decide: mock-decision of mock",
        "embed: mock-embedding of mock",
        "chat: large-1 of big at https://models.example.com/v1",  # as reason
    ]


def test_without_a_file_dev_has_mocks_and_serve_says_how_to_get_models() -> None:
    assert [open_models(None, is_dev=True).serving(job).model for job in settings.JOBS] == [
        "mock-generative",
        "mock-decision",
        "mock-embedding",
        "mock-generative",
    ]
    with pytest.raises(Refused, match="the server has no --models file") as info:
        open_models(None, is_dev=False).serving("reason")
    assert info.value.code == "models_not_configured"
    assert "--models" in info.value.kind.sentence


def test_an_activity_that_is_not_named_is_refused(tmp_path: Path) -> None:
    models = open_models(written(tmp_path, '[activities]\nembed = "mock"\n'), is_dev=True)

    assert models.serving("embed").name == "mock"
    with pytest.raises(Refused, match=r"models\.toml names none under \[activities\]"):
        models.serving("reason")


BAD = [
    ("activities = 1", "activities: expected `object`, got `int`"),
    ("[activities", "no TOML"),
    ("\xff", "no TOML"),
    ('[activities]\nspeak = "mock"', "activities: object contains unknown field `speak`"),
    ('[activities]\nreason = "nobody"', "activities.reason: got 'nobody', expected a provider of this file: mock"),
    ('[providers.p]\nkind = "magic"', "providers.p.kind: invalid value 'magic', expected 'openai', 'local' or 'mock'"),
    ('[providers.p]\nurl = "https://x"', "providers.p: object missing required field `kind`"),
    ('[providers.p]\nkind = "openai"', "providers.p: object missing required field `url`"),
    ('[providers.p]\nkind = "openai"\nurl = "x"', "providers.p.url: expected `str` matching regex"),
    ('[providers.p]\nkind = "openai"\nurl = "https://me:sesame@x"', "providers.p.url: expected"),
    ('[providers.p]\nkind = "openai"\nurl = "https://x"\ntimeout_s = "1"', "providers.p.timeout_s: expected `float`"),
    ('[providers.p]\nkind = "openai"\nurl = "https://x"\ntimeout_s = 0', "providers.p.timeout_s: expected `float` > 0"),
    ('[providers.p]\nkind = "openai"\nurl = "https://x"\nretries = 11', "providers.p.retries: expected `int` <= 10"),
    (f'[providers.p]\nkind = "openai"\nurl = "https://x"\nkey = "{SECRET}"', "secrets are not written here"),
    (
        '[activities]\nreason = "p"\n[providers.p]\nkind = "openai"\nurl = "https://x"',
        "providers.p.reason_model: it is missing",
    ),
    ('[activities]\nreason = "p"\n[providers.p]\nkind = "local"', "activities.reason: got 'p', which only embeds"),
    ('[prices.m]\nusd_per_million_in = "a"', "prices.m.usd_per_million_in: expected `float`"),
    ("[budgets]\ntest = -1", "budgets.test: expected `float` >= 0"),
]


@pytest.mark.parametrize(("text", "says"), BAD, ids=[says for _, says in BAD])
def test_a_bad_file_is_told_by_key_got_and_expected(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "models.toml"
    path.write_bytes(text.encode("latin-1"))

    with pytest.raises(BadSettings) as info:
        settings.read(path)

    assert str(info.value).startswith(str(path))
    assert says in str(info.value)
    assert SECRET not in str(info.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="cannot be read: No such file"):
        settings.read(tmp_path / "none.toml")


# -- what it points to -------------------------------------------------------------------------------------------


def provider(**fields: str) -> OpenAiSettings:
    return OpenAiSettings(url="https://x", **fields)  # type: ignore[arg-type]


def test_a_key_comes_from_the_environment_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{SECRET}\n")

    assert settings.secret("p", provider(key_env="K"), tmp_path, {"K": SECRET}) == SECRET
    assert settings.secret("p", provider(key_file="key"), tmp_path, {}) == SECRET
    assert settings.secret("p", provider(), tmp_path, {}) is None


@pytest.mark.parametrize(
    ("fields", "environment", "says"),
    [
        ({"key_env": "K"}, {}, r"providers\.p\.key_env: got 'K', expected an environment variable that is set"),
        ({"key_env": "K"}, {"K": "  "}, "that is set"),
        ({"key_env": SECRET}, {}, "got what is no variable's name"),
        ({"key_env": "K"}, {"K": f"{SECRET} {SECRET}"}, "what cannot be sent in a header"),
        ({"key_env": "K"}, {"K": f"{SECRET}\nx: y"}, "what cannot be sent in a header"),
        ({"key_file": "none"}, {}, r"providers\.p\.key_file: cannot be read: FileNotFoundError"),
    ],
)
def test_a_key_that_is_not_there_is_told_without_showing_any(
    tmp_path: Path, fields: dict[str, str], environment: dict[str, str], says: str
) -> None:
    with pytest.raises(BadSettings, match=says) as info:
        settings.secret("p", provider(**fields), tmp_path, environment)

    assert SECRET not in str(info.value)


@pytest.mark.parametrize("text", ["", "[]", '{"reason": [{"when": "x", "value": 1}]}', '{"speak": []}'])
def test_an_answer_key_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "key.json").write_text(text)

    with pytest.raises(BadSettings, match=r"models\.toml: mock_answers: .*key\.json is no answer key"):
        open_models(written(tmp_path, 'mock_answers = "key.json"'), is_dev=True)


# -- prices ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usd_in", "usd_out", "tokens", "cost"),
    [(0.0, 0.0, (10, 10), 0), (0.1, 0.0, (10, 0), 1), (0.1, 0.0, (11, 0), 2), (3.0, 15.0, (1_000, 100), 4_500)],
)
def test_a_cost_is_exact_and_rounded_up(usd_in: float, usd_out: float, tokens: tuple[int, int], cost: int) -> None:
    prices = {"m": Price(usd_per_million_in=usd_in, usd_per_million_out=usd_out)}

    assert cost_micro_usd(prices, "m", *tokens) == cost
    assert cost_micro_usd(prices, "other", *tokens) == 0


# -- the pages ---------------------------------------------------------------------------------------------------

HOWTO = (Path(__file__).parents[2] / "docs/howto/connect-a-model.md").read_text("utf-8")


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", HOWTO, re.DOTALL))
def test_the_files_of_the_page_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str) -> None:
    monkeypatch.setenv("MODELS_EXAMPLE_KEY", SECRET)
    (answers,) = re.findall(r"```json\n(.*?)```", HOWTO, re.DOTALL)
    (tmp_path / "answers.json").write_text(answers)

    assert open_models(written(tmp_path, block), is_dev=False).serving("embed").model


def test_every_setting_is_on_its_page() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/models-toml.md").read_text("utf-8")
    sections = (OpenAiSettings, settings.LocalSettings, settings.Activities, settings.Settings, Price)

    assert [f for section in sections for f in section.__struct_fields__ if f not in re.findall(r"[a-z_]+", page)] == []
