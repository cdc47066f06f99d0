"""The `turnbuckle` command: one module per group of commands."""

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution


def main() -> None:
    """Entry point; a missing extra is told in one line."""
    try:
        from turnbuckle.cli.main import cli
    except ModuleNotFoundError as exc:
        command = f"{sys.executable} -m pip install '{_with_server()}'"
        sys.exit(f"turnbuckle: {exc.name} is not installed, which the extra `server` brings; run: {command}")
    cli()


def _with_server() -> str:
    """This distribution and its extra, as pip finds them: by the place it came from, which is on no index."""
    try:
        noted = distribution("turnbuckle").read_text("direct_url.json")
    except PackageNotFoundError:
        noted = None
    if noted is None:
        return "turnbuckle[server]"
    origin = json.loads(noted)
    scheme = f"{origin['vcs_info']['vcs']}+" if "vcs_info" in origin else ""
    return f"turnbuckle[server] @ {scheme}{origin['url']}"
