from lbb.workflows import WorkflowHandle




async def approve() -> None:
    async with connect() as client:
        handle = WorkflowHandle(client, "review-1")
        await handle.signal("approval", {"approved": True}, turn=1, id="review-event-1")




asyncio.run(approve())
