"""A server's wall clock that a test can move."""

import mmap
import struct
from pathlib import Path


class MovableClock:
    """Eight bytes that the server maps: how many milliseconds its wall clock is ahead."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(struct.pack("q", 0))
        with path.open("r+b") as file:
            self._offset_ms = mmap.mmap(file.fileno(), 8)

    def set_ms(self, ahead: int) -> None:
        self._offset_ms[:] = struct.pack("q", ahead)

    def pass_ms(self, more: int) -> None:
        self.set_ms(struct.unpack("q", self._offset_ms)[0] + more)
