async def watch() -> None:
    async with connect() as client:
        await client.use_workflow_starter(
            "workflow",
            name="notes",
            class_="Note",
            fields=["text"],
            workflow={"workflow_type": "word-count", "version": "v1"},
            owns={"properties": ["word_count"]},
        )




asyncio.run(watch())
