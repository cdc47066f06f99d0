from lbb import models
from lbb.workflows import lbb_activities


lbb = lbb_activities(client)
SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}}}




@workflow(name="define-codes", version="v1", initial_state={})
async def define_codes(ctx: WorkflowContext, state: dict, message: dict) -> WorkflowResult[dict]:
    answer = await ctx.step(
        "define",
        lambda s: lbb.reason(message["prompt"], SCHEMA, effect_id=s.effect_id, label="code"),
        model=models.ReasonActivityResponse,
    )
    return WorkflowResult(state={"code": answer.value["code"]})
