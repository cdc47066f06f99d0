"""Component types of packages: registered with what runs them, once (decision 51)."""

import importlib.metadata
from collections.abc import Iterator
from typing import Any

import pytest

from turnbuckle.flow import registry
from turnbuckle.flow.context import ComponentContext
from turnbuckle.flow.failures import RunFailed
from turnbuckle.hub.catalogue import CATALOGUE, ENTRY_POINTS, ComponentType
from turnbuckle.hub.position import Outcome

TYPE = ComponentType("acme.greet", (), ("success",), "flow", "Greet", "Greets.")


class Greet:
    type = TYPE

    @staticmethod
    async def run(c: ComponentContext) -> Outcome:
        return Outcome("success")


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    CATALOGUE.pop("acme.greet", None)
    registry.RUNS.pop("acme.greet", None)


def installed(monkeypatch: pytest.MonkeyPatch, *loaded: Any) -> None:
    class Entry:
        def __init__(self, found: Any) -> None:
            self.name, self.value, self._found = "entry", "acme:thing", found

        def load(self) -> Any:
            if isinstance(self._found, Exception):
                raise self._found
            return self._found

    def entry_points(*, group: str) -> list[Entry]:
        assert group == ENTRY_POINTS
        return [Entry(found) for found in loaded]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


def test_every_type_on_the_flow_path_has_something_that_runs_it() -> None:
    on_path = {name for name, known in CATALOGUE.items() if known.kind == "flow"}

    assert set(registry.RUNS) == on_path


def test_a_package_adds_a_type(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, Greet)

    registry.load_entry_points()
    registry.load_entry_points()  # a server and its worker both do

    assert CATALOGUE["acme.greet"] is TYPE
    assert registry.component_run("acme.greet") is Greet.run


def test_a_package_that_cannot_be_loaded_costs_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    installed(monkeypatch, ImportError("no such module"), Greet)

    registry.load_entry_points()

    assert registry.component_run("acme.greet") is Greet.run
    assert "left out" in caplog.text


def test_a_type_that_is_taken_is_refused() -> None:
    with pytest.raises(ValueError, match="registered already"):
        registry.add_component(CATALOGUE["logic.code"], Greet.run)


def test_a_type_without_anything_that_runs_it_fails_the_run() -> None:
    with pytest.raises(RunFailed, match=r"acme\.nothing"):
        registry.component_run("acme.nothing")
