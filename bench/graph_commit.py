"""`python bench/graph_commit.py [--commits N]`: what a commit of 100 property rows costs, beside this disk's fsync.

First in this process, on a SQLite store with `synchronous=full`: the time of the transaction, and the CPU time of the
operation in it. Then over HTTP to a real `turnbuckle dev`, one commit after the other. Two kinds: 100 new records with
two fields each, and an owned write, which replaces one field of 100 records.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec

from processes import KEY, fsync_ms, server
from turnbuckle.graph.entity import ID_KEY_SENTINEL, entity_id
from turnbuckle.operations import commit, graph, ontology
from turnbuckle.operations.caller import Caller, the_server
from turnbuckle.store.database import open_database, write
from turnbuckle.wire.commit import GraphCommitRequest
from turnbuckle.wire.ontology import OntologyEvolveQuery, OntologyEvolveRequest

ROWS = 100
OPS = {
    "ops": [
        {"op": "add_entity_type", "name": "Note"},
        {"op": "add_property", "name": "text"},
        {"op": "add_property", "name": "word_count", "value_type": "i64"},
    ]
}
Body = dict[str, Any]
Send = Callable[[str, Body], None]  # idempotency key, body


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=200)
    count = parser.parse_args().commits
    print(f"floor: fsync of 4 KiB {fsync_ms():.2f} ms (median of 200)")
    in_process(count)
    over_http(count)


def new_records(count: int) -> Iterator[Body]:
    for n in range(count):
        fields = {"text": "x" * 100, "word_count": n}
        yield {"entity_properties": [_row(f"note {n}-{row}", fields) for row in range(ROWS)]}


def owned_writes(count: int) -> Iterator[Body]:
    """As a step writes them: the same 100 records by id, another value each time."""
    named = [_by_id(entity_id("note", None, f"note 0-{row}")) for row in range(ROWS)]
    for n in range(count):
        yield {
            "entity_properties": [{**one, "properties": {"word_count": 1_000 + n}} for one in named],
            "replace_owned": {"subjects": named, "properties": ["word_count"]},
            "edge_idempotency": "skip_unchanged",
        }


def _row(name: str, fields: Body) -> Body:
    return {"type": "Note", "name": name, "properties": fields}


def _by_id(id: str) -> Body:
    return {"type": "Note", "name": id, "key": ID_KEY_SENTINEL + id}


def in_process(count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="turnbuckle-bench-") as folder:
        database = open_database(str(Path(folder, "turnbuckle.db")))
        graph_id = write(database, lambda tx: graph.use(tx, "test", "main"))
        asked = msgspec.convert(OPS, OntologyEvolveRequest)
        caller = the_server("test", "main")
        write(database, lambda tx: ontology.evolve(tx, graph_id, OntologyEvolveQuery(), asked, caller))
        cpu_ms: list[float] = []

        def send(key: str, body: Body) -> None:
            request = msgspec.convert(body, GraphCommitRequest)
            keyed = msgspec.structs.replace(caller, idempotency_key=key)
            write(database, lambda tx: timed_cpu(tx, request, keyed))

        def timed_cpu(tx: Any, request: GraphCommitRequest, keyed: Caller) -> None:
            begin = time.thread_time()
            commit.commit(tx, graph_id, request, keyed)
            cpu_ms.append((time.thread_time() - begin) * 1_000)

        for name, bodies in (("100 new records", new_records(count)), ("owned write of 100", owned_writes(count))):
            cpu_ms.clear()
            show(f"in process, {name}", run(send, name, bodies))
            show(f"  of it the operation's CPU, {name}", cpu_ms)
        database.close()


def over_http(count: int) -> None:
    headers = {"authorization": f"Bearer {KEY}"}
    with server() as (_, url), httpx.Client(base_url=url, headers=headers) as client:
        client.post("/v1/graph/create").raise_for_status()
        client.post("/v1/ontology/evolve", json=OPS).raise_for_status()

        def send(key: str, body: Body) -> None:
            client.post("/v1/graph/commit", json=body, headers={"idempotency-key": key}).raise_for_status()

        for name, bodies in (("100 new records", new_records(count)), ("owned write of 100", owned_writes(count))):
            show(f"over HTTP, {name}", run(send, name, bodies))


def run(send: Send, name: str, bodies: Iterator[Body]) -> list[float]:
    """Milliseconds of each commit, one after the other."""
    times = []
    for n, body in enumerate(list(bodies)):
        begin = time.perf_counter()
        send(f"{name} {n}", body)
        times.append((time.perf_counter() - begin) * 1_000)
    return times


def show(name: str, times: list[float]) -> None:
    ordered = sorted(times)
    p50, p95 = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    print(f"{name}: p50 {p50:.2f} ms, p95 {p95:.2f} ms, min {ordered[0]:.2f} ms")


if __name__ == "__main__":
    main()
