"""Our worker conforms: one test per file of conformance/workflow-worker/scenarios, and the suite's own order."""

import json
import re
from pathlib import Path

import pytest

from tests.conformance.runner import run
from tests.conformance.scenario import load, parse

SUITE = Path(__file__).parents[2] / "conformance" / "workflow-worker"
README = SUITE / "README.md"
FILES = sorted(SUITE.glob("scenarios/*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_scenario(file: Path) -> None:
    verdict = await run(load(file))

    assert verdict.conforms, f"\n{file.name}\n{verdict}"


async def test_the_readme_s_own_scenario_conforms() -> None:
    (example,) = re.findall(r"^```json\n(.*?)^```", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)

    verdict = await run(parse(json.loads(example)))

    assert verdict.conforms, str(verdict)


def test_the_suite_is_there() -> None:
    """An empty folder would pass every scenario."""
    assert len(FILES) >= 75


def test_each_scenario_pins_a_rule_of_its_own() -> None:
    rules = [load(file).rule for file in FILES]

    assert len(set(rules)) == len(rules)


def test_the_readme_lists_every_scenario_once_under_its_theme() -> None:
    rows = re.findall(r"^\| ([a-z-]+) \|.*?\| (.+) \|$", README.read_text("utf-8"), re.MULTILINE)
    listed = [f"{theme}-{name}" for theme, names in rows for name in re.findall(r"`([a-z0-9-]+)`", names)]

    assert sorted(listed) == [file.stem for file in FILES]
