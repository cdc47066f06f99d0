"""The blocks of the reference document, run in their order and in one namespace, as a reader would.

The blocks beside this file are that document's own text. This harness adds only what the document leaves to its
reader: one SIGTERM for `run()`, `review-1` started and sent, the class `Note` with two notes, and a worker for the
workflows the document only defines. Prints the outcome as one JSON document.
"""

import asyncio
import json
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_TIMEOUT_S = 30.0
_POLL_S = 0.05
_BLOCKS = (
    "01_counter", "02_send", "03_worker", "04_define_codes", "05_review_draft", "06_approve", "07_pages", "08_rooms",
    "09_crawler", "10_word_count", "11_watch", "12_capture", "13_invoice", "14_serve",
)  # fmt: skip
_ONTOLOGY = [
    {"op": "add_entity_type", "name": "Note"},
    {"op": "add_property", "name": "text", "value_type": "text"},
    {"op": "add_property", "name": "word_count", "value_type": "i64"},
]
_NOTES = {"Monday": "three short words", "Tuesday": "two words"}
_COUNTS = """SELECT ?label ?words WHERE {
  ?s <http://www.w3.org/2000/01/rdf-schema#label> ?label ; <https://littlebigbrain.com/p/word_count> ?words }"""
_IRIS = "SELECT ?s WHERE { ?s a <https://littlebigbrain.com/class/note> }"
document: dict[str, Any] = {"__name__": "__main__"}


def run_block(name: str) -> None:
    path = _HERE / f"{name}.py"
    exec(compile(path.read_text(), path, "exec"), document)


async def result_of(identity: str, turn: int = 1) -> Any:
    async with document["connect"]() as client:
        return await document["WorkflowHandle"](client, identity).result(turn, timeout=_TIMEOUT_S)


async def start(definition: str, identity: str, message: Any) -> None:
    async with document["connect"]() as client:
        handle = await document[definition].start(client, identity)
        await handle.send(message, id="request-1")


async def until(read: Callable[[], Awaitable[Any]]) -> Any:
    """What `read` gives once that is not empty."""
    async with asyncio.timeout(_TIMEOUT_S):
        while not (found := await read()):
            await asyncio.sleep(_POLL_S)
    return found


def stop_when_counted() -> None:
    """What a person's Ctrl-C or a deploy does: `run()` serves until then."""
    from lbb.workflows import WorkflowHandle

    async def counted() -> None:
        async with document["connect"]() as client:
            await WorkflowHandle(client, "counter-1").result(1, timeout=_TIMEOUT_S)

    asyncio.run(counted())
    os.kill(os.getpid(), signal.SIGTERM)


async def write_notes() -> None:
    rows = [{"type": "Note", "name": name, "properties": {"text": text}} for name, text in _NOTES.items()]
    async with document["connect"]() as client:
        await client.ontology.evolve({"ops": _ONTOLOGY})
        await client.commit({"entity_properties": rows})


async def answer_the_question(client: Any) -> None:
    """A person's call: the rooms workflow waits for it."""

    async def filed() -> list[dict[str, Any]]:
        return (await client.reviews.list(key="floor:the hall", status="open"))["data"]

    (item,) = await until(filed)
    await client.reviews.answer(item["id"], answer={"decision": "choose", "option": "tiles"})


async def word_counts(client: Any) -> dict[str, int]:
    async def all_counted() -> dict[str, int] | None:
        rows = (await client.sparql(_COUNTS, consistency="strong")).rows()
        return {row["label"]: int(row["words"]) for row in rows} if len(rows) == len(_NOTES) else None

    return await until(all_counted)


async def captured(client: Any) -> list[Any]:
    """The document's own test of word-count, on the notes there are."""
    lbb, iris = document["lbb_activities"](client), [row["s"] for row in (await client.sparql(_IRIS)).rows()]
    capture = document["capture_activities"](lbb, workflow="notes")
    test = document["word_counter"](capture.activities, version="test")
    message = {
        "type": "instances",
        "workflow": "notes",
        "graph": "main",
        "as_of_commit_seq": 1,
        "reason": "refresh",
        "instances": iris,
        "removed": [],
    }
    handle = await test.start(client, "word-count-test-2")
    await handle.send(message, id="word-count-test-2")
    await document["WorkflowWorker"](client, [test], worker="test").run_once()
    return [[write.check, write.errors, write.report.entity_properties] for write in capture.result().writes]


async def finish() -> dict[str, Any]:
    """Serve what the document defines and does not serve itself."""
    await start("define_codes", "codes-1", {"prompt": "A code for the hall"})
    await start("pages", "pages-1", {"pages": list(range(45))})
    await start("rooms", "rooms-1", {"room": "the hall"})
    await start("crawler", "crawler-1", {})
    await start("invoice", "invoice-1", {"order": 7, "paid": True})
    names = ("define_codes", "review_draft", "pages", "rooms", "crawler", "word_count", "invoice")
    async with document["connect"]() as client:
        served = [document[name] for name in names]
        # A stop lets the claim that waits answer first; a shorter one ends this sooner.
        worker = document["WorkflowWorker"](client, served, worker="rest-1", concurrency=4, claim_wait_ms=500)
        serving = asyncio.create_task(worker.run_async())
        await answer_the_question(client)
        results = {
            "review": await result_of("review-1"),
            "codes": await result_of("codes-1"),
            "rooms": await result_of("rooms-1"),
            "crawler": await result_of("crawler-1"),
            "invoice": await result_of("invoice-1"),
            "pages": [await result_of("pages-1", turn) for turn in (1, 2, 3)],
            "words": await word_counts(client),
        }
        worker.stop()
        await serving
        results["captured"] = await captured(client)
        ids = ("counter-1", "codes-1", "review-1", "pages-1", "rooms-1", "crawler-1", "invoice-1")
        states = {i: (await document["WorkflowHandle"](client, i).status()).state for i in ids}
    return {"results": results, "states": states}


if __name__ == "__main__":
    for block in _BLOCKS:
        if block == "03_worker":
            threading.Thread(target=stop_when_counted, daemon=True).start()
        if block == "11_watch":
            asyncio.run(write_notes())
        run_block(block)
        if block == "05_review_draft":
            asyncio.run(start("review_draft", "review-1", {"task": "the report"}))
    print(json.dumps(asyncio.run(finish())))
