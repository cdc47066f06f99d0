"""Where key and URL come from, and what is wrong with a profile file (blobhub 4.2)."""

import traceback
from pathlib import Path
from typing import Any

import pytest
import yaml

import blobhub
from blobhub import Client, ConfigError, Identity

DEFAULT_URL = "http://127.0.0.1:7400/v1"
WORK = {"key": "work-key", "url": "https://work.test/v1", "realtime_url": "wss://work.test"}
HOME = {"key": "home-key", "url": "https://home.test/v1/"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, and none of the variables."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("BLOBHUB_PROFILE", "BLOBHUB_API_KEY", "BLOBHUB_API_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write(home: Path, content: bytes, mode: int = 0o600) -> Path:
    path = home / ".blobhub" / "credentials.yaml"
    path.parent.mkdir()
    path.write_bytes(content)
    path.chmod(mode)
    return path


def write_profiles(home: Path, default: str | None = "work") -> None:
    document = {"profiles": {"work": WORK, "home": HOME}} | ({"default": default} if default else {})
    write(home, yaml.safe_dump(document).encode())


def key_of(client: Client) -> str | None:
    return client._settings.api_key


def chosen(**arguments: Any) -> tuple[str, str, str | None]:
    """(source, URL, key)"""
    with blobhub.connect(**arguments) as client:
        return (*client.identity, key_of(client))


def refused(**arguments: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        blobhub.connect(**arguments)
    return caught.value


def test_without_anything_the_client_is_anonymous_on_this_machine() -> None:
    client = blobhub.connect()

    assert client.identity == Identity("anonymous", DEFAULT_URL)
    assert client.anonymous


def test_the_default_profile_serves_a_bare_connect(home: Path) -> None:
    write_profiles(home)

    assert chosen() == ("profile:work", "https://work.test/v1", "work-key")


def test_a_file_without_a_default_is_not_used(home: Path) -> None:
    write_profiles(home, default=None)

    assert chosen() == ("anonymous", DEFAULT_URL, None)


@pytest.mark.parametrize(
    ("arguments", "variables", "expected"),
    [
        ({"profile": "home"}, {"BLOBHUB_PROFILE": "work"}, ("profile:home", "https://home.test/v1", "home-key")),
        ({}, {"BLOBHUB_PROFILE": "home"}, ("profile:home", "https://home.test/v1", "home-key")),
        ({"api_key": "a"}, {"BLOBHUB_API_KEY": "e"}, ("argument", "https://work.test/v1", "a")),
        ({}, {"BLOBHUB_API_KEY": "e"}, ("env", "https://work.test/v1", "e")),
        ({"api_url": "http://a/"}, {"BLOBHUB_API_URL": "http://e"}, ("profile:work", "http://a", "work-key")),
        ({}, {"BLOBHUB_API_URL": "http://e/v1//"}, ("profile:work", "http://e/v1", "work-key")),
        # Empty text is absent, at every rung.
        (
            {"profile": "", "api_key": "", "api_url": ""},
            {"BLOBHUB_PROFILE": "", "BLOBHUB_API_KEY": "", "BLOBHUB_API_URL": ""},
            ("profile:work", "https://work.test/v1", "work-key"),
        ),
    ],
)
def test_arguments_go_before_variables_before_the_profile(
    home: Path, monkeypatch: pytest.MonkeyPatch, arguments: Any, variables: Any, expected: tuple[str, str, str]
) -> None:
    write_profiles(home)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert chosen(**arguments) == expected


def test_anonymous_reads_neither_the_file_nor_the_keys(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home, b"no profile file", 0o644)
    monkeypatch.setenv("BLOBHUB_API_KEY", "e")
    monkeypatch.setenv("BLOBHUB_PROFILE", "gone")

    assert chosen(anonymous=True) == ("anonymous", DEFAULT_URL, None)
    assert chosen(anonymous=True, api_url="http://a") == ("anonymous", "http://a", None)


def test_anonymous_takes_the_url_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOBHUB_API_URL", "http://e/v1")

    assert chosen(anonymous=True) == ("anonymous", "http://e/v1", None)


@pytest.mark.parametrize("arguments", [{"api_key": "k"}, {"profile": "work"}])
def test_anonymous_with_a_credential_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="anonymous"):
        blobhub.connect(anonymous=True, **arguments)


@pytest.mark.parametrize(
    "url", ["hub.test", "ftp://hub.test", "http://", "http://u:secret@hub.test", "http://h?secret=1", "http://h:secret"]
)
def test_a_url_that_is_none_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(ValueError, match="API URL") as caught:
        blobhub.connect(api_url=url, anonymous=True)

    assert "secret" not in "".join(traceback.format_exception(caught.value)[-1:])


@pytest.mark.parametrize("key", ["secret\n", "secret\u00e9", "sec\tret"])
def test_a_key_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="API key") as caught:
        blobhub.connect(api_key=key)

    assert "sec" not in str(caught.value)


