from lbb.workflows import LbbActivities, TriggeredWorkflowDefinition, capture_activities




def word_counter(lbb: LbbActivities, version: str = "v1") -> TriggeredWorkflowDefinition:
    @triggered_workflow(name="word-count", version=version)
    async def count(ctx: WorkflowContext, message: models.WorkflowTriggerMessage, state: dict):
        write = OwnedWrite(
            subjects=[entity_ref(iri, "Note") for iri in message.instances],
            properties=["word_count"],
            entity_properties=[
                {**entity_ref(iri, "Note"), "properties": {"word_count": 3}}
                for iri in message.instances
            ],
        )
        await lbb.write_owned(ctx, "write", write, graph=message.graph)


    return count




async def try_word_count(iris: list[str]) -> None:
    async with connect() as client:
        capture = capture_activities(lbb_activities(client), workflow="notes")
        test = word_counter(capture.activities, version="test")
        handle = await test.start(client, "word-count-test-1")
        await handle.send(
            {
                "type": "instances",
                "workflow": "notes",
                "graph": "main",
                "as_of_commit_seq": 1,
                "reason": "refresh",
                "instances": iris,
                "removed": [],
            },
            id="word-count-test-1",
        )
        await WorkflowWorker(client, [test], worker="test").run_once()
        for write in capture.result().writes:
            print(write.step_key, write.check, write.errors or "passes")




asyncio.run(try_word_count(["https://littlebigbrain.com/e/0123456789abcdef0123456789abcdef"]))
