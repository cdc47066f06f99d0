"""docs/reference/cli.md, from the commands as click knows them."""

from collections.abc import Iterator

import click

from reference_pages.markdown import generated_from, table
from turnbuckle.cli.main import cli


def commands_page() -> str:
    """A heading per command with its own help, arguments and options."""
    return (
        generated_from("turnbuckle.cli")
        + "# Command line\n\n"
        + "Commands that talk to a server find it by [settings](settings.md).\n"
        + "".join(_command(name, command) for name, command in _commands("turnbuckle", cli))
    )


def _commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield name, command
        return
    if command.invoke_without_command:
        yield name, command
    context = click.Context(command)
    for child in command.list_commands(context):
        found = command.get_command(context, child)
        assert found is not None, f"{name} lists {child} and does not have it"
        yield from _commands(f"{name} {child}", found)


def _command(name: str, command: click.Command) -> str:
    arguments = " ".join(
        p.make_metavar(click.Context(command)) for p in command.params if isinstance(p, click.Argument)
    )
    rows = [_option(option) for option in command.params if isinstance(option, click.Option)]
    return (
        f"\n## {name}\n\n"
        + (f"`{name} {arguments}`\n\n" if arguments else "")
        + " ".join((command.help or "").split())
        + "\n"
        + ("\n" + table(("option", "default", ""), rows) if rows else "")
    )


def _option(option: click.Option) -> tuple[str, str, str]:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    from_environment = f"Also `{option.envvar}`." if option.envvar else ""
    return names, _default(option), " ".join(part for part in (option.help or "", from_environment) if part)


def _default(option: click.Option) -> str:
    if option.required:
        return "required"
    if not option.show_default or option.default is None:
        return ""
    if isinstance(option.default, bool):
        return f"`{(option.opts if option.default else option.secondary_opts)[0]}`"
    return f"`{option.default}`"