# The profile file.


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o677])
def test_a_file_others_may_use_is_refused(home: Path, mode: int) -> None:
    path = write(home, b"profiles: {}", mode)

    assert refused().error == "insecure_credentials_file"
    assert f"chmod 600 {path}" in refused().message


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_file_for_the_owner_alone_is_read(home: Path, mode: int) -> None:
    write(home, b"profiles: {}", mode)

    assert chosen() == ("anonymous", DEFAULT_URL, None)


def test_a_folder_in_its_place_cannot_be_read(home: Path) -> None:
    (home / ".blobhub" / "credentials.yaml").mkdir(parents=True)

    assert refused().error == "unreadable_credentials_file"


def test_a_file_that_cannot_be_read_is_told_apart_from_a_bad_one(home: Path) -> None:
    """A folder in its place: root may read any file, but nobody reads a folder as one."""
    (home / ".blobhub" / "credentials.yaml").mkdir(parents=True, mode=0o700)

    assert refused().error == "unreadable_credentials_file"


SECRET = b"s3cr3t"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\xff\xfe s3cr3t", id="not UTF-8"),
        pytest.param(b"profiles: {a: [s3cr3t", id="not YAML"),
        pytest.param(b"profiles: {a: {key: !!python/name:os.s3cr3t x, url: y}}", id="a tag"),
        pytest.param(b"s3cr3t: 2001-99-99", id="a date that is none"),
        pytest.param(b"[" * 2_000 + b"s3cr3t", id="nested without end"),
        pytest.param(b"", id="empty"),
        pytest.param(b"s3cr3t", id="plain text"),
        pytest.param(b"- s3cr3t", id="a list"),
        pytest.param(b"default: s3cr3t", id="no profiles"),
        pytest.param(b"profiles: s3cr3t", id="profiles no mapping"),
        pytest.param(b"profiles: {work: s3cr3t}", id="a profile no mapping"),
        pytest.param(b"profiles: {work: {url: s3cr3t}}", id="no key"),
        pytest.param(b"profiles: {work: {key: '', url: s3cr3t}}", id="an empty key"),
        pytest.param(b"profiles: {work: {key: 5, url: s3cr3t}}", id="a key no text"),
        pytest.param(b"profiles: {work: {key: s3cr3t}}", id="no url"),
        pytest.param(b"profiles: {work: {key: s3cr3t, url: ''}}", id="an empty url"),
        pytest.param(b"profiles: {work: {key: s3cr3t, url: [x]}}", id="a url no text"),
        pytest.param(b"profiles: {1: {key: s3cr3t, url: x}}", id="a name no text"),
        pytest.param(b"default: [s3cr3t]\nprofiles: {}", id="default no text"),
        pytest.param(b"default: 5\nprofiles: {a: {key: s3cr3t, url: x}}", id="default a number"),
    ],
)
def test_a_file_that_is_none_is_refused_without_its_content(home: Path, content: bytes) -> None:
    """Also when a key is given: a broken file is found at once. Nothing of it is shown, it may be a key."""
    write(home, content)

    for arguments in ({}, {"api_key": "k"}):
        error = refused(**arguments)

        assert error.error == "invalid_credentials_file"
        assert "s3cr3t" not in str(error)
        assert (error.__cause__, error.__context__) == (None, None)


@pytest.mark.parametrize("arguments", [{}, {"api_key": "k"}])
@pytest.mark.parametrize("with_file", [True, False])
def test_an_absent_profile_is_refused_even_with_a_key(
    home: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, str], with_file: bool
) -> None:
    if with_file:
        write_profiles(home)

    assert refused(profile="gone", **arguments).error == "profile_not_found"
    monkeypatch.setenv("BLOBHUB_PROFILE", "gone")
    assert refused(**arguments).error == "profile_not_found"
    monkeypatch.setenv("BLOBHUB_API_KEY", "k")
    assert refused().error == "profile_not_found"


def test_an_absent_default_is_refused_and_not_shown(home: Path) -> None:
    """Somebody may have pasted the key there."""
    write_profiles(home, default="s3cr3t")

    error = refused()

    assert error.error == "profile_not_found"
    assert "s3cr3t" not in str(error)


def test_an_empty_default_is_none(home: Path) -> None:
    write(home, b"default: ''\nprofiles: {work: {key: k, url: 'http://h'}}")

    assert chosen() == ("anonymous", DEFAULT_URL, None)
