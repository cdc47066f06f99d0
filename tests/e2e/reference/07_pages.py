@workflow(name="pages", version="v1", initial_state={"read": 0})
async def pages(ctx: WorkflowContext, state: dict, message: dict) -> WorkflowResult[dict]:
    batch, rest = message["pages"][:20], message["pages"][20:]
    read = await ctx.step("read", lambda s: len(batch))
    after = {"read": state["read"] + read}
    if rest:
        return ctx.continue_(after, {"pages": rest})
    return WorkflowResult(state=after)
