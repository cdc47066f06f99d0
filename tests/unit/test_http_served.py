"""What a server remembers of claims: who asked for which type last, per graph, and never more than it can hold."""

import asyncio

import pytest

from turnbuckle.http import served
from turnbuckle.http.served import Served
from turnbuckle.http.waiting import WaitingRoom
from turnbuckle.wire.turn import WorkflowClaimPair, WorkflowTurnClaimRequest


def claim(worker: str, *pairs: str) -> WorkflowTurnClaimRequest:
    named = [WorkflowClaimPair(workflow_type=pair.split("@")[0], version=pair.split("@")[1]) for pair in pairs]
    return WorkflowTurnClaimRequest(worker=worker, workflows=named)


def pairs(shown: Served, graph_id: str) -> list[tuple[str, str, str, int]]:
    found = shown.of_graph(graph_id, now_ms=100).pairs
    return [(pair.workflow_type, pair.version, pair.worker, pair.claimed_at_ms) for pair in found]


async def test_the_last_claim_of_each_pair_is_known() -> None:
    seen = Served(WaitingRoom(asyncio.get_running_loop()), since_ms=1)
    seen.note("g", claim("old", "a@v1", "b@v1"), 10)
    seen.note("g", claim("new", "a@v1"), 20)
    seen.note("other", claim("elsewhere", "c@v1"), 30)

    assert pairs(seen, "g") == [("b", "v1", "old", 10), ("a", "v1", "new", 20)]
    assert seen.of_graph("g", now_ms=100).since_ms == 1


async def test_claims_that_wait_are_counted() -> None:
    """A worker whose long poll lasts is there, however long ago it came."""
    room = WaitingRoom(asyncio.get_running_loop())
    seen = Served(room, since_ms=1)
    seen.note("g", claim("w", "a@v1"), 10)

    waiter = room.enter([("ready", "g", "a", "v1")])
    assert [pair.waiting for pair in seen.of_graph("g", now_ms=100).pairs] == [1]

    room.leave(waiter, used_call=False)
    assert [pair.waiting for pair in seen.of_graph("g", now_ms=100).pairs] == [0]


async def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever claims ever new types cannot fill the server: the pair claimed longest ago goes."""
    monkeypatch.setattr(served, "_PAIRS_MAX", 2)
    seen = Served(WaitingRoom(asyncio.get_running_loop()), since_ms=1)
    for at_ms, pair in enumerate(("a@v1", "b@v1", "a@v1", "c@v1")):
        seen.note("g", claim("w", pair), at_ms)

    assert [pair[0] for pair in pairs(seen, "g")] == ["a", "c"]
