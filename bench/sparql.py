"""`python bench/sparql.py [--notes N] [--without-rdflib]`: SPARQL over 5 triples a note, 1,000,000 by default.

The same triples and the same query go to plain pyoxigraph, in memory and on disk, and to rdflib, in the same run. The
query is the trigger query of the worker guide with 64 instances. The store is filled beside the API; all else is asked
of a real `turnbuckle dev` over HTTP.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pyoxigraph as ox

from processes import KEY, Process, fsync_ms
from turnbuckle.graph.edge import Edge
from turnbuckle.graph.entity import Entity, entity_id
from turnbuckle.graph.fact import Fact
from turnbuckle.operations import commit, commit_log, graph, ontology, point, projected
from turnbuckle.operations.caller import the_server
from turnbuckle.store import edge, entity, fact
from turnbuckle.store.database import Database, open_database, read, write
from turnbuckle.wire.commit import GraphCommitRequest
from turnbuckle.wire.ontology import OntologyEvolveQuery, OntologyEvolveRequest

CALLER = the_server("test", "main")
CHANGES, CHANGED, PIECE = 1_000, 10, 2_000  # commits after the load, rows in each; notes in a commit of the load
QUERY = "SELECT ?s ?text WHERE {{ VALUES ?s {{ {} }} ?s <https://littlebigbrain.com/p/text> ?text }}"
LABELS = "SELECT ?s ?l ?n WHERE {{ VALUES ?s {{ {} }} ?s a <https://littlebigbrain.com/class/note> ; "
LABELS += "<http://www.w3.org/2000/01/rdf-schema#label> ?l ; <https://littlebigbrain.com/p/word_count> ?n }}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=200_000)
    parser.add_argument("--without-rdflib", action="store_true")
    asked = parser.parse_args()
    print(f"floor: fsync of 4 KiB {fsync_ms():.2f} ms (median of 200)")
    with tempfile.TemporaryDirectory(prefix="turnbuckle-sparql-") as folder:
        data = Path(folder, "data")
        triples = timed("fill the store, s", lambda: fill(data, asked.notes))
        show("triples", triples.count(b"\n"))
        ids = [entity_id("note", None, f"note {n}") for n in range(asked.notes // 3, asked.notes // 3 + 64)]
        queries = {name: text.format(" ".join(f"<https://littlebigbrain.com/e/{i}>" for i in ids))
                   for name, text in (("trigger", QUERY), ("three fields", LABELS))}  # fmt: skip
        ours(data, queries)
        plain(Path(folder, "plain"), triples, queries)
        if not asked.without_rdflib:
            rdflib(triples, queries)


def show(figure: str, value: float) -> None:
    print(f"{figure:56} {value:12,.2f}", flush=True)


def timed(figure: str, work: Callable[[], Any]) -> Any:
    began_at = time.perf_counter()
    result = work()
    show(figure, time.perf_counter() - began_at)
    return result


def median_ms(figure: str, work: Callable[[], Any], times: int = 100) -> None:
    took = []
    for _ in range(times):
        began_at = time.perf_counter()
        work()
        took.append((time.perf_counter() - began_at) * 1_000)
    show(figure, statistics.median(took))


# -- the store ---------------------------------------------------------------------------------------------------


def fill(data: Path, notes: int) -> bytes:
    """Notes in commits of PIECE, then CHANGES small commits; the head's triples."""
    data.mkdir()
    with contextlib.closing(open_database(str(data / "turnbuckle.db"))) as database:
        graph_id = write(database, lambda tx: graph.use(tx, "test", "main"))
        declare(database, graph_id)
        for start in range(0, notes, PIECE):
            numbers = range(start, min(start + PIECE, notes))
            write(database, lambda tx, numbers=numbers: load(tx, graph_id, numbers, notes))
        for n in range(CHANGES):
            body = {"entity_properties": [row((n * CHANGED + i) * 7 % notes, n) for i in range(CHANGED)]}
            request = msgspec.convert(body, GraphCommitRequest)
            caller = msgspec.structs.replace(CALLER, idempotency_key=f"change-{n}")
            write(database, lambda tx, r=request, c=caller: commit.commit(tx, graph_id, r, c))
        return exported(database, graph_id)


def declare(database: Database, graph_id: str) -> None:
    ops = [
        {"op": "add_entity_type", "name": "Note"},
        {"op": "add_property", "name": "text"},
        {"op": "add_property", "name": "word_count", "value_type": "i64"},
        {"op": "add_relation", "name": "CITES"},
    ]
    body = msgspec.convert({"ops": ops}, OntologyEvolveRequest)
    write(database, lambda tx: ontology.evolve(tx, graph_id, OntologyEvolveQuery(), body, CALLER))


def row(number: int, words: int) -> dict[str, Any]:
    return {"type": "Note", "name": f"note {number}", "properties": {"word_count": words}}


