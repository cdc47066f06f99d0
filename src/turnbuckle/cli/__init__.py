"""The `turnbuckle` command: one module per group of commands."""

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution


def main() -> None:
    """Entry point; a package of the extra that is missing is told in one line. Commands import what they need."""
    try:
        from turnbuckle.cli.main import cli

        cli()
    except ModuleNotFoundError as exc:
        if not _is_of_server(exc.name or ""):
            raise
        command = f"{sys.executable} -m pip install '{_with_server()}'"
        sys.exit(f"turnbuckle: {exc.name} is not installed, which the extra `server` brings; run: {command}")


def _is_of_server(module: str) -> bool:
    """Whether the extra brings the module; its packages have the names of their modules."""
    try:
        lines = distribution("turnbuckle").requires or []
    except PackageNotFoundError:
        return True
    names = (re.split(r"[^\w-]", line)[0].replace("-", "_") for line in lines if "extra == 'server'" in line)
    return module.partition(".")[0] in names


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
