"""What the demo looks at, while it runs and at its end: the server's answers, the ledger, the pages themselves."""

import hashlib
import json
import subprocess
from collections import Counter
from typing import Any

from examples.demo.ledger import Ledger
from examples.demo.stage import Stage
from examples.demo.verdict import Facts, Kill, Place, Turn
from examples.demo.worker import STEPS, words_of

from lbb import AsyncLbbClient

_INSTANCES = "/v1/workflows/instances"


class Observer:
    """Asks the server as any client would; `pages` are the paths below the docs folder by instance."""

    def __init__(self, client: AsyncLbbClient, stage: Stage) -> None:
        self._client = client
        self._stage = stage
        self.ledger = Ledger(stage.ledger)
        self.pages: dict[str, list[str]] = {}
        for path in sorted(stage.docs.rglob("*.md")):
            folder = path.parent.relative_to(stage.docs)
            name = "docs" if folder.name == "" else "docs." + ".".join(folder.parts)
            self.pages.setdefault(name, []).append(str(path.relative_to(stage.docs)))

    def effects(self) -> int:
        """Steps that have had their effect so far."""
        return len({row.effect_id for row in self.ledger.rows() if row.kind == "effect"})

    async def unfinished(self) -> int:
        found = await self._client.workflows.list()
        return sum(instance.pending_messages for instance in found.instances)

    async def in_flight(self, worker: str | None) -> frozenset[Place]:
        """The turns that are held, by this worker or by any."""
        found = await self._client.workflows.list()
        heads = ((instance.id, instance.current_turn) for instance in found.instances)
        return frozenset(
            (id, turn.number)
            for id, turn in heads
            if turn is not None and turn.status == "running" and worker in (None, turn.worker)
        )

    async def facts(self, sent: list[tuple[str, str]], kills: list[Kill]) -> Facts:
        turns, words = [], {}
        for instance in self.pages:
            turns += await self._turns(instance)
            words[instance] = (await self._get("/get", id=instance))["state"]["words"]
        return Facts(
            sent=sent,
            turns=turns,
            rows=self.ledger.rows(),
            kills=kills,
            words=words,
            counted={instance: self._count(paths) for instance, paths in self.pages.items()},
            steps=STEPS,
        )

    def problems(self) -> list[str]:
        """What `turnbuckle doctor` finds in the store."""
        try:
            self._stage.turnbuckle("doctor", "--data", self._stage.store)
        except subprocess.CalledProcessError as failed:
            return [line for line in f"{failed.stdout}{failed.stderr}".splitlines() if line.strip()]
        return []

    async def _turns(self, instance: str) -> list[Turn]:
        runs = (await self._get("/runs", id=instance, limit=200))["runs"]
        first_claims = {run["turn"]: run["started_at_ms"] for run in runs}  # newest first: the oldest one stays
        lost = Counter(run["turn"] for run in runs if run["outcome"] == "retried")
        found = (await self._get("/history", id=instance, limit=50))["turns"]
        return [
            Turn(
                instance=instance,
                number=turn["number"],
                message_id=turn["message_id"],
                status=turn["status"],
                steps={step["key"]: _digest(step["output"]) for step in turn["steps"]},
                took_ms=turn["finished_at_ms"] - first_claims[turn["number"]],
                lost_attempts=lost[turn["number"]],
            )
            for turn in found
        ]

    async def _get(self, path: str, **params: Any) -> dict[str, Any]:
        answer: dict[str, Any] = (await self._client.raw_request("GET", _INSTANCES + path, params=params)).data
        return answer

    def _count(self, paths: list[str]) -> int:
        return sum(len(words_of((self._stage.docs / path).read_text())) for path in paths)


def _digest(output: Any) -> str:
    return hashlib.sha256(json.dumps(output, sort_keys=True).encode()).hexdigest()[:16]
