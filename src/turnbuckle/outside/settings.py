"""The file that says where executions may send requests: `turnbuckle serve --outside outside.toml`.

    [http]
    allow = ["api.example.com", "*.example.org:8443"]
    allow_private = ["stub.internal:8080"]

    [secrets.crm]
    env = "CRM_TOKEN"
    hosts = ["api.example.com"]

Without the file nothing is sent. A host stands for the ports 80 and 443 unless it names one; `*.` stands for any name
below. Secrets are named, never written in it, and go to their own hosts only.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, field

_HOST: Final = r"^(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$|^\[[0-9a-fA-F:.]+\](:[0-9]{1,5})?$"
Host = Annotated[str, Meta(pattern=_HOST)]
_DEFAULT_PORTS = (80, 443)


class BadOutside(ValueError):
    """The message names the file and what is wrong, without showing a secret."""


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Http(_Section, frozen=True, kw_only=True):
    allow: list[Host] = []
    allow_private: list[Host] = []  # hosts that may have a private address; they need not be in `allow` too
    timeout_s: Annotated[float, Meta(gt=0, le=120)] = 30.0  # where a request names none
    answer_bytes: Annotated[int, Meta(ge=1_024, le=8 * 1024 * 1024)] = 1024 * 1024 - 4_096


class Secret(_Section, frozen=True, kw_only=True):
    hosts: Annotated[list[Host], Meta(min_length=1)]  # the only ones that get it
    env: str | None = None  # the environment variable that holds it
    file: str | None = None  # or the file that does, from this file's folder


class Settings(_Section, frozen=True, kw_only=True):
    http: Http = Http()
    secrets: dict[str, Secret] = field(default_factory=dict)


class Outside:
    """What is allowed, with the secrets read."""

    def __init__(self, settings: Settings | None = None, secrets: Mapping[str, str] | None = None) -> None:
        self.settings = settings or Settings()
        self._secrets = dict(secrets or {})

    def is_allowed(self, host: str, port: int) -> bool:
        http = self.settings.http
        return fits(http.allow, host, port) or self.may_be_private(host, port)

    def may_be_private(self, host: str, port: int) -> bool:
        return fits(self.settings.http.allow_private, host, port)

    def secret(self, name: str, host: str, port: int) -> str | None:
        """None when there is no secret of that name, or none for that host."""
        section = self.settings.secrets.get(name)
        return self._secrets[name] if section is not None and fits(section.hosts, host, port) else None

    def hidden(self, text: str) -> str:
        """The text without any secret: a host may repeat what it was sent."""
        for secret in self._secrets.values():
            text = text.replace(secret, "(a secret)")
        return text


def fits(patterns: list[str], host: str, port: int) -> bool:
    return any(_fits(pattern.lower(), host.lower().rstrip("."), port) for pattern in patterns)


def _fits(pattern: str, host: str, port: int) -> bool:
    match = re.fullmatch(r"(\[.*\]|[^:]*)(?::(\d+))?", pattern)
    assert match is not None  # the pattern was checked when it was read
    name = match[1].strip("[]")
    if port not in ((int(match[2]),) if match[2] else _DEFAULT_PORTS):
        return False
    return host.endswith(name[1:]) if name.startswith("*.") else host == name


def open_outside(file: Path | None, environment: Mapping[str, str] = os.environ) -> Outside:
    """As the file says; without one nothing is allowed. Raises BadOutside."""
    if file is None:
        return Outside()
    try:
        settings = msgspec.convert(tomllib.loads(file.read_bytes().decode()), Settings)
    except OSError as exc:
        raise BadOutside(f"{file}: cannot be read: {exc.strerror}") from exc
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        raise BadOutside(f"{file}: no TOML: {exc}") from exc
    except msgspec.ValidationError as exc:
        raise BadOutside(f"{file}: {exc}") from None
    return Outside(settings, {name: _read(file, name, one, environment) for name, one in settings.secrets.items()})


def _read(file: Path, name: str, secret: Secret, environment: Mapping[str, str]) -> str:
    where = f"{file}: secrets.{name}"
    if (secret.env is None) == (secret.file is None):
        raise BadOutside(f"{where}: expected one of env and file")
    if secret.env is not None:
        found = environment.get(secret.env, "").strip()
    else:
        assert secret.file is not None
        try:
            found = (file.parent / secret.file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as exc:
            raise BadOutside(f"{where}.file: cannot be read: {type(exc).__name__}") from None
    if not found or not found.isascii() or not found.isprintable() or " " in found:
        raise BadOutside(f"{where}: got what cannot be sent in a header, expected the secret alone")
    return found
