"""The pages say what the code says: headings, links, statuses, and Python that is Python."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from tests.unit.test_imports import ARROWS
from turnbuckle.http.endpoints import ENDPOINTS
from turnbuckle.wire.errors import ERRORS
from turnbuckle.wire.instance import InstanceStatus
from turnbuckle.wire.turn import TurnStatus

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def read(page: Path) -> str:
    return page.read_text("utf-8")


def prose(page: Path) -> str:
    """The page without its code blocks."""
    return re.sub(r"^```.*?^```$", "", read(page), flags=re.MULTILINE | re.DOTALL)


def headings(page: Path) -> list[str]:
    return re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)


def anchors(page: Path) -> set[str]:
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings(page)}


def links(page: Path) -> list[str]:
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)) if not link.startswith(("http:", "https:"))]


def python_blocks(page: Path) -> Iterator[tuple[int, str]]:
    """(line, code) of each block; the line lets a failure point into the page."""
    text = read(page)
    for block in re.finditer(r"^```python.*?\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, block.start(1)), block[1]


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


def test_every_page_is_in_the_list_of_pages() -> None:
    listed = {(DOCS / link).resolve() for link in links(DOCS / "README.md")}

    assert set(DOCS.rglob("*.md")) - listed == {DOCS / "README.md"}


@every_page
def test_python_in_pages_compiles(page: Path) -> None:
    for line, code in python_blocks(page):
        compile("\n" * line + code, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@every_page
def test_one_sentence_per_line(page: Path) -> None:
    """So that a change to a sentence is a change to a line."""
    if read(page).startswith("<!-- Made by"):
        return  # its sentences are those of the code
    lines = [line for line in prose(page).splitlines() if not line.startswith(("|", "#"))]

    assert [line for line in lines if re.search(r"[a-z)`]\. [A-Z`]", line)] == []


def test_each_error_has_its_heading() -> None:
    assert set(ERRORS) <= set(headings(DOCS / "reference/errors.md"))


def test_each_endpoint_has_its_heading() -> None:
    assert {f"{e.method} {e.path}" for e in ENDPOINTS} <= set(headings(DOCS / "reference/endpoints.md"))


def test_each_environment_variable_has_its_heading() -> None:
    sources = [read(path) for path in (ROOT / "src/turnbuckle").rglob("*.py")]
    used = {name for source in sources for name in re.findall(r"\"((?:LBB|TURNBUCKLE)_[A-Z_]+)\"", source)}

    assert used <= set(headings(DOCS / "reference/settings.md"))


@pytest.mark.parametrize("status", [*get_args(TurnStatus), *get_args(InstanceStatus)])
def test_each_status_has_its_row(status: str) -> None:
    assert f"\n| `{status}` |" in read(DOCS / "explanation/lifecycle.md")


@pytest.mark.parametrize("room", ARROWS)
def test_the_architecture_page_shows_the_arrows(room: str) -> None:
    """The page and tests/unit/test_imports.py name the same imports for each room."""
    row = re.search(
        rf"^\| `{re.escape(room)}` \| [^|]* \| (.*) \|$", read(DOCS / "explanation/architecture.md"), re.MULTILINE
    )

    assert row is not None
    assert set(re.findall(r"`([^`]+)`", row[1])) == ARROWS[room]
