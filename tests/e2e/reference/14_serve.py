async def serve() -> None:
    async with connect() as client:
        worker = WorkflowWorker(client, [counter, review_draft], worker="api-1", concurrency=4)
        serving = asyncio.create_task(worker.run_async())
        await asyncio.sleep(1)
        worker.stop()
        await serving




asyncio.run(serve())
