"""The index process: what it keeps, what a query may cost, and how it ends. Over plain triples, without a store."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from turnbuckle.sparql import frames as f
from turnbuckle.sparql.copies import Copies
from turnbuckle.sparql.folder import own_folder
from turnbuckle.sparql.index import Crashed, Index, Limits, TimeOver, TooBusy, Tries
from turnbuckle.sparql.process import ProcessEnded

# Sorted, so that it is evaluated before its first row: nothing but the end of the process stops it.
NEVER_ENDS = "SELECT ?a { ?a ?p ?b . ?c ?p ?d . ?e ?p ?f . ?g ?p ?h } ORDER BY ?h"
COUNT = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
ROWS = 2_000


def triple(n: int) -> str:
    return f"<urn:s{n}> <urn:p> <urn:o{n}>"


def question(text: str, point: str = "1.a", copy: int = f.HEAD, **more: Any) -> f.Query:
    fields = {"union": False, "named": False, "offset": 0, "limit": 100, "rows": 10**6, "size_bytes": 10**6} | more
    return f.Query("g", copy, point, text, **fields)


async def filled(index: Index) -> None:
    """Graph g at the point 1.a."""
    quads = "".join(f"{triple(n)} .\n" for n in range(ROWS)).encode()
    for request in (f.Open("g"), f.Rebuild("g"), f.Load("g", quads), f.Finish("g", "1.a")):
        assert isinstance(await index.call(request), f.Done)


async def ask(index: Index, text: str = COUNT, point: str = "1.a", **more: Any) -> f.Answer:
    """As the server does it: opened again and asked again when the process ended."""
    tries = Tries()
    while True:
        with contextlib.suppress(ProcessEnded):
            await index.call(f.Open("g"))
            return await index.query(question(text, point, **more), tries)


def count_of(answer: f.Answer) -> int:
    assert isinstance(answer, f.Rows), answer
    return int(answer.results.split(b'"value":"')[1].split(b'"')[0])


@contextlib.asynccontextmanager
async def opened(folder: Path, **limits: Any) -> AsyncIterator[Index]:
    index = Index(folder, Limits(**limits))
    with contextlib.closing(index):
        yield index


async def test_a_killed_process_goes_on_from_what_it_had(tmp_path: Path) -> None:
    async with opened(tmp_path) as index:
        await filled(index)
        changes = f.Changes(removed=[triple(0)], added=[triple(ROWS), triple(ROWS + 1)])
        await index.call(f.Apply("g", f.HEAD, "1.a", "2.b", changes))
        os.kill((await index.process()).pid, signal.SIGKILL)

        answer = await ask(index, point="2.b")

        assert count_of(answer) == ROWS + 1
        assert index.generation == 2


async def test_a_change_from_another_point_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as index:
        await filled(index)

        answer = await index.call(f.Apply("g", f.HEAD, "0.x", "2.b", f.Changes(removed=[triple(0)])))

        assert answer == f.Moved("1.a")
        assert count_of(await ask(index)) == ROWS


async def test_blank_nodes_of_a_load_are_those_of_later_changes(tmp_path: Path) -> None:
    """In whatever piece they came, and beside triples without them."""
    node = "_:b1 <urn:p> <urn:o>"
    async with opened(tmp_path) as index:
        for request in (
            f.Open("g"),
            f.Rebuild("g"),
            f.Load("g", f"{node} .\n{triple(1)} .\n".encode()),
            f.Load("g", b'_:b1 <urn:q> "_:b1" .\n<urn:s> <urn:q> "_:b1" .\n'),
            f.Finish("g", "1.a"),
        ):
            assert isinstance(await index.call(request), f.Done)
        assert count_of(await ask(index, "SELECT (COUNT(*) AS ?n) { ?s <urn:p> ?o ; <urn:q> ?t }")) == 1
        assert count_of(await ask(index)) == 4

        await index.call(f.Apply("g", f.HEAD, "1.a", "2.b", f.Changes(added_quads=[node])))
        assert count_of(await ask(index, point="2.b")) == 4  # it is there
        await index.call(f.Apply("g", f.HEAD, "2.b", "3.c", f.Changes(removed_quads=[node])))
        assert count_of(await ask(index, point="3.c")) == 3


async def test_what_was_not_finished_is_not_opened(tmp_path: Path) -> None:
    async with opened(tmp_path) as index:
        await index.call(f.Rebuild("g"))
        await index.call(f.Load("g", b"<urn:a> <urn:b> <urn:c> .\n"))
        (await index.process()).kill()

        assert await index.call(f.Open("g")) == f.Done("")


async def test_damaged_files_are_thrown_away(tmp_path: Path) -> None:
    async with opened(tmp_path) as index:
        await filled(index)
        (await index.process()).kill()
        (folder,) = (tmp_path / "g").iterdir()
        for manifest in folder.glob("MANIFEST-*"):
            manifest.write_bytes(b"no manifest")

        assert await index.call(f.Open("g")) == f.Done("")
        assert list((tmp_path / "g").iterdir()) == []


async def test_a_query_over_its_time_costs_the_others_a_moment(tmp_path: Path) -> None:
    async with opened(tmp_path, query_s=4.0) as index:
        await filled(index)
        endless = [asyncio.create_task(ask(index, NEVER_ENDS)) for _ in range(2)]
        took_s = []
        loop = asyncio.get_running_loop()
        while not all(task.done() for task in endless):  # two kills, one after the other at most
            began_at = loop.time()
            assert count_of(await ask(index)) == ROWS
            took_s.append(loop.time() - began_at)
            await asyncio.sleep(0.01)

        assert [type(task.exception()) for task in endless] == [TimeOver] * 2
        assert max(took_s) < 3.0  # a quarter of a second on a machine that does nothing else
        assert count_of(await ask(index)) == ROWS


async def test_many_slow_queries_do_not_keep_a_quick_one_waiting(tmp_path: Path) -> None:
    """Slow ones give up their place; there is room for some of them."""
    async with opened(tmp_path, query_s=4.0) as index:
        await filled(index)
        slow = [asyncio.create_task(ask(index, NEVER_ENDS)) for _ in range(4)]
        await asyncio.sleep(0)

        async with asyncio.timeout(3.0):
            assert count_of(await ask(index)) == ROWS

        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)


async def test_a_query_that_finds_no_place_is_told_so(tmp_path: Path) -> None:
    async with opened(tmp_path, query_s=30.0, wait_s=0.2) as index:
        await filled(index)
        slow = [asyncio.create_task(ask(index, NEVER_ENDS)) for _ in range(4)]
        await asyncio.sleep(0.1)

        with pytest.raises(TooBusy):
            await index.query(question(COUNT), Tries())

        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)


async def test_what_nobody_waits_for_ends(tmp_path: Path) -> None:
    async with opened(tmp_path, query_s=60.0) as index:
        await filled(index)
        process = await index.process()
        task = asyncio.create_task(ask(index, NEVER_ENDS))
        await asyncio.sleep(0.1)

        task.cancel()

        async with asyncio.timeout(5.0):
            while not process.has_ended:  # noqa: ASYNC110  # the event is the other process's
                await asyncio.sleep(0.02)


async def test_a_query_that_breaks_the_process_is_found_among_others(tmp_path: Path) -> None:
    """A million brackets are more than the parser's stack holds."""
    async with opened(tmp_path) as index:
        await filled(index)
        deep = "SELECT * { FILTER(" + "(" * 200_000 + "1" + ")" * 200_000 + ") }"

        answers = await asyncio.gather(ask(index, deep), *(ask(index) for _ in range(3)), return_exceptions=True)

        assert isinstance(answers[0], Crashed)
        assert [count_of(answer) for answer in answers[1:]] == [ROWS] * 3  # type: ignore[arg-type]


