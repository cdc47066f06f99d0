"""The group of all commands. A command's module is loaded when it is used: most need neither the server nor `lbb`."""

import importlib

import click

from turnbuckle import __version__

_MODULES = {  # command: its module
    "backup": "backup",
    "cancel": "control",
    "create": "create",
    "dev": "serve",
    "doctor": "doctor",
    "effects": "effects",
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
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        module = importlib.import_module(f"turnbuckle.cli.{_MODULES[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command


_EPILOG = (
    "`turnbuckle dev` is a server to begin with. Commands that talk to a server find it by LBB_URL "
    "(http://127.0.0.1:7400 unless set) and send the key in LBB_API_KEY."
)


@click.group(cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="turnbuckle")
def cli() -> None:
    """Turnbuckle: a durable turn engine for Python."""
