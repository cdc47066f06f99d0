"""`ctx.sparql`: reads as the held turn (lbb-engine 5.12), as the worker uses them."""

import asyncio
import time
from typing import Any

import pytest

from lbb import WorkflowExecutionError
from lbb.workflows import WorkflowResult
from tests.unit.workflow_server import Engine, ended, failure, make_task, refused, run_turn

READ = "/v1/query/sparql-text"


def credential(**fields: Any) -> dict[str, Any]:
    now_ms = int(time.time() * 1000)
    return {
        "token": "lbb_wke_abc",
        "graph_id": "main",
        "graph_epoch": "7",
        "workflow_id": "a-1",
        "turn": 3,
        "attempt": 1,
        "run_id": "run-1",
        "issued_at_ms": now_ms,
        "expires_at_ms": now_ms + 60_000,
        "operations": ["sparql_read"],
        **fields,
    }


def reading(engine: Engine) -> Engine:
    engine.answer("execution-credential", credential())
    engine.answer(READ, {"rows": [1]})
    return engine


async def read(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
    return WorkflowResult(state=await ctx.sparql({"query": "select"}, timeout=5))


async def test_a_read_is_made_as_the_turn() -> None:
    engine = await run_turn(
        read, make_task(execution_credential=credential()), engine=reading(Engine()), execution_reads=True
    )

    assert engine.body("claim")["include_execution_credential"] is True
    assert engine.body(READ) == {"query": "select"}
    (sent,) = [sent for sent in engine.sent if sent.route == READ]
    assert sent.headers["authorization"] == "Bearer lbb_wke_abc"
    assert ended(engine)["state"] == {"rows": [1]}


async def test_without_execution_reads_the_claim_does_not_ask_for_a_credential() -> None:
    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        return WorkflowResult(state=None)

    assert "include_execution_credential" not in (await run_turn(handler)).body("claim")


@pytest.mark.parametrize("given", [None, credential(turn=9)])
async def test_an_invalid_credential_fails_the_turn_for_good(given: Any) -> None:
    engine = await run_turn(read, make_task(execution_credential=given), engine=reading(Engine()), execution_reads=True)

    assert "WorkflowExecutionError" in failure(engine, is_permanent=True)
    assert engine.routes() == ["claim", "fail"]


async def test_a_lost_lease_closes_the_reader_and_ends_its_reads() -> None:
    engine, seen = reading(Engine()), []
    engine.answer(READ, lambda body: asyncio.Event().wait())
    engine.answer("heartbeat", refused(409))

    async def handler(ctx: Any, state: Any, message: Any) -> WorkflowResult[Any]:
        reader = ctx._parts.reader
        try:
            await ctx.sparql({"query": "select"})
        finally:
            with pytest.raises(WorkflowExecutionError):
                await reader.sparql({"query": "select"})
            seen.append("closed")
        return WorkflowResult(state=None)

    task = make_task(lease_ms=60, execution_credential=credential())
    await run_turn(handler, task, engine=engine, execution_reads=True)

    assert seen == ["closed"]
    assert engine.bodies("fail") == engine.bodies("complete") == []