async def test_a_query_that_needs_too_much_memory_is_found(tmp_path: Path) -> None:
    async with opened(tmp_path, memory_bytes=700 << 20, query_s=60.0) as index:
        await filled(index)
        hungry = "SELECT ?a { ?a ?p ?b . ?c ?p ?d . ?e ?p ?f FILTER(?a != ?c) } ORDER BY ?f"

        with pytest.raises(Crashed) as crashed:
            await ask(index, hungry)

        assert crashed.value.is_guilty
        assert count_of(await ask(index)) == ROWS


async def test_a_copy_is_moved_and_read_by_many(tmp_path: Path) -> None:
    """At most four are there, whatever is asked."""
    async with opened(tmp_path) as index:
        await filled(index)
        moved: list[tuple[int, str, str]] = []

        async def move(graph: str, copy: int, here: str, there: str) -> None:
            moved.append((copy, here, there))
            await index.call(f.Apply(graph, copy, here, there, f.Changes(added=[f'<urn:x> <urn:x> "{there}"'])))

        copies = Copies(index, move)

        async def read_at(n: int) -> f.Answer:
            async with copies.at("g", f"{n}.p", "1.a") as copy:
                return await index.query(question(COUNT, f"{n}.p", copy), Tries())

        answers = await asyncio.gather(*(read_at(n % 6) for n in range(30)))

        assert all(isinstance(answer, f.Rows) for answer in answers)
        assert len({copy for copy, _, _ in moved}) <= 4
        assert len(list((tmp_path / "copies").iterdir())) <= 4


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the filter is Linux's")
async def test_the_system_itself_keeps_the_process_from_the_network(tmp_path: Path) -> None:
    """Even a call that got past the look at the text."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listening:
        listening.settimeout(0.2)
        port = listening.getsockname()[1]
        async with opened(tmp_path) as index:
            await filled(index)

            answer = await ask(index, f"SELECT * {{ SERVICE <http://127.0.0.1:{port}/> {{ ?s ?p ?o }} }}")

            assert isinstance(answer, f.Failed)
            with pytest.raises(TimeoutError):
                listening.accept()


async def test_the_process_ends_with_its_server(tmp_path: Path) -> None:
    """The server is killed while a query runs that would never end."""
    program = f"""
import asyncio, sys
from pathlib import Path
from tests.unit.test_sparql_index import *
async def main():
    index = Index(Path({str(tmp_path)!r}), Limits(query_s=60.0))
    await filled(index)
    task = asyncio.create_task(ask(index, NEVER_ENDS))
    await asyncio.sleep(0.2)
    print((await index.process()).pid, flush=True)
    await task
asyncio.run(main())
"""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root) as server:  # noqa: ASYNC220
        assert server.stdout is not None
        pid = int(await asyncio.to_thread(server.stdout.readline))
        server.kill()

    async with asyncio.timeout(5.0):
        while _is_running(pid):  # noqa: ASYNC110  # the event is the other process's
            await asyncio.sleep(0.02)


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_two_servers_have_two_folders(tmp_path: Path) -> None:
    with own_folder(tmp_path) as first, own_folder(tmp_path) as second:
        assert first != second
    with own_folder(tmp_path) as again:
        assert again == first
