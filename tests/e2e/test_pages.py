"""Every Python block of the README and the pages runs, against a server process.

The blocks of a page run in order in one namespace, as a reader would type them; then its `test_...` functions run.
Only the server's address is another. A block marked `python fragment` leaves names open and is only compiled
(tests/unit/test_docs.py).
"""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.test_docs import DOCS, PAGES, ROOT, read

ADDRESS = "http://127.0.0.1:7400"
TUTORIAL = DOCS / "tutorial/first-workflow.md"


def runnable(page: Path) -> list[tuple[int, str]]:
    text = read(page)
    found = re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, block.start(1)), block[1]) for block in found]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server in development mode, with a store of its own."""
    data = tmp_path_factory.mktemp("store")
    command: list[str | Path] = [Path(sys.executable).parent / "turnbuckle", "dev", "--port", "0", "--data", data]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(line.split()[-1] for line in process.stdout if line.startswith("listening on "))
        finally:
            process.terminate()


def run_page(page: Path, address: str) -> dict[str, object]:
    names: dict[str, object] = {"__name__": page.stem}
    for line, code in runnable(page):
        exec(compile("\n" * line + code.replace(ADDRESS, address), str(page), "exec"), names)
    return names


@pytest.mark.parametrize("page", [p for p in PAGES if runnable(p)], ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_of_a_page_runs(page: Path, server: str) -> None:
    names = run_page(page, server)

    for name, value in names.items():
        if name.startswith("test_") and callable(value):
            asyncio.run(value())


def test_the_first_workflow_of_the_readme_prints_its_receipt(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_page(ROOT / "README.md", server)

    assert re.fullmatch(r"36 charged under [0-9a-f]{32}/charge\n", capsys.readouterr().out)


class Shop:
    """The tutorial's `shop.py`, packing ten boxes a second."""

    def __init__(self, folder: Path, address: str) -> None:
        [(_, code)] = runnable(TUTORIAL)
        self.file = folder / "shop.py"
        self.file.write_text(code.replace(ADDRESS, address).replace("asyncio.sleep(1)", "asyncio.sleep(0.1)"))

    def send(self, *arguments: str) -> "subprocess.Popen[str]":
        return self._start("send", *arguments)

    def work(self) -> "subprocess.Popen[str]":
        return self._start("work")

    def _start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen([sys.executable, self.file, *arguments], stdout=subprocess.PIPE, text=True)


def test_the_tutorial_goes_as_it_says(server: str, tmp_path: Path) -> None:
    """Order 1 is packed; order 2 is packed on after its worker was killed, with the price computed once."""
    shop = Shop(tmp_path, server)
    worker = shop.work()
    assert shop.send("order-1", "3").communicate(timeout=20)[0] == "turn 1: 3 boxes, 36 to pay\n"
    assert shop.send("order-1", "3").communicate(timeout=20)[0] == "turn 1: 3 boxes, 36 to pay\n"

    order = shop.send("order-2", "8")
    assert worker.stdout is not None
    seen = []
    while "box 3 of 8 is packed\n" not in seen:
        seen.append(worker.stdout.readline())
    worker.kill()
    worker.communicate()
    second = shop.work()
    ended = order.communicate(timeout=30)[0]
    second.kill()
    later = second.communicate()[0].splitlines()

    assert "computing the price of 8 boxes\n" in seen
    assert ended == "turn 2: 8 boxes, 96 to pay\n"
    assert later[0] in {f"box {box} of 8 is packed" for box in (3, 4)}  # 3 when the kill came before its report
    assert later[-1] == "box 8 of 8 is packed"
