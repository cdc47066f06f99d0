from lbb.workflows import WorkflowContext, WorkflowResult, workflow




@workflow(name="counter", version="v1", initial_state={"count": 0})
async def counter(ctx: WorkflowContext, state: dict, message: dict) -> WorkflowResult[dict]:
    amount = await ctx.step("add", lambda s: message["add"])
    total = state["count"] + amount
    return WorkflowResult(state={"count": total}, result=total)
