"""docs/howto/add-a-component.md as it is: its component is registered, and runs."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.unit.test_docs import python_blocks
from turnbuckle.flow import registry
from turnbuckle.flow.failures import ComponentFailed
from turnbuckle.hub.catalogue import CATALOGUE

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "add-a-component.md"


@pytest.fixture
def translate() -> Any:
    names: dict[str, Any] = {}
    for line, code in python_blocks(PAGE):
        exec(compile("\n" * line + code, str(PAGE), "exec"), names)
    found = names["Translate"]
    yield found
    CATALOGUE.pop(found.type.type, None)
    registry.RUNS.pop(found.type.type, None)


def context(text: Any, *, is_dry_run: bool = False) -> Any:
    async def step(name: str, function: Any) -> Any:
        return await function(SimpleNamespace(effect_id="p/s"))

    return cast(
        Any,
        SimpleNamespace(
            text_setting=lambda route: "de",
            plain=lambda route: text,
            step=step,
            is_dry_run=is_dry_run,
            captured=lambda what: None,
        ),
    )


def test_the_component_of_the_page_can_be_added(translate: Any) -> None:
    registry.add_component(translate.type, translate.run)

    assert registry.component_run("acme.translate") is translate.run


async def test_it_runs_its_step_and_gives_what_it_says(translate: Any) -> None:
    outcome = await translate.run(context("hello"))

    assert (outcome.route, outcome.outputs["translated"]) == ("success", {"type": "text", "text": "hello (de)"})
    assert (await translate.run(context("hello", is_dry_run=True))).outputs == {}
    with pytest.raises(ComponentFailed):
        await translate.run(context(None))
