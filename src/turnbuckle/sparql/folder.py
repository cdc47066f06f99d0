"""Where an index lies on the disk: each server process has a folder of its own, the same one as before where it can."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

_SERVERS_MAX = 64


class NoFolder(Exception):
    """The index has no place to lie in."""


@contextlib.contextmanager
def own_folder(base: Path) -> Iterator[Path]:
    """`<base>/<n>` for the first n that no other process has. The lock goes with the process, however that ends.

    Raises NoFolder when the folder cannot be made or too many servers share it.
    """
    try:
        base.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise NoFolder(f"cannot make the folder of the SPARQL index: {exc}") from exc
    for number in range(_SERVERS_MAX):
        descriptor = os.open(base / f"{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        try:
            yield base / str(number)
        finally:
            os.close(descriptor)
        return
    raise NoFolder(f"{_SERVERS_MAX} servers have their SPARQL indexes in {base}; give another --index")
