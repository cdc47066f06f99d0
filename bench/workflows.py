"""The workflows of the benchmarks, and the worker that serves them: `python bench/workflows.py URL CONCURRENCY`."""

import sys

from lbb import AsyncLbbClient
from lbb.workflows import WorkflowContext, WorkflowResult, WorkflowWorker, workflow

KEY = "lbb_sk_test_local"


@workflow(name="one-step", version="v1", initial_state={"count": 0})
async def one_step(ctx: WorkflowContext, state: dict, message: dict) -> WorkflowResult[dict]:
    amount = await ctx.step("add", _add)
    return WorkflowResult(state={"count": state["count"] + amount}, result=amount)


async def _add() -> int:
    return 1


@workflow(name="many-steps", version="v1", initial_state={})
async def many_steps(ctx: WorkflowContext, state: dict, message: dict) -> WorkflowResult[dict]:
    total = 0
    for n in range(message["steps"]):
        total += await ctx.step(f"step-{n}", _add)
    return WorkflowResult(state={"total": total}, result=total)


@workflow(name="waits", version="v1", initial_state={})
async def waits(ctx: WorkflowContext, state: dict, message: dict) -> WorkflowResult[dict]:
    heard = await ctx.wait_for_signal("go", name="go", timeout_ms=3_600_000)
    return WorkflowResult(state={}, result=heard.value)


WORKFLOWS = [one_step, many_steps, waits]

if __name__ == "__main__":
    url, concurrency = sys.argv[1], int(sys.argv[2])
    client = AsyncLbbClient(url, api_key=KEY, graph="main")
    print("serving", flush=True)
    WorkflowWorker(client, WORKFLOWS, worker="bench", concurrency=concurrency, drain_seconds=1).run()
