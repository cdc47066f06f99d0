"""The `turnbuckle` command: one module per group of commands."""

import sys


def main() -> None:
    """Entry point; a missing extra is told in one line."""
    try:
        from turnbuckle.cli.main import cli
    except ModuleNotFoundError as exc:
        sys.exit(f"turnbuckle: {exc.name} is not installed; run: pip install 'turnbuckle[server]'")
    cli()
