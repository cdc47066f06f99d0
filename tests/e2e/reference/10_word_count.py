from lbb.workflows import OwnedWrite, entity_ref, triggered_workflow, write_owned


QUERY = """SELECT ?s ?text WHERE {{
  VALUES ?s {{ {} }} ?s <https://littlebigbrain.com/p/text> ?text }}"""




@triggered_workflow(name="word-count", version="v1")
async def word_count(ctx: WorkflowContext, message: models.WorkflowTriggerMessage, state: dict):
    async def count(s: WorkflowStepContext) -> dict:
        query = QUERY.format(" ".join(f"<{iri}>" for iri in message.instances))
        rows = await lbb.sparql(query, as_of_commit_seq=message.as_of_commit_seq)
        return {row["s"]: len(row["text"].split()) for row in rows.rows()}


    counts = await ctx.step("count", count)
    write = OwnedWrite(
        subjects=[entity_ref(iri, "Note") for iri in message.instances],
        properties=["word_count"],
        entity_properties=[
            {**entity_ref(iri, "Note"), "properties": {"word_count": words}}
            for iri, words in counts.items()
        ],
    )
    await write_owned(client, ctx, "write", write, graph=message.graph)
