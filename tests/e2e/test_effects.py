"""The effect ledger as a worker fills it: after a crash a person sees what may have happened (ours; decision 2)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from lbb import AsyncLbbClient
from lbb.workflows import (
    OwnedWrite,
    WorkflowContext,
    WorkflowDefinition,
    WorkflowError,
    WorkflowResult,
    WorkflowStepContext,
    entity_ref,
    lbb_activities,
    workflow,
    write_owned,
)
from turnbuckle.testing import Engine


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with Engine() as engine:
        yield engine


Told = list[tuple[str, str, str, int]]


async def ledger(client: AsyncLbbClient, **query: Any) -> Told:
    """(kind, target, state, attempts) of the instance's effects."""
    found = await client.workflows.handle("pay-1").effects(**query)
    return [(e.kind, e.target, e.state, e.attempts) for e in found.effects]


def paying(calls: list[str], fn: Any) -> WorkflowDefinition:
    @workflow(name="pay", version="v1", initial_state={})
    async def pay(ctx: WorkflowContext, state: dict[str, Any], message: dict[str, Any]) -> WorkflowResult[Any]:
        await ctx.step("pay", lambda s: fn(s, calls), kind="tool")
        return WorkflowResult(state={})

    return pay


async def on_the_loop(s: WorkflowStepContext, calls: list[str]) -> None:
    async with s.effect("payment", "invoice 7"):
        calls.append(s.effect_id)


def in_a_thread(s: WorkflowStepContext, calls: list[str]) -> None:
    with s.effect("payment", "invoice 7"):
        calls.append(s.effect_id)


async def declared_only(s: WorkflowStepContext, calls: list[str]) -> None:
    await s.effect("payment", "invoice 7")
    calls.append(s.effect_id)


async def begun(engine: Engine, definition: WorkflowDefinition) -> AsyncLbbClient:
    client = engine.client()
    handle = await definition.start(client, "pay-1")
    await handle.send({"invoice": 7}, id="invoice-7")
    return client


@pytest.mark.parametrize("fn", [on_the_loop, in_a_thread, declared_only])
async def test_an_effect_is_in_doubt_after_a_crash_and_confirmed_by_the_next_attempt(engine: Engine, fn: Any) -> None:
    """The crash falls between the effect and the step's save: the outside world has seen it, the engine has not."""
    calls: list[str] = []
    definition = paying(calls, fn)
    client = await begun(engine, definition)
    engine.crash_before_save("pay")

    await engine.run(definition)
    engine.clock.pass_time(seconds=61)
    after_the_crash = await ledger(client, state="in_doubt")
    turn = (await client.workflows.handle("pay-1").status()).current_turn
    await engine.run_to_end(definition)

    if fn is declared_only:
        assert after_the_crash == [("payment", "invoice 7", "in_doubt", 1)]
        assert turn is not None
        assert [effect.state for effect in turn.effects or []] == ["in_doubt"]
    else:  # its block had ended: the server knows that it happened
        assert after_the_crash == []
    assert await ledger(client) == [("payment", "invoice 7", "confirmed", 2)]
    assert len(set(calls)) == 1
    assert len(calls) == 2


async def test_a_block_that_raises_leaves_its_effect_in_doubt(engine: Engine) -> None:
    """A time-out says nothing about what the other side has done."""

    async def times_out(s: WorkflowStepContext, calls: list[str]) -> None:
        async with s.effect("payment", "invoice 7"):
            calls.append(s.effect_id)
            if len(calls) == 1:
                raise TimeoutError("the bank does not answer")

    calls: list[str] = []
    definition = paying(calls, times_out)
    client = await begun(engine, definition)

    await engine.run(definition)
    doubtful = await client.workflows.effects(state="in_doubt")
    await engine.run_to_end(definition)

    assert [(e.workflow_id, e.turn, e.step, e.effect_id) for e in doubtful.effects] == [("pay-1", 1, "pay", calls[0])]
    assert await ledger(client) == [("payment", "invoice 7", "confirmed", 2)]
    assert (await client.workflows.effects()).effects == []


async def test_what_goes_through_the_client_is_in_the_ledger_without_being_declared(engine: Engine) -> None:
    client = engine.client()
    await client.create_graph()
    await client.ontology.evolve(
        {"ops": [{"op": "add_entity_type", "name": "Note"}, {"op": "add_property", "name": "text"}]}
    )
    iri = "https://littlebigbrain.com/e/" + (await _a_note(client))
    lbb = lbb_activities(client)
    schema = {"type": "object", "properties": {"code": {"type": "string"}}}

    @workflow(name="pay", version="v1", initial_state={})
    async def all_kinds(ctx: WorkflowContext, state: dict[str, Any], message: dict[str, Any]) -> WorkflowResult[Any]:
        async def model(s: WorkflowStepContext) -> Any:
            return (await lbb.reason("What?", schema, effect_id=s.effect_id)).value

        async def blob(s: WorkflowStepContext) -> str:
            return (await client.workflows.blobs.put(b"page", workflow_id=ctx.workflow_id)).key

        async def review(s: WorkflowStepContext) -> str:
            question = {"kind": "answer", "key": "why", "title": "Why?", "question": {"prompt": "Why?"}}
            return (await lbb.review(question)).id

        await ctx.step("model", model)
        await ctx.step("blob", blob)
        await ctx.step("review", review)
        row = {**entity_ref(iri, "Note"), "properties": {"text": "new"}}
        await write_owned(client, ctx, "write", OwnedWrite(subjects=[], entity_properties=[row]))
        return WorkflowResult(state={})

    handle = await all_kinds.start(client, "pay-1")
    await handle.send({}, id="m-1")
    ran = await engine.run_to_end(all_kinds)

    assert ran.errors == []
    found = (await handle.effects()).effects
    assert sorted((e.kind, e.step, e.state) for e in found) == [
        ("blob", "blob", "confirmed"),
        ("commit", "write", "confirmed"),
        ("model", "model", "confirmed"),
        ("review", "review", "confirmed"),
    ]
    assert (await handle.effects(turn=1, limit=1)).next_after is not None


async def _a_note(client: AsyncLbbClient) -> str:
    await client.commit({"entity_properties": [{"type": "Note", "name": "a", "properties": {"text": "old"}}]})
    found = await client.entities.detail(type="Note", name="a")
    return str(found["entity"]["id"])


@pytest.mark.parametrize(("kind", "target"), [("", "x"), ("a b", "x"), ("k" * 129, "x"), ("k", ""), ("k", "x" * 513)])
async def test_an_effect_the_ledger_does_not_take_fails_the_turn_before_it_is_done(kind: str, target: str) -> None:
    step = WorkflowStepContext(effect_id="p/s", fence=None, graph=None, checkpoint=None)  # type: ignore[arg-type]

    with pytest.raises(WorkflowError, match="of an effect is"):
        step.effect(kind, target)


async def test_without_a_server_an_effect_declares_nothing_and_runs() -> None:
    """In a user's unit test of a step's function."""
    step = WorkflowStepContext(effect_id="p/s", fence=None, graph=None, checkpoint=None)  # type: ignore[arg-type]
    calls: list[str] = []

    await on_the_loop(step, calls)
    await asyncio.to_thread(in_a_thread, step, calls)

    assert calls == ["p/s", "p/s"]
