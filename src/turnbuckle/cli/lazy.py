"""A group whose commands are loaded when they are used: most need neither the server nor an SDK."""

import importlib
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """`modules` maps each command to its module in this package; the command has its own name there."""

    def __init__(self, *args: Any, modules: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._modules:
            return None
        module = importlib.import_module(f"turnbuckle.cli.{self._modules[cmd_name]}")
        command: click.Command = getattr(module, cmd_name)
        return command
