"""The profile file `~/.blobhub/credentials.yaml` (blobhub 4.2): read, checked, never written.

It holds keys, so its content stays out of every error: parser errors quote it and are not chained.
"""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from blobhub.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Profile:
    key: str = field(repr=False)
    url: str


@dataclass(frozen=True, slots=True)
class ProfileFile:
    profiles: dict[str, Profile]
    default: str | None = None


def default_path() -> Path:
    return Path.home() / ".blobhub" / "credentials.yaml"


def read_profiles(path: Path) -> ProfileFile:
    """The file's profiles; none when there is no file.

    ConfigError `insecure_credentials_file`, `unreadable_credentials_file` or `invalid_credentials_file`.
    """
    content = _read(path)
    if content is None:
        return ProfileFile({})
    document = _parse(content, path)
    if not isinstance(document, dict) or not isinstance(document.get("profiles"), dict):
        raise _invalid(path, "it has no mapping `profiles`")
    return ProfileFile(_profiles(document["profiles"], path), _default(document, path))


def _read(path: Path) -> bytes | None:
    reason = ""
    try:
        with path.open("rb") as file:
            _check_mode(os.fstat(file.fileno()).st_mode, path)
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = type(error).__name__
    raise ConfigError("unreadable_credentials_file", f"{path} cannot be read ({reason})")


def _check_mode(mode: int, path: Path) -> None:
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        text = f"{path} holds keys and others may use it; run: chmod 600 {path}"
        raise ConfigError("insecure_credentials_file", text)


def _parse(content: bytes, path: Path) -> Any:
    try:
        return yaml.safe_load(content.decode("utf-8"))
    except UnicodeDecodeError:
        problem = "it is not UTF-8"
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: a date that no calendar has
        problem = "it is not YAML"
    raise _invalid(path, problem)


def _profiles(given: dict[Any, Any], path: Path) -> dict[str, Profile]:
    profiles = {}
    for name, profile in given.items():
        if not (isinstance(name, str) and name and isinstance(profile, dict)):
            raise _invalid(path, "a profile is not a name with a mapping")
        key, url = profile.get("key"), profile.get("url")
        if not (isinstance(key, str) and key and isinstance(url, str) and url):
            raise _invalid(path, "a profile needs `key` and `url`, both non-empty text")
        profiles[name] = Profile(key, url)
    return profiles


def _default(document: dict[Any, Any], path: Path) -> str | None:
    default = document.get("default")
    if default is not None and not isinstance(default, str):
        raise _invalid(path, "`default` is not text")
    return default or None


def _invalid(path: Path, problem: str) -> ConfigError:
    return ConfigError("invalid_credentials_file", f"{path} is no profile file: {problem}")
