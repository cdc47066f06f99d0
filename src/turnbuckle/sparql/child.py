"""The index process: `python -m turnbuckle.sparql.child DESCRIPTOR FOLDER MEMORY_BYTES`.

It reads calls from the socket that it inherited and answers each from a thread. When the other end closes, for
whatever reason, it ends at once: nothing that it has is not also in the store of the server.
"""

import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from turnbuckle.sparql import confine, evaluate
from turnbuckle.sparql import frames as f
from turnbuckle.sparql.stores import NotOpen, Stores, WrongPoint

_THREADS = 32  # more than the server runs at once
_STACK_BYTES = 16 * 1024 * 1024  # pyoxigraph parses by recursion


class Desk:
    """Answers calls."""

    def __init__(self, connection: socket.socket, stores: Stores) -> None:
        self._connection = connection
        self._stores = stores
        self._sending = threading.Lock()
        self._cancelled: set[int] = set()
        self._open: set[int] = set()

    def hello(self, is_confined: bool) -> None:
        self._send(f.Reply(0, f.Hello(is_confined)))

    def take(self, call: f.Call) -> None:
        """Note the call before a thread has it, so that a cancellation finds it."""
        self._open.add(call.number)

    def cancel(self, number: int) -> None:
        if number in self._open:
            self._cancelled.add(number)

    def run(self, call: f.Call) -> None:
        try:
            answer = self._answer(call)
        except evaluate.Stopped as stopped:
            answer = stopped.failed
        except WrongPoint as wrong:
            answer = f.Moved(str(wrong))
        except NotOpen as exc:
            answer = f.Failed("closed", str(exc))
        except OSError as exc:  # the store's files
            answer = f.Failed("damaged", str(exc))
        except (
            BaseException
        ) as exc:  # also pyoxigraph's panics: a call without an answer would leave its caller waiting
            answer = f.Failed("failed", f"{type(exc).__name__}: {exc}")
        self._open.discard(call.number)
        self._cancelled.discard(call.number)
        self._send(f.Reply(call.number, answer))

    def _answer(self, call: f.Call) -> f.Answer:
        match call.request:
            case f.Query() as query:
                return self._query(query, call.number)
            case f.Open(graph):
                return f.Done(self._stores.open(graph))
            case f.Apply() as apply:
                store = self._stores.get(apply.graph, apply.copy)
                store.move(apply.from_point, apply.point, apply.changes)
            case f.Copy(graph, copy):
                return f.Done(self._stores.copy(graph, copy))
            case f.Drop(copy):
                self._stores.drop(copy)
            case f.Forget(graph):
                self._stores.forget(graph)
            case f.Rebuild(graph):
                self._stores.rebuild(graph)
            case f.Load(graph, quads):
                self._stores.load(graph, quads)
            case f.Finish(graph, point):
                self._stores.finish(graph, point)
        return f.Done()

    def _query(self, query: f.Query, number: int) -> f.Answer:
        began_at = time.perf_counter()
        store = self._stores.get(query.graph, query.copy)
        if store.point != query.point:
            return f.Moved(store.point)
        results = evaluate.begin(store.store, query, store.named_graphs)
        if store.point != query.point:  # the snapshot may be of before or after
            return f.Moved(store.point)
        return evaluate.finish(results, query, lambda: number in self._cancelled, began_at)

    def _send(self, reply: f.Reply) -> None:
        with self._sending:
            self._connection.sendall(f.pack(reply))


def main(descriptor: int, folder: Path, memory_bytes: int) -> None:
    confine.limit_memory(memory_bytes)
    confine.allow_files()
    is_confined = confine.close_doors()
    threading.stack_size(_STACK_BYTES)
    with socket.socket(fileno=descriptor) as connection, _end_with_the_server():
        desk = Desk(connection, Stores(folder))
        desk.hello(is_confined)
        threads = ThreadPoolExecutor(_THREADS, "index")
        read, calls = f.reader(f.Call), connection.makefile("rb")
        while (call := read(calls)) is not None:
            if isinstance(call.request, f.Cancel):
                desk.cancel(call.request.call)
            else:
                desk.take(call)
                threads.submit(desk.run, call)


@contextmanager
def _end_with_the_server() -> Iterator[None]:
    """No thread that is deep in a query keeps the process."""
    try:
        yield
    except OSError:  # the server is gone
        os._exit(1)
    except Exception:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
