"""Documents in JSON or YAML by the end of the file's name (blobhub 6.3), read and written whole."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import yaml

from turnbuckle.hub_deploy.problem import DeployProblem

_JSON, _YAML = (".json",), (".yaml", ".yml")


class _Loader(yaml.SafeLoader):
    """Times stay texts: JSON has no other form for them."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as they are: a code block stays readable."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def check_format(path: Path) -> None:
    """DeployProblem FORMAT_UNSUPPORTED for another suffix."""
    if path.suffix not in _JSON + _YAML:
        raise DeployProblem("FORMAT_UNSUPPORTED", f"{path}: got the suffix {path.suffix!r}")


def read(path: Path) -> Any:
    """DeployProblem FORMAT_UNSUPPORTED | SOURCE_NOT_FOUND | FORMAT_PARSE_ERROR."""
    check_format(path)
    return parse(read_text(path), path)


def read_text(path: Path) -> str:
    """Lines end in a line feed, whatever they ended in. DeployProblem SOURCE_NOT_FOUND | FORMAT_PARSE_ERROR."""
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError as exc:
        raise DeployProblem("SOURCE_NOT_FOUND", f"there is no file {path}") from exc
    except (OSError, UnicodeDecodeError) as exc:
        raise DeployProblem("FORMAT_PARSE_ERROR", f"{path} cannot be read: {exc}") from exc


def parse(text: str, path: Path) -> Any:
    """The content of a file of that name. DeployProblem FORMAT_PARSE_ERROR."""
    try:
        if path.suffix in _JSON:
            return json.loads(text, parse_constant=_no_json)
        content = yaml.load(text, _Loader)
        json.dumps(content, allow_nan=False)  # what it holds has to go over the wire
        return content
    except (ValueError, TypeError, RecursionError, yaml.YAMLError) as exc:
        raise DeployProblem("FORMAT_PARSE_ERROR", f"{path}: {exc}") from exc


def _no_json(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def write(path: Path, content: Any) -> None:
    """Replaces the file in one step: a reader sees the old or the new one."""
    check_format(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, dump(content, path))


def write_text(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def dump(content: Any, path: Path) -> str:
    if path.suffix in _JSON:
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
