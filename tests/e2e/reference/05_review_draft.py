@workflow(name="review-draft", version="v1", initial_state={"sent": 0})
async def review_draft(ctx: WorkflowContext, state: dict, message: dict) -> WorkflowResult[dict]:
    draft = await ctx.step("draft", lambda s: f"Draft for {message['task']}")
    review = await ctx.wait_for_signal("review", name="approval", timeout_ms=86_400_000)
    if not review.received:
        return WorkflowResult(state=state, result="approval timed out")
    if not review.value["approved"]:
        return WorkflowResult(state=state, result="rejected")
    await ctx.sleep("cool-down", 1_000)
    return WorkflowResult(state={"sent": state["sent"] + 1}, result=draft)
