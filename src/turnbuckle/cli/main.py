"""The group of all commands."""

import click

from turnbuckle import __version__
from turnbuckle.cli.lazy import LazyGroup

_MODULES = {  # command: its module
    "backup": "backup",
    "cancel": "control",
    "create": "create",
    "dev": "serve",
    "doctor": "doctor",
    "effects": "effects",
    "hub": "hub",
    "instances": "instances",
    "keys": "keys",
    "pause": "control",
    "preview": "preview",
    "resume": "control",
    "retry": "control",
    "reviews": "reviews",
    "runs": "runs",
    "send": "messages",
    "serve": "serve",
    "signal": "messages",
    "skip": "control",
    "start": "messages",
    "turns": "turns",
    "wake": "control",
    "watch": "watch",
    "worker": "worker",
}


_EPILOG = (
    "`turnbuckle dev` is a server to begin with. Commands that talk to a server find it by LBB_URL "
    "(http://127.0.0.1:7400 unless set) and send the key in LBB_API_KEY."
)


@click.group(cls=LazyGroup, modules=_MODULES, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="turnbuckle")
def cli() -> None:
    """Turnbuckle: a durable turn engine for Python."""
