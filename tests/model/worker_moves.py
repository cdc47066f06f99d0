"""What a worker sends: single requests, right or wrong, and what it does in a row."""

from functools import partial
from typing import Any

from tests.model.asking import json_value
from tests.model.reference import attempt_end_ms
from tests.model.seen import FAILED, Turn
from tests.model.world import World


class WorkerMoves(World):
    def heartbeat(self, which: int, after_ms: int) -> None:
        graph, lease, _ = self.lease(which)
        self.pass_to(self.clock.now_ms + after_ms)
        self.ask("heartbeat", graph, **lease)

    def begin(self, which: int, key: str, offset: int, timeout_ms: int, silence_ms: int | None) -> None:
        graph, lease, turn = self.lease(which)
        fields = {"kind": "step", "timeout_ms": timeout_ms, "heartbeat_timeout_ms": silence_ms}
        self.ask("begin", graph, **lease, **position(turn, key, offset), **fields)

    def progress(self, which: int, key: str, ahead: int, details: str, cursor: str) -> None:
        graph, lease, turn = self.lease(which)
        operation = (turn and turn.operation) or {"key": "k0", "sequence": 1}
        fields = {
            "key": operation["key"] if key == "running" else key,
            "sequence": max(1, operation["sequence"] + ahead),
        }
        self.ask("progress", graph, **lease, **fields, details=json_value(details), checkpoint=json_value(cursor))

    def save(self, which: int, key: str, offset: int, output: str) -> None:
        graph, lease, turn = self.lease(which)
        self.ask("save", graph, **lease, **position(turn, key, offset), kind="step", output=json_value(output))

    def sleep(self, which: int, key: str, offset: int, delay_ms: int | None) -> None:
        graph, lease, turn = self.lease(which)
        self.ask("save", graph, **lease, **position(turn, key, offset), kind="sleep", delay_ms=delay_ms)

    def wait_signal(self, which: int, key: str, offset: int, name: str, timeout_ms: int) -> None:
        graph, lease, turn = self.lease(which)
        self.ask("wait_signal", graph, **lease, **position(turn, key, offset), name=name, timeout_ms=timeout_ms)

    def complete(self, which: int, state: str, result: str | None, next_message: str | None) -> None:
        graph, lease, _ = self.lease(which)
        more: dict[str, Any] = {} if result is None else {"result": json_value(result)}
        if next_message is not None:
            more["continuation"] = {"message": json_value(next_message)}
        self.ask("complete", graph, **lease, state=json_value(state), **more)

    def fail(self, which: int, is_final: bool, retry_in_ms: int | None) -> None:
        graph, lease, _ = self.lease(which)
        retry_at_ms = None if retry_in_ms is None else self.clock.now_ms + retry_in_ms
        self.ask("fail", graph, **lease, error="Error: no", non_retryable=is_final, retry_at_ms=retry_at_ms)

    # -- in a row ------------------------------------------------------------------------------------------------

    def step(self, parts: int, cursor: str, output: str, twice: bool = False) -> None:
        """As a worker runs a step: begun, reported on, saved; or only the first `parts` of it, maybe each twice."""
        calls = (
            partial(self.begin, 0, "new", 0, 60_000, None),
            partial(self.progress, 0, "running", 1, '{"phase":"read","done":1}', cursor),
            partial(self.save, 0, "new", 0, output),
        )
        for call in calls[:parts]:
            call()
            if twice:
                self.repeat_at_once()

    def crash(self, how: str, cursor: str, output: str) -> None:
        """An attempt ends in the middle of a step, and the next goes on from its cursor."""
        self.step(2, cursor, "null")
        if not self.holders():
            return
        graph, lease = self.holders()[0]
        instance = self.reference.find(graph, lease["workflow_id"])
        if how != "expire":
            self.fail(0, False, None if how == "fail" else 1_000)
        elif instance.head is not None:
            self.pass_to(attempt_end_ms(instance.head))
        if self.claim_of(graph, instance):
            self.step(3, cursor, output)

    def second_chance(self) -> None:
        """A turn fails for good, a person lets it run again, and it fails again."""
        self.fail(0, True, None)
        for (graph, id), one in list(self.reference.instances.items()):
            if one.head is not None and one.head.phase == FAILED:
                self.ask("control", graph, workflow_id=id, action="retry", turn=one.head.number)
                if self.claim_of(graph, one):
                    self.fail(0, False, None)

    def listen_late(self, name: str, count: int, values: tuple[str, str]) -> None:
        """One or two signals are there before the turn waits for one."""
        graph, lease, _ = self.lease(0)
        place = {"workflow_id": lease["workflow_id"], "turn": lease["turn"]}
        for number, value in enumerate(values[:count]):
            self.ask("signal", graph, **place, id=f"early {number}", name=name, value=json_value(value))
        self.wait_signal(0, "new", 0, name, 60_000)

    def park(self, sleeps: bool, then: str) -> None:
        """A turn sleeps or listens, and a person looks in: neither is ended by hand (P15)."""
        graph, lease, _ = self.lease(0)
        if sleeps:
            self.sleep(0, "new", 0, 1_000)
        else:
            self.wait_signal(0, "new", 0, "go", 60_000)
        self.ask("control", graph, workflow_id=lease["workflow_id"], action=then)


def position(turn: Turn | None, key: str, offset: int) -> dict[str, Any]:
    at = max(0, (0 if turn is None else len(turn.steps)) + offset)
    return {"position": at, "key": f"k{at}" if key == "new" else key}
