@workflow(name="rooms", version="v1", initial_state={})
async def rooms(ctx: WorkflowContext, state: dict, message: dict) -> WorkflowResult[dict]:
    room = message["room"]
    asked = await lbb.wait_for_review(
        ctx,
        "floor",
        {
            "kind": "choice",
            "key": f"floor:{room}",
            "title": f"Which floor covering does {room} have?",
            "question": {
                "options": [
                    {"id": "parquet", "label": "Parquet"},
                    {"id": "tiles", "label": "Tiles"},
                ]
            },
        },
        timeout_ms=7 * 24 * 3_600_000,
    )
    floor = asked.answer.option if asked.answer else None
    return WorkflowResult(state={"floor": floor})
