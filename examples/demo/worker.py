"""A worker that reads pages: `python -m examples.demo.worker NAME DOCS LEDGER`, with LBB_URL and LBB_API_KEY.

One instance is a folder of pages, one message is a page, and each page takes four steps. The state is what the folder
holds so far. Everything that is not in a step may run again at any time; `run.py` kills the process to show it.
"""

import asyncio
import hashlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from examples.demo.ledger import Ledger, Row

from lbb import AsyncLbbClient
from lbb.workflows import (
    WorkflowContext,
    WorkflowDefinition,
    WorkflowResult,
    WorkflowStepContext,
    WorkflowWorker,
    workflow,
)

STEPS = ("read", "split", "count", "index")
INITIAL_STATE: dict[str, Any] = {"pages": [], "words": 0, "index": {}}
_CONCURRENCY = 3
_PACE_SECONDS = 0.12  # what a step takes after its effect, so that a kill has something to hit


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z][a-z'-]*", text.lower())


def page_reader(client: AsyncLbbClient, docs: Path, ledger: Ledger) -> WorkflowDefinition:
    """The workflow `pages`: read a page, split it into sections, count its words, index them."""

    @workflow(name="pages", version="v1", initial_state=INITIAL_STATE)
    async def pages(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        async def read() -> str:  # a page may be larger than a step's output: save it as a blob, return its key
            text = (docs / message["page"]).read_text()
            return (await client.workflows.blobs.put_json(text, workflow_id=ctx.workflow_id)).key

        async def split() -> list[str]:
            return [section.split("\n", 1)[0].strip("# ") for section in sections(text)]

        async def count() -> list[int]:
            return [len(words_of(section)) for section in sections(text)]

        async def index() -> dict[str, int]:
            return dict(Counter(words_of(text)))

        text = await ctx.blob_json(await noted_step(ctx, ledger, "read", read))
        titles = await noted_step(ctx, ledger, "split", split)
        counts = await noted_step(ctx, ledger, "count", count)
        found = await noted_step(ctx, ledger, "index", index)
        after = {
            "pages": [*state["pages"], message["page"]],
            "words": state["words"] + sum(counts),
            "index": dict(Counter(state["index"]) + Counter(found)),
        }
        return WorkflowResult(state=after, result={"sections": len(titles), "words": sum(counts)})

    return pages


def sections(text: str) -> list[str]:
    """The page cut before each heading."""
    return [part for part in re.split(r"(?m)^(?=#+ )", text) if part.strip()]


async def noted_step(ctx: WorkflowContext, ledger: Ledger, key: str, work: Callable[[], Awaitable[Any]]) -> Any:
    """`ctx.step`, and what the outside world hears of it: an effect when it runs, a replay when it was saved."""
    has_run = False

    def row(kind: str, effect_id: str, output: Any) -> Row:
        digest = hashlib.sha256(json.dumps(output, sort_keys=True).encode()).hexdigest()[:16]
        return Row(kind, effect_id, ctx.workflow_id, ctx.turn, key, digest, os.getpid())

    async def run(s: WorkflowStepContext) -> Any:
        nonlocal has_run
        has_run = True
        output = await work()
        ledger.write(row("effect", s.effect_id, output))
        await asyncio.sleep(_PACE_SECONDS)  # killed here, the effect has happened and the output is not saved
        return output

    output = await ctx.step(key, run)
    if not has_run:
        ledger.write(row("replay", "", output))
    return output


def main() -> None:
    name, docs, ledger = sys.argv[1:]
    client = AsyncLbbClient(os.environ["LBB_URL"], api_key=os.environ["LBB_API_KEY"])
    reader = page_reader(client, Path(docs), Ledger(Path(ledger)))
    WorkflowWorker(client, [reader], worker=name, concurrency=_CONCURRENCY, claim_wait_ms=1_000).run()


if __name__ == "__main__":
    main()
