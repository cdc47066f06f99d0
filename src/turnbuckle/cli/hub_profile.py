"""Writes a profile to `~/.blobhub/credentials.yaml`, where a bare `blobhub.connect()` finds it (blobhub 4.2, 6.2).

The file holds keys: mode 0600 in a folder of mode 0700, replaced in one step, and its content in no message.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

from blobhub.profiles import default_path, read_profiles
from turnbuckle.hub_deploy import files


def check_profiles() -> Path:
    """Where the file is or will be. ConfigError when the one there cannot be used: it would be lost."""
    path = default_path()
    read_profiles(path)
    return path


def write_profile(name: str, key: str, url: str) -> Path:
    """Put one profile in, in place of one of that name; the first becomes the default."""
    path = check_profiles()
    content: dict[str, Any] = files.read(path) if path.exists() else {"profiles": {}}
    before = content["profiles"].get(name, {})
    content["profiles"][name] = {**before, "key": key, "url": url}
    if not content.get("default"):
        content = {"default": name, **{part: value for part, value in content.items() if part != "default"}}
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _replace(path, files.dump(content, path))
    return path


def _replace(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # of mode 0600 from its first moment
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
