import time


from lbb.workflows import WorkflowError, WorkflowWait




@workflow(name="invoice", version="v1", initial_state={})
async def invoice(ctx: WorkflowContext, state: dict, message: dict) -> WorkflowResult[dict]:
    if "order" not in message:
        raise WorkflowError("an invoice message names its order")
    ready = await ctx.step("ready", lambda s: message.get("paid", False))
    if not ready:
        raise WorkflowWait(retry_at_ms=int(time.time() * 1000) + 60_000)
    return WorkflowResult(state={"last": message["order"]})
