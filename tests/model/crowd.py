"""Several clients and workers at once: each thread asks at random, and writes down what it was answered.

Which request meets which is up to the machine; what each thread would like to ask is drawn from its seed.
"""

import random
import threading
from collections.abc import Callable
from typing import Any

from tests.clock import MovableClock
from tests.model.asking import Ask, Outcome, ask, ask_engine, json_value
from turnbuckle.operations import upkeep
from turnbuckle.store.database import Database, write

GRAPH = "g"
KEPT, PASSING = tuple("abcdef"), "z"  # instances that stay, and one that is deleted and made again
PAIRS = (("type", "1"), ("type", "2"))


class CommonClock(MovableClock):
    """Moved by several threads, never back."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def pass_ms(self, milliseconds: int) -> None:
        with self._lock:
            super().pass_ms(milliseconds)


class Crowd:
    """What all threads share: the store, the leases that any of them was given, and a record of what was answered."""

    def __init__(self, database: Database, graph_id: str, clock: CommonClock) -> None:
        self.database, self.graph_id, self.clock = database, graph_id, clock
        self.leases: list[dict[str, Any]] = []
        self.answered: list[tuple[Ask, Outcome]] = []
        self.broken: list[BaseException] = []

    def ask(self, kind: str, /, **fields: Any) -> Outcome:
        return self.perform(ask(kind, GRAPH, **fields))

    def perform(self, asked: Ask) -> Outcome:
        outcome = ask_engine(self.database, self.graph_id, asked)
        self.answered.append((asked, outcome))
        if asked.kind == "claim" and outcome[1]["task"] is not None:
            turn = outcome[1]["task"]["turn"]
            lease = {"workflow_id": turn["workflow_id"], "turn": turn["number"], "token": outcome[1]["task"]["token"]}
            self.leases.append(lease | {"position": len(turn["steps"])})
        return outcome

    def start(self, id: str, pair: tuple[str, str] = PAIRS[0]) -> None:
        fields = {"workflow_type": pair[0], "version": pair[1], "lease_ms": 10_000, "max_attempts": 10}
        if id in KEPT[:3]:
            fields |= {"on_exhausted": "skip", "max_attempts": 2}
        self.ask("create", id=id, state=json_value("0"), **fields)

    def run(self, threads: int, requests: int, seed: int) -> None:
        members = [Member(self, number, random.Random(f"{seed}/{number}")) for number in range(threads)]
        running = [threading.Thread(target=self._guard, args=(member.live, requests)) for member in members]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()

    def _guard(self, live: Callable[[int], None], requests: int) -> None:
        try:
            live(requests)
        except BaseException as exc:
            self.broken.append(exc)


class Member:
    """One thread: a client, a worker and upkeep, as it comes."""

    def __init__(self, crowd: Crowd, number: int, draw: random.Random) -> None:
        self.crowd, self.number, self.draw = crowd, number, draw
        self.sent = 0
        self.mine: dict[str, Any] | None = None  # the lease it was given last
        self.last: Ask | None = None

    def live(self, requests: int) -> None:
        moves = [self.send, self.signal, self.control, self.pass_time, self.upkeep, self.repeat, self.come_and_go]
        for _ in range(requests):
            if self.mine is None and self.draw.random() < 0.7:
                self.claim()
            if self.mine is None or self.draw.random() < 0.2:
                self.draw.choices(moves, (8, 4, 2, 2, 1, 2, 5))[0]()
            else:
                self.work()

    def ask(self, kind: str, /, **fields: Any) -> Outcome:
        self.last = ask(kind, GRAPH, **fields)
        return self.crowd.perform(self.last)

    def place(self) -> str:
        return self.draw.choice((*KEPT, PASSING))

    # -- from outside --------------------------------------------------------------------------------------------

    def send(self) -> None:
        self.sent += 1
        self.ask("send", workflow_id=self.place(), id=f"{self.number}/{self.sent}", message=json_value("1"))

    def signal(self) -> None:
        """To the turn of some lease: it may be there, be over, or be one of a deleted instance."""
        if self.crowd.leases:
            lease = self.draw.choice(self.crowd.leases[-8:])
            where = {"workflow_id": lease["workflow_id"], "turn": lease["turn"]}
            self.ask("signal", **where, id=f"{self.number}/{self.draw.randrange(5)}", name="go", value=json_value("1"))

    def control(self) -> None:
        """A pause, a failed turn: most instances must not be stopped for long, or nothing would happen any more."""
        action = self.draw.choice(("pause", "wake", "retry", "skip", "cancel_turn"))
        turn = None
        id = self.place()
        if action in ("retry", "skip", "cancel_turn"):
            turn = next((one["turn"] for one in reversed(self.crowd.leases) if one["workflow_id"] == id), 1)
        self.ask("control", workflow_id=id, action=action, turn=turn)
        self.ask("control", workflow_id=id, action="resume")

    def come_and_go(self) -> None:
        if self.draw.random() < 0.4:
            self.ask("delete", workflow_id=PASSING)
        else:
            self.crowd.start(PASSING, PAIRS[1])

    def pass_time(self) -> None:
        self.crowd.clock.pass_ms(self.draw.choice((1, 10, 100, 1_000, 2_000, 5_000)))

    def upkeep(self) -> None:
        while write(self.crowd.database, upkeep.settle):
            pass

    def repeat(self) -> None:
        if self.last is not None:
            self.crowd.perform(self.last)

    # -- as a worker ---------------------------------------------------------------------------------------------

    def claim(self) -> None:
        pairs = self.draw.choice((PAIRS, PAIRS[:1], PAIRS[1:], PAIRS[::-1]))
        workflows = [{"workflow_type": name, "version": version} for name, version in pairs]
        before = len(self.crowd.leases)
        _, answer = self.ask("claim", worker="same name", workflows=workflows)
        if answer["task"] is not None:
            given = [one for one in self.crowd.leases[before:] if one["token"] == answer["task"]["token"]]
            self.mine = given[0]

    def work(self) -> None:
        """One request under its own lease, or now and then under somebody else's."""
        mine = self.mine
        if self.draw.random() < 0.1 and self.crowd.leases:
            mine = self.draw.choice(self.crowd.leases[-8:])
        if mine is None:
            return
        lease = {name: mine[name] for name in ("workflow_id", "turn", "token")}
        at = {"position": mine["position"], "key": f"k{mine['position']}"}
        kind = self.draw.choices(("begin", "progress", "save", "sleep", "wait", "complete", "fail", "heartbeat"),
                                 (4, 3, 6, 1, 2, 4, 2, 2))[0]  # fmt: skip
        outcome = self._send_work(kind, lease, at)
        if outcome[0] == "ok" and kind == "save":
            mine["position"] += 1
        is_over = kind in ("sleep", "wait", "complete", "fail") or outcome == ("refused", "turn_lease_lost")
        if mine is self.mine and is_over:
            self.mine = None

    def _send_work(self, kind: str, lease: dict[str, Any], at: dict[str, Any]) -> Outcome:
        value = json_value(str(self.draw.randrange(3)))
        match kind:
            case "begin":
                return self.ask("begin", **lease, **at, kind="step", timeout_ms=5_000, heartbeat_timeout_ms=4_000)
            case "progress":
                return self.ask("progress", **lease, key=at["key"], sequence=1, details=value, checkpoint=value)
            case "save":
                return self.ask("save", **lease, **at, kind="step", output=value)
            case "sleep":
                return self.ask("save", **lease, **at, kind="sleep", delay_ms=100)
            case "wait":
                return self.ask("wait_signal", **lease, **at, name="go", timeout_ms=500)
            case "complete":
                more = {"continuation": {"message": value}} if self.draw.random() < 0.2 else {}
                return self.ask("complete", **lease, state=value, **more)
            case "fail":
                retry_at_ms = self.crowd.clock.now_ms + 10 if self.draw.random() < 0.3 else None
                return self.ask("fail", **lease, error="Error: no", retry_at_ms=retry_at_ms)
        return self.ask("heartbeat", **lease)
