"""What `turnbuckle preview` takes as a factory, and why it refuses the rest."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from turnbuckle.cli.factory import find_factory
from turnbuckle.cli.failure import Failure

MODULE = """
from lbb.workflows import triggered_workflow, workflow

def keyword(lbb, settings=None, version="v1"):
    @triggered_workflow(name="notes", version=version)
    async def notes(ctx, message, state):
        return None
    return notes

def positional(lbb, v):
    return keyword(lbb, version=v)

def stubborn(lbb, version):
    return keyword(lbb, version="v1")

def plain(lbb, version):
    @workflow(name="notes", version=version, initial_state={})
    async def notes(ctx, state, message):
        return None
    return notes

def without_version(lbb):
    return keyword(lbb)

bound = keyword(None)
number = 7
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module `made_of_factories` in the folder of the command."""
    (tmp_path / "made_of_factories.py").write_text(MODULE, "utf-8")
    (tmp_path / "needs_more.py").write_text("import not_installed_at_all\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("made_of_factories", None)


NOTHING: Any = None  # activities that no test here calls


@pytest.mark.parametrize("name", ["keyword", "positional"])
def test_a_factory_is_given_the_version(name: str) -> None:
    make = find_factory(f"made_of_factories:{name}")

    made = make(NOTHING, "preview-1")

    assert (made.name, made.version) == ("notes", "preview-1")


def test_a_bare_definition_is_refused_with_the_reason() -> None:
    with pytest.raises(Failure, match=r"bound to its activities already.*bound\(lbb, version\)"):
        find_factory("made_of_factories:bound")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("made_of_factories", "write MODULE:FACTORY"),
        ("made_of_factories:", "write MODULE:FACTORY"),
        ("nowhere:factory", "no module nowhere"),
        ("made_of_factories:nothing", "has no nothing"),
        ("made_of_factories:number", "is a int, no function"),
        ("made_of_factories:without_version", "takes no version"),
    ],
)
def test_what_is_no_factory_is_refused(name: str, why: str) -> None:
    with pytest.raises(Failure, match=why):
        find_factory(name)


def test_a_factory_that_ignores_the_version_is_refused_before_a_turn_could_be_claimed_by_others() -> None:
    with pytest.raises(Failure, match="a live worker could claim"):
        find_factory("made_of_factories:stubborn")(NOTHING, "preview-1")


def test_a_factory_of_another_kind_of_workflow_is_refused() -> None:
    with pytest.raises(Failure, match="returned a WorkflowDefinition"):
        find_factory("made_of_factories:plain")(NOTHING, "preview-1")


def test_a_module_whose_own_import_fails_says_so_itself() -> None:
    with pytest.raises(ModuleNotFoundError, match="not_installed_at_all"):
        find_factory("needs_more:factory")
