"""The engine blocks of the reference document, run in their order and in one namespace, as a reader would.

The blocks beside this file are that document's own text. This harness adds only what the document leaves to its
reader: one SIGTERM for `run()`, `review-1` started and sent, and a worker for the workflows it only defines.
Prints the outcome as one JSON document.
"""

import asyncio
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_TIMEOUT_S = 30.0
document: dict[str, Any] = {"__name__": "__main__"}


def run_block(name: str) -> None:
    path = _HERE / name
    exec(compile(path.read_text(), path, "exec"), document)


async def result_of(identity: str, turn: int = 1) -> Any:
    async with document["connect"]() as client:
        return await document["WorkflowHandle"](client, identity).result(turn, timeout=_TIMEOUT_S)


async def start(definition: str, identity: str, message: Any) -> None:
    async with document["connect"]() as client:
        handle = await document[definition].start(client, identity)
        await handle.send(message, id="request-1")


def stop_when_counted() -> None:
    """What a person's Ctrl-C or a deploy does: `run()` serves until then."""
    from lbb.workflows import WorkflowHandle

    async def counted() -> None:
        async with document["connect"]() as client:
            await WorkflowHandle(client, "counter-1").result(1, timeout=_TIMEOUT_S)

    asyncio.run(counted())
    os.kill(os.getpid(), signal.SIGTERM)


async def finish() -> dict[str, Any]:
    """Serve what the document defines and does not serve itself."""
    await start("pages", "pages-1", {"pages": list(range(45))})
    await start("crawler", "crawler-1", {})
    await start("invoice", "invoice-1", {"order": 7, "paid": True})
    served = [document[name] for name in ("review_draft", "pages", "crawler", "invoice")]
    async with document["connect"]() as client:
        worker = document["WorkflowWorker"](client, served, worker="rest-1", concurrency=4)
        serving = asyncio.create_task(worker.run_async())
        results = {
            "review": await result_of("review-1"),
            "crawler": await result_of("crawler-1"),
            "invoice": await result_of("invoice-1"),
            "pages": [await result_of("pages-1", turn) for turn in (1, 2, 3)],
        }
        worker.stop()
        await serving
        ids = ("counter-1", "review-1", "pages-1", "crawler-1", "invoice-1")
        states = {i: (await document["WorkflowHandle"](client, i).status()).state for i in ids}
    return {"results": results, "states": states}


if __name__ == "__main__":
    run_block("01_counter.py")
    run_block("02_send.py")
    threading.Thread(target=stop_when_counted, daemon=True).start()
    run_block("03_worker.py")
    run_block("05_review_draft.py")
    asyncio.run(start("review_draft", "review-1", {"task": "the report"}))
    for block in ("06_approve.py", "07_pages.py", "09_crawler.py", "13_invoice.py", "14_serve.py"):
        run_block(block)
    print(json.dumps(asyncio.run(finish())))
