"""What a browser gets without a key: the debugger page and its files."""

import re
from pathlib import Path

import pytest

from turnbuckle.http import console
from turnbuckle.http.console import Console
from turnbuckle.wire.errors import Refused

PAGE = "/acme/support-bot/debugger/4b1d/9f2e"
FOLDER = Path(console.__file__).parents[1] / "console"


@pytest.fixture(scope="module")
def pages() -> Console:
    return Console()


def header(answer: console.Answer, name: bytes) -> bytes:
    return dict(answer.headers)[name]


def linked(pages: Console) -> list[str]:
    """The files that the page names, as a browser on it resolves them."""
    html = pages.answer("GET", PAGE).content.decode()
    return [f"/{link}" for link in re.findall(r'"\.\./\.\./\.\./\.\./(\S+?)"', html)]


def test_the_page_loads_only_files_that_are_served_with_their_types(pages: Console) -> None:
    kinds = {path.rpartition("/")[2]: pages.answer("GET", path).kind for path in linked(pages)}

    assert kinds == {
        "icon.svg": b"image/svg+xml",
        "style.css": b"text/css; charset=utf-8",
        "page.js": b"text/javascript; charset=utf-8",
    }


def test_every_module_that_a_module_imports_is_served(pages: Console) -> None:
    for module in FOLDER.glob("*.js"):
        for imported in re.findall(r'from "\./(\S+?)"', module.read_text("utf-8")):
            path = f"/console/{pages.version}/{imported}"

            assert pages.answer("GET", path).content == (FOLDER / imported).read_bytes()


def test_nothing_of_the_page_comes_from_elsewhere_or_stands_in_it_as_script() -> None:
    """The policy would block it in a browser, and the page would be broken there only."""
    html = (FOLDER / "debugger.html").read_text("utf-8")

    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", html) == []
    for file in FOLDER.iterdir():
        outside = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"']*", _code(file))
        assert [address for address in outside if "www.w3.org" not in address] == [], file.name


def _code(file: Path) -> str:
    text = file.read_text("utf-8")
    return re.sub(r"^\s*//.*$|(?<=\s)// .*$", "", text, flags=re.MULTILINE) if file.suffix == ".js" else text


def test_no_module_reads_text_as_html_or_as_code() -> None:
    for module in FOLDER.glob("*.js"):
        found = re.findall(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc", _code(module)
        )

        assert found == [], module.name


def test_every_answer_forbids_scripts_from_elsewhere_and_frames(pages: Console) -> None:
    for path in (PAGE, *linked(pages)):
        answer = pages.answer("GET", path)

        assert header(answer, b"content-security-policy").startswith(b"default-src 'self'; ")
        assert b"frame-ancestors 'none'" in header(answer, b"content-security-policy")
        assert header(answer, b"x-content-type-options") == b"nosniff"


def test_the_page_is_asked_for_again_and_its_files_never(pages: Console) -> None:
    assert header(pages.answer("GET", PAGE), b"cache-control") == b"no-cache"
    for path in linked(pages):
        assert b"immutable" in header(pages.answer("GET", path), b"cache-control")
        assert path.split("/")[2] == pages.version


def test_the_path_of_the_files_changes_with_any_of_them() -> None:
    found = {"a.js": b"1", "b.css": b"2"}

    versions = {console._hash(files) for files in (found, {**found, "a.js": b"3"}, {"a.js": b"1", "c.css": b"2"})}

    assert len(versions) == 3
    assert console._hash(dict(reversed(found.items()))) in versions


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        (PAGE, True),
        ("/a%2Fb/c/debugger/d/e", True),
        ("/console/0/page.js", True),
        (f"{PAGE}/more", False),
        ("/acme/support-bot/debugger/4b1d/", False),
        ("/acme/support-bot/runs/4b1d/9f2e", False),
        ("/v1/blobs/debugger/4b1d/9f2e", False),
        ("/v1/acme/debugger/4b1d/9f2e", False),
        ("/", False),
        ("/docs", False),
    ],
)
def test_only_the_pages_own_paths_are_taken(path: str, taken: bool) -> None:
    assert console.takes(path) is taken


@pytest.mark.parametrize("name", ["debugger.html", "nothing.js", "../app.py", ""])
def test_a_file_that_is_no_part_of_the_page_is_not_found(pages: Console, name: str) -> None:
    with pytest.raises(Refused) as refused:
        pages.answer("GET", f"/console/{pages.version}/{name}")

    assert refused.value.code == "not_found"


def test_a_file_of_another_version_is_not_found(pages: Console) -> None:
    """Its modules would not fit the page's."""
    with pytest.raises(Refused):
        pages.answer("GET", "/console/000000000000/page.js")


def test_nothing_is_written_to_a_page(pages: Console) -> None:
    with pytest.raises(Refused) as refused:
        pages.answer("POST", PAGE)

    assert refused.value.code == "method_not_allowed"
