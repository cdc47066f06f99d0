"""Where a new project gets the SDK from, as a dependency that pip can follow.

Turnbuckle may not be on a package index, so the dependency names the place it was installed from (decision 32).
"""

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from turnbuckle import __version__
from turnbuckle.cli.failure import Failure

_NAME = "turnbuckle"


def sdk_at(path: Path) -> str:
    """The dependency on a checkout or a wheel. Failure when it is neither."""
    place = path.resolve()
    is_checkout = (place / "pyproject.toml").is_file() and (place / "src" / "lbb").is_dir()
    is_wheel = place.is_file() and place.name.startswith(f"{_NAME}-") and place.suffix == ".whl"
    if not is_checkout and not is_wheel:
        raise Failure(f"{path} is neither a checkout of turnbuckle nor a wheel turnbuckle-....whl")
    return f"{_NAME} @ {place.as_uri()}"


def installed_sdk() -> str:
    """The dependency on what is installed here: its checkout, wheel or repository, else its version on an index.

    Failure when the place it was installed from is gone.
    """
    origin = _origin()
    if origin is None:
        return f"{_NAME}>={__version__}"
    url: str = origin["url"]
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return f"{_NAME} @ {vcs['vcs']}+{url}@{vcs['commit_id']}"
    if url.startswith("file:") and not Path(unquote(urlsplit(url).path)).exists():
        raise Failure(
            f"turnbuckle was installed from {url}, which is gone; say with --sdk where a checkout or wheel is"
        )
    return f"{_NAME} @ {url}"


def _origin() -> dict[str, Any] | None:
    """What pip noted about the place (PEP 610); None for a package from an index, or one that is not installed."""
    try:
        noted = distribution(_NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    return None if noted is None else json.loads(noted)
