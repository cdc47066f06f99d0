"""One server per SQLite store: a second one would wake nobody who waits at the first.

The mark is an SQLite lock on a file of its own beside the store, so it works wherever SQLite does and goes with its
process, however that ends. Commands such as `turnbuckle backup` may open the store beside the server.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import apsw

from turnbuckle.store.database import CannotOpen

_ENDINGS = ("", "-wal", "-shm", "-journal")


@contextlib.contextmanager
def only_server(store: str, *, empty: bool = False) -> Iterator[None]:
    """Be the only server of the store in the file `store`; with `empty`, start without what it had.

    Raises CannotOpen when another server has it, before anything is removed, or when its folder cannot be written.
    """
    try:
        Path(store).parent.mkdir(parents=True, exist_ok=True)
        mark = apsw.Connection(f"{store}.server")
    except (apsw.Error, OSError) as exc:
        raise CannotOpen(f"cannot open the store {store}: {exc}") from exc
    with contextlib.closing(mark):
        try:
            mark.execute("begin exclusive")
        except apsw.BusyError:
            raise CannotOpen(f"another server has the store {store} open; stop it, or give another --data") from None
        except apsw.Error as exc:
            raise CannotOpen(f"cannot open the store {store}: {exc}") from exc
        if empty:
            for ending in _ENDINGS:
                Path(store + ending).unlink(missing_ok=True)
        yield