def load(tx: Any, graph_id: str, numbers: range, notes: int) -> None:
    head = commit_log.advance(tx, commit_log.lock(tx, graph_id, CALLER), CALLER)
    seq = head.head_seq
    ids = {n: entity_id("note", None, f"note {n}") for n in numbers}
    entity.add(tx, [Entity(graph_id, i, seq, None, "note", None, f"note {n}".encode()) for n, i in ids.items()])
    texts = [Fact(graph_id, i, "text", seq, None, json.dumps(f"what note {n} says").encode()) for n, i in ids.items()]
    words = [Fact(graph_id, i, "word_count", seq, None, b"%d" % (n % 1_000)) for n, i in ids.items()]
    fact.add(tx, texts + words)
    cited = {n: entity_id("note", None, f"note {n * 7 % notes}") for n in numbers}
    none = (None, None, None, None)
    edge.add(tx, [Edge(graph_id, seq, at, None, ids[n], "cites", cited[n], *none) for at, n in enumerate(numbers)])


def exported(database: Database, graph_id: str) -> bytes:
    now = read(database, lambda tx: point.head(tx, graph_id))
    pages, place = [], projected.Place()
    while place is not None:
        page = read(database, lambda tx, place=place: projected.page(tx, graph_id, now, place))
        pages.append(page.text)
        place = page.next
    return b"".join(pages)


# -- this server -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def server(data: Path) -> Iterator[tuple[Process, httpx.Client]]:
    command = [sys.executable, "-m", "turnbuckle.cli", "dev", "--port", "0", "--data", str(data)]
    popen = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    process = Process(popen)
    assert popen.stdout is not None
    line = next(line for line in popen.stdout if line.startswith("listening on "))
    url, headers = line.removeprefix("listening on ").strip(), {"authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
        try:
            yield process, client
        finally:
            process.stop()


def ask(client: httpx.Client, query: str, **body: Any) -> dict[str, Any]:
    """Asked again while the index is on its way, as the SDK does."""
    while True:
        answer = client.post("/v1/query/sparql-text", json={"query": query, **body})
        if answer.status_code != 429:
            found: dict[str, Any] = answer.raise_for_status().json()
            assert found["row_page"]["returned"] in (1, 64), found
            return found
        time.sleep(0.05)


def ours(data: Path, queries: dict[str, str]) -> None:
    trigger = queries["trigger"]

    @contextlib.contextmanager
    def started(figure: str) -> Iterator[tuple[Process, httpx.Client]]:
        began_at = time.perf_counter()
        with server(data) as (process, client):
            ask(client, trigger)
            show(figure, time.perf_counter() - began_at)
            yield process, client

    with started("ours: start to first answer, index from nothing, s"):
        pass
    with started("ours: start to first answer, index as it was saved, s") as (process, client):
        head = int(ask(client, trigger)["snapshot"]["commit_seq"])
        for name, query in queries.items():
            median_ms(f"ours: {name} query over HTTP, ms", lambda query=query: ask(client, query))
            inside = [ask(client, query, profile=True)["profile"]["query_ms"] for _ in range(100)]
            show(f"ours: {name} query, of that in the index process, ms", statistics.median(inside))
        back = head - CHANGES
        timed(f"ours: first read {CHANGES} commits back, s", lambda: ask(client, trigger, as_of_commit_seq=back))
        median_ms("ours: the same again, ms", lambda: ask(client, trigger, as_of_commit_seq=back))
        turns = iter(range(back, back + 200))
        median_ms(
            "ours: a read one commit on, each time, ms", lambda: ask(client, trigger, as_of_commit_seq=next(turns))
        )
        keys = iter(range(10**6))

        def write_100() -> None:
            body = {"entity_properties": [row(n, next(keys)) for n in range(100)]}
            client.post(
                "/v1/graph/commit", json=body, headers={"idempotency-key": f"b-{next(keys)}"}
            ).raise_for_status()

        def write_and_read() -> None:
            write_100()
            ask(client, trigger)

        median_ms("ours: commit of 100 property rows, ms", write_100, 50)
        median_ms("ours: the same and a query that sees it, ms", write_and_read, 50)
        show("ours: memory of the index process, MB", children_mb(process.popen.pid))
        show("ours: memory of the server, MB", process.rss_mb)
    show("ours: index on the disk, MB", sum(p.stat().st_size for p in (data / "index").rglob("*") if p.is_file()) / 1e6)


def children_mb(pid: int) -> float:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    lines = [line for child in children for line in Path(f"/proc/{child}/status").read_text().splitlines()]
    return sum(int(line.split()[1]) / 1_024 for line in lines if line.startswith("VmRSS"))


# -- the others --------------------------------------------------------------------------------------------------


def plain(folder: Path, triples: bytes, queries: dict[str, str]) -> None:
    for where, store in (("in memory", ox.Store()), ("on disk", ox.Store(str(folder)))):
        before = own_mb()
        timed(f"pyoxigraph {where}: load, s", lambda store=store: store.bulk_load(triples, ox.RdfFormat.N_TRIPLES))
        show(f"pyoxigraph {where}: memory for it, MB", own_mb() - before)
        for name, query in queries.items():
            median_ms(f"pyoxigraph {where}: {name} query, ms", lambda s=store, q=query: list(s.query(q)))


def rdflib(triples: bytes, queries: dict[str, str]) -> None:
    from rdflib import Graph

    store, before = Graph(), own_mb()
    timed("rdflib: load, s", lambda: store.parse(data=triples, format="nt"))
    show("rdflib: memory for it, MB", own_mb() - before)
    for name, query in queries.items():
        median_ms(f"rdflib: {name} query, ms", lambda query=query: list(store.query(query)), 10)


def own_mb() -> float:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4 / 1_024


if __name__ == "__main__":
    main()
