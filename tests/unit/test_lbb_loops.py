"""A client built outside a loop and used from one loop after another (lbb-engine 2.1, decision 24)."""

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading
from typing import Any

import pytest

from lbb import AsyncLbbClient
from tests.unit.local_server import LocalServer, local_server

# Both ways of sending that open connections themselves.
every_pool = pytest.mark.parametrize("settings", [{}, {"event_hooks": {"request": []}}], ids=["aiohttp", "httpx"])


def run_strictly(code: str, server: LocalServer, settings: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """Run in a process of its own that shows every warning, also those of objects that die at the very end."""
    head = f"""
        import asyncio, logging
        logging.getLogger("asyncio").setLevel(logging.ERROR)  # a busy machine makes callbacks slow, which is no leak
        from lbb import AsyncLbbClient
        client = AsyncLbbClient({server.url!r}, max_retries=0, **{settings!r})
        async def ask():
            assert (await client.raw_request("GET", "/v1/x")).data["line"] == "GET /v1/x HTTP/1.1"
    """
    text = textwrap.dedent(head) + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-X", "dev", "-c", text], capture_output=True, text=True, timeout=30)


@every_pool
def test_several_asyncio_runs_leave_no_warning_and_no_connection(settings: dict[str, Any]) -> None:
    with local_server() as server:
        done = run_strictly("for _ in range(3): asyncio.run(ask())", server, settings)

        assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
        assert server.connections == 3
        for _ in range(3):
            assert server.closed.acquire(timeout=5)


@every_pool
def test_a_client_may_be_closed_in_another_loop_than_it_was_used_in(settings: dict[str, Any]) -> None:
    with local_server() as server:
        done = run_strictly("asyncio.run(ask()); asyncio.run(client.aclose())", server, settings)

        assert (done.returncode, done.stderr) == (0, "")


def test_a_loop_closed_by_hand_logs_no_error() -> None:
    """Such a loop tells nobody of its end, so Python may warn of its sockets; the client goes on with the next loop."""
    code = """
        for _ in range(2):
            loop = asyncio.new_event_loop()
            loop.run_until_complete(ask())
            loop.close()
        asyncio.run(client.aclose())
    """
    with local_server() as server:
        done = run_strictly(code, server, {})

        assert done.returncode == 0
        assert "Unclosed" not in done.stderr  # aiohttp's complaint, logged as an error
        assert server.connections == 2


async def test_all_requests_of_a_loop_share_its_session() -> None:
    with local_server() as server:
        async with AsyncLbbClient(server.url) as client:
            await asyncio.gather(*(client.raw_request("GET", "/v1/x") for _ in range(20)))
            sessions: Any = client._sender
            assert len(sessions._sessions._held) == 1


@every_pool
def test_two_loops_in_two_threads_use_one_client_at_the_same_time(settings: dict[str, Any]) -> None:
    both = threading.Barrier(2)

    with local_server() as server:
        client = AsyncLbbClient(server.url, **settings)

        async def ask() -> int:
            await client.raw_request("GET", "/v1/x")
            await asyncio.to_thread(both.wait, 10)
            return (await client.raw_request("POST", "/v1/x", body={})).status_code

        got: list[int] = []
        threads = [threading.Thread(target=lambda: got.append(asyncio.run(ask()))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert (got, server.connections) == ([200, 200], 2)


@every_pool
def test_closing_reaches_the_loop_of_another_thread(settings: dict[str, Any]) -> None:
    used, may_end = threading.Event(), threading.Event()

    with local_server() as server:
        client = AsyncLbbClient(server.url, **settings)

        async def use_and_stay() -> None:
            await client.raw_request("GET", "/v1/x")
            used.set()
            await asyncio.to_thread(may_end.wait)

        other = threading.Thread(target=lambda: asyncio.run(use_and_stay()))
        other.start()
        used.wait()
        asyncio.run(client.aclose())

        assert server.closed.acquire(timeout=5)  # while the other loop still runs
        may_end.set()
        other.join()


async def test_a_client_nobody_holds_any_more_closes_its_connections() -> None:
    with local_server() as server:
        client = AsyncLbbClient(server.url)
        await client.raw_request("GET", "/v1/x")

        del client
        gc.collect()

        assert await asyncio.to_thread(server.closed.acquire, timeout=5)
