"""What the outside world hears from the demo's workers: a file of JSON lines, one write each, in append mode.

It stands for a service that takes an idempotency key. An effect is keyed by its effect id: a second row under an id is
a re-send, which such a service would absorb. What a killed worker has written stays written.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    kind: str  # "effect": a step's function ran; "replay": its saved output was used
    effect_id: str
    instance: str
    turn: int
    step: str
    output: str  # a digest, to see that nobody ever got another one
    worker: int  # process id


class Ledger:
    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, row: Row) -> None:
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, json.dumps(asdict(row)).encode() + b"\n")
        finally:
            os.close(file)

    def rows(self) -> list[Row]:
        """Whole lines only: a worker may be writing."""
        if not self._path.exists():
            return []
        *lines, _ = self._path.read_text().split("\n")
        return [Row(**json.loads(line)) for line in lines]
