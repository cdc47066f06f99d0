from lbb.workflows import WorkflowStepContext




async def crawl(s: WorkflowStepContext) -> dict:
    start = s.checkpoint or 0
    for page in range(start, 3):
        s.progress("reading pages", done=page, total=3, unit="pages")
        await s.heartbeat({"page": page}, checkpoint=page + 1)
    return {"pages": 3}




@workflow(name="crawler", version="v1", initial_state={})
async def crawler(ctx: WorkflowContext, state: dict, message: dict) -> WorkflowResult[dict]:
    read = await ctx.step("crawl", crawl, kind="tool", heartbeat_timeout_ms=30_000)
    return WorkflowResult(state=read)
