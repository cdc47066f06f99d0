"""Command lines in the pages are ones the program takes."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.unit.test_docs import PAGES, ROOT, read
from turnbuckle.cli.main import cli


def command_lines(page: Path) -> Iterator[str]:
    """What follows `turnbuckle` in the page's shell blocks."""
    for block in re.findall(r"^```sh\n(.*?)^```$", read(page), flags=re.MULTILINE | re.DOTALL):
        yield from re.findall(r"^(?:\S*/)?turnbuckle (.*)$", block, flags=re.MULTILINE)


def find_command(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command the words name, and the words that are left."""
    command: click.Command = cli
    while isinstance(command, click.Group):
        if command.invoke_without_command and (not words or words[0].startswith("-")):
            break
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, f"there is no command {words[0]}"
        command, words = found, words[1:]
    return command, words


LINES = [(page.relative_to(ROOT), line) for page in PAGES for line in command_lines(page)]


@pytest.mark.parametrize(("page", "line"), LINES, ids=str)
def test_command_lines_in_pages_are_accepted(page: Path, line: str) -> None:
    command, words = find_command(shlex.split(line))

    command.make_context(line, words)  # UsageError for what the command does not take


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_named_in_pages_exist(page: Path) -> None:
    named = set(re.findall(r"`turnbuckle ([a-z]+)", read(page)))

    assert named <= set(cli.list_commands(click.Context(cli)))
