"""A second engine, small and slow, written from the protocol alone, that the real one is compared with.

Everything is in memory and changed in place; there is no store and no upkeep. It makes no tokens and no effect
prefixes: it learns them from the real claims and holds the real engine to them from then on. A request is a struct
of the wire; what is answered is in seen.py. Source: lbb-engine 3, 4, 9 and the decisions.
"""

import json
from typing import Any

from msgspec import UNSET, Raw

from tests.model.seen import CANCELLED, COMPLETED, FAILED, HELD, OPEN, Instance, Shown, Turn

SECOND_MS, DAY_MS = 1_000, 86_400_000
EXPIRED = ("lease expired", "operation timed out", "operation stopped reporting progress")  # P2


class Refusal(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Reference:
    def __init__(self, now_ms: int, steps_per_turn: int, signals_per_turn: int) -> None:
        self.now_ms = now_ms
        self.steps_per_turn, self.signals_per_turn = steps_per_turn, signals_per_turn
        self.instances: dict[tuple[str, str], Instance] = {}
        self.tokens: set[str] = set()
        self.prefixes: set[str] = set()

    def pass_to(self, now_ms: int) -> None:
        """Time passes; an attempt whose lease or deadline ends on the way fails at that moment."""
        self.now_ms = now_ms
        for instance in self.instances.values():
            head = instance.head
            if head is not None and head.phase == HELD and (at_ms := attempt_end_ms(head)) <= now_ms:
                self._attempt_failed(instance, head, EXPIRED, at_ms, is_final=False)
                if head.finished_at_ms is not None:
                    instance.passed_over_at_ms = at_ms

    # -- from outside --------------------------------------------------------------------------------------------

    def create(self, graph: str, ask: Any) -> Shown:
        state = text(ask.state)
        settings = (ask.workflow_type, ask.version, ask.lease_ms, ask.max_attempts, ask.on_exhausted)
        request = (*settings, canonical(state))
        if (graph, ask.id) not in self.instances:
            self.instances[graph, ask.id] = Instance(ask.id, *settings, state, request, self.now_ms)
        instance = self.instances[graph, ask.id]
        check("conflict", instance.request == request)  # P4
        return instance.show(self.now_ms)

    def send(self, graph: str, ask: Any) -> Shown:
        instance, message = self.find(graph, ask.workflow_id), text(ask.message)
        if ask.id not in instance.ids:
            origin = None if ask.origin is None else {"kind": ask.origin.kind, "revision": ask.origin.revision}
            return self._show(instance, self._admit(instance, ask.id, ask.id, message, origin))
        number, body = instance.ids[ask.id]
        check("conflict", body == canonical(message))  # P5
        if number <= instance.pruned:
            return {"number": number, "message_id": ask.id, "status": COMPLETED, "steps": []}  # decision 7
        return self._show(instance, instance.turns[number])

    def _admit(self, instance: Instance, id: str, shown_id: str, message: str, origin: Shown | None) -> Turn:
        instance.last += 1
        instance.ids[id] = (instance.last, canonical(message))
        turn = instance.turns[instance.last] = Turn(
            instance.last, shown_id, message, origin, self.now_ms, ready_at_ms=self.now_ms
        )
        return turn

    def signal(self, graph: str, ask: Any) -> Shown:
        instance, value = self.find(graph, ask.workflow_id), json.loads(text(ask.value))
        turn = self._turn(instance, ask.turn)
        for known in (signal for signal in turn.signals if signal["id"] == ask.id):
            check("conflict", (known["name"], same(known["value"])) == (ask.name, canonical(text(ask.value))))
            return self._show(instance, turn)
        check("conflict", turn.finished_at_ms is None and len(turn.signals) < self.signals_per_turn)
        arrived = {"id": ask.id, "name": ask.name, "value": value, "at_ms": self.now_ms, "consumed_by": None}
        turn.signals.append(arrived)
        if turn.wait == "signal" and turn.ready_at_ms > self.now_ms and turn.steps[-1]["signal_name"] == ask.name:
            _hear(turn.steps[-1], arrived)
            turn.wait, turn.ready_at_ms = None, self.now_ms
        return self._show(instance, turn)

    def control(self, graph: str, ask: Any) -> Shown:
        instance, action = self.find(graph, ask.workflow_id), ask.action
        if action in ("pause", "resume"):
            instance.paused = action == "pause"
        if action in ("resume", "wake"):  # neither ends a sleep or a wait for a signal (P15)
            head = instance.head
            if head is not None and (head.wait == "deferred" or (head.wait, action) == ("retry", "resume")):
                head.ready_at_ms = min(head.ready_at_ms, self.now_ms)
        if action in ("retry", "skip", "cancel_turn"):
            check("invalid_param", ask.turn is not None)
            self._command(instance, action, ask.turn)
        return instance.show(self.now_ms)

    def _command(self, instance: Instance, action: str, number: int) -> None:
        if action == "cancel_turn":
            turn = self._turn(instance, number)
            check("conflict", turn.finished_at_ms is None)
            return self._finish(instance, turn, CANCELLED, self.now_ms)
        head = instance.head
        if head is None or (head.number, head.phase) != (number, FAILED):
            raise Refusal("conflict")
        if action == "skip":
            return self._finish(instance, head, FAILED, self.now_ms)
        head.phase, head.ready_at_ms, head.failures, head.error = OPEN, self.now_ms, 0, None  # P8
        return None

    def delete(self, graph: str, ask: Any) -> Shown:
        return {"deleted": self.instances.pop((graph, ask.workflow_id), None) is not None}

    # -- claims --------------------------------------------------------------------------------------------------

    def claim(self, graph: str, ask: Any, task: Shown | None) -> Shown:
        """What the answer must be, given the `task` that the real engine chose among those it may choose."""
        pairs = {(pair.workflow_type, pair.version) for pair in ask.workflows}
        allowed = [id for pair in pairs for id in self._next_of(graph, pair)]
        if task is None:
            assert not allowed, f"no task, though {allowed} are ready"
            return {"task": None}
        id, token = task["turn"]["workflow_id"], task["token"]
        assert id in allowed, f"{id} was claimed, though it is the turn of {allowed}"
        assert token not in self.tokens, "a token was given twice"
        self.tokens.add(token)
        instance = self.find(graph, id)
        turn = instance.turns[task["turn"]["number"]]
        assert turn is instance.head, "the turn claimed is not the first unfinished one"
        self._learn_prefix(turn, task["effect_prefix"])
        if turn.run is None or turn.run["ended_at_ms"] is not None:  # else it goes on after a sleep or a signal (P3)
            started_ms = max(self.now_ms, turn.run["started_at_ms"] + 1 if turn.run else 0)  # P31
            run_id = f"{started_ms:013d}-{id}-{turn.number}"
            queue = len(instance.pending)
            turn.run = {"id": run_id, "started_at_ms": started_ms, "ended_at_ms": None, "queue_before": queue}
        turn.attempt += turn.counts
        turn.phase, turn.wait, turn.counts, turn.worker, turn.token = HELD, None, False, ask.worker, token
        turn.lease_end_ms = self.now_ms + instance.lease_ms
        shown = {"workflow_type": instance.workflow_type, "state": json.loads(instance.state), "token": token}
        shown |= {"lease_ms": instance.lease_ms, "effect_prefix": turn.prefix}
        return {"task": shown | {"turn": self._show(instance, turn)}}

    def _learn_prefix(self, turn: Turn, prefix: str) -> None:
        assert turn.prefix is not None or prefix not in self.prefixes, "two turns have one effect prefix"
        turn.prefix = turn.prefix or prefix
        self.prefixes.add(prefix)

    def _next_of(self, graph: str, pair: tuple[str, str]) -> list[str]:
        """Of a pair the instance that has been claimable longest, then the lowest id (P18).

        Several when it may vary: an instance whose failed turn time has let go of counts from then on, or from its
        next message, as upkeep came first or the claim.
        """
        ready = []
        for (of_graph, id), instance in self.instances.items():
            at_ms = claimable_at_ms(instance)
            is_asked = (of_graph, instance.workflow_type, instance.version) == (graph, *pair)
            if is_asked and at_ms is not None and at_ms <= self.now_ms:
                is_fresh = instance.head is not None and instance.head.attempt == 0
                over_at_ms = instance.passed_over_at_ms if is_fresh else None
                ready.append((at_ms, at_ms if over_at_ms is None else max(at_ms, over_at_ms), id))
        latest = min(((late_ms, id) for _, late_ms, id in ready), default=None)
        return [id for early_ms, _, id in ready if latest is not None and (early_ms, id) <= latest]

    # -- under a lease -------------------------------------------------------------------------------------------

    def heartbeat(self, graph: str, ask: Any) -> Shown:
        instance, head = self._held(graph, ask)
        head.lease_end_ms = self.now_ms + instance.lease_ms
        return self._show(instance, head)

    def begin(self, graph: str, ask: Any) -> Shown:
        check("invalid_param", (ask.heartbeat_timeout_ms or 0) <= ask.timeout_ms)
        instance, head = self._held(graph, ask)
        self._check_new(head, ask.position, ask.key)
        if head.operation is None or head.operation["key"] != ask.key:  # else nothing restarts (P26)
            if head.cursor is None or head.cursor[0] != ask.key:
                head.cursor = (ask.key, "null")  # P27
            head.operation = {"key": ask.key, "kind": ask.kind, "attempt": head.attempt, "sequence": 0}
            head.operation |= {"started_at_ms": self.now_ms, "deadline_ms": self.now_ms + ask.timeout_ms}
            head.operation |= {"timeout_ms": ask.timeout_ms, "heartbeat_timeout_ms": ask.heartbeat_timeout_ms}
            head.operation |= {"last_heartbeat_ms": self.now_ms, "details": None}
            head.progress = None
        return self._show(instance, head)

    def progress(self, graph: str, ask: Any) -> Shown:
        instance, head = self._held(graph, ask)
        operation = head.operation
        if operation is None or operation["key"] != ask.key:
            raise Refusal("conflict")
        if ask.sequence > operation["sequence"]:  # P25
            told = json.loads(text(ask.details))
            operation |= {"sequence": ask.sequence, "details": told, "last_heartbeat_ms": self.now_ms}
            head.cursor = (ask.key, text(ask.checkpoint))
            if isinstance(told, dict) and "phase" in told:  # untyped details do not clear it (decision 12)
                head.progress = told
        return self._show(instance, head)

    def save(self, graph: str, ask: Any) -> Shown:
        check("invalid_param", ask.kind != "signal" and (ask.kind == "sleep") == (ask.delay_ms is not None))
        output = text(ask.output)
        identity = (ask.key, ask.kind, canonical(output), ask.delay_ms)
        if not self._is_saved(graph, ask, identity):
            _, head = self._held(graph, ask)
            step = self._add_step(head, identity, key=ask.key, kind=ask.kind, output=json.loads(output))
            if ask.delay_ms is not None:
                step |= {"delay_ms": ask.delay_ms, "wake_at_ms": self.now_ms + ask.delay_ms}
                self._park(head, "sleep", step["wake_at_ms"])
        return self._show_asked(graph, ask)

    def wait_signal(self, graph: str, ask: Any) -> Shown:
        identity = (ask.key, "signal", ask.name, ask.timeout_ms)
        if not self._is_saved(graph, ask, identity):
            _, head = self._held(graph, ask)
            unheard = {"received": False, "value": None}  # what a timeout makes of it
            step = self._add_step(head, identity, key=ask.key, kind="signal", output=unheard)
            step |= {"delay_ms": ask.timeout_ms, "wake_at_ms": self.now_ms + ask.timeout_ms, "signal_name": ask.name}
            early = [one for one in head.signals if (one["name"], one["consumed_by"]) == (ask.name, None)]
            if early:
                _hear(step, early[0])
            else:
                self._park(head, "signal", step["wake_at_ms"])
        return self._show_asked(graph, ask)

    def complete(self, graph: str, ask: Any) -> Shown:
        next_message = None if ask.continuation is None else text(ask.continuation.message)
        values = (text(ask.state), None if ask.result is UNSET else text(ask.result), next_message)
        body = (ask.token, *(value if value is None else canonical(value) for value in values))
        done = self.find(graph, ask.workflow_id).turns.get(ask.turn)
        if done is None or done.completion != body:  # P14
            instance, head = self._held(graph, ask)
            if next_message is not None:
                head.continued_to = self._continue(instance, head, next_message)
            head.completion, head.error, head.state_after, instance.state = body, None, values[0] or "", values[0] or ""
            head.result = values[1] or "null"
            instance.completed += 1
            self._finish(instance, head, COMPLETED, self.now_ms)
        return self._show_asked(graph, ask)

    def _continue(self, instance: Instance, head: Turn, message: str) -> int:
        id = f"continuation/{head.prefix}"
        origin = {"kind": "continuation", "message_id": head.message_id, "turn": head.number}
        origin |= {"revision": (head.origin or {}).get("revision")}
        return self._admit(instance, f"\1{id}", id, message, origin).number

    def fail(self, graph: str, ask: Any) -> Shown:
        check("invalid_param", not ask.non_retryable or ask.retry_at_ms is None)
        instance, head = self._held(graph, ask)
        if ask.retry_at_ms is None:
            self._attempt_failed(instance, head, ask.error, self.now_ms, ask.non_retryable)
        else:
            check("invalid_param", ask.retry_at_ms <= self.now_ms + 366 * DAY_MS)
            head.error, head.deferred_at_ms = ask.error, self.now_ms
            self._park(head, "deferred", max(ask.retry_at_ms, self.now_ms + SECOND_MS))
            self._end_run(instance, head, self.now_ms)
        return self._show(instance, head)

    # -- rules that several share --------------------------------------------------------------------------------

    def find(self, graph: str, workflow_id: str) -> Instance:
        check("instance_not_found", (graph, workflow_id) in self.instances)
        return self.instances[graph, workflow_id]

    def _turn(self, instance: Instance, number: int) -> Turn:
        check("turn_not_found", number in instance.turns)
        return instance.turns[number]

    def _held(self, graph: str, ask: Any) -> tuple[Instance, Turn]:
        instance = self.find(graph, ask.workflow_id)
        head = instance.head
        if head is None or (head.number, head.phase, head.token) != (ask.turn, HELD, ask.token):
            raise Refusal("turn_lease_lost")
        return instance, head

    def _is_saved(self, graph: str, ask: Any, identity: tuple[Any, ...]) -> bool:
        """Whether this very step is saved there. A sleep or a wait has given up its token by then (P11)."""
        turn = self.find(graph, ask.workflow_id).turns.get(ask.turn)
        saved = turn.identities[ask.position] if turn is not None and ask.position < len(turn.identities) else None
        if saved == identity and identity[1] != "step":
            return True
        _, head = self._held(graph, ask)
        if saved is None:
            self._check_new(head, ask.position, ask.key)
        check("conflict", saved in (None, identity))
        return saved is not None

    def _check_new(self, head: Turn, position: int, key: str) -> None:
        check("conflict", position == len(head.steps) < self.steps_per_turn)
        check("conflict", key not in [step["key"] for step in head.steps])

    def _add_step(self, head: Turn, identity: tuple[Any, ...], **step: Any) -> Shown:
        unset = {"delay_ms": None, "signal_name": None, "wake_at_ms": None}
        head.steps.append(step | unset | {"at_ms": self.now_ms})
        head.identities.append(identity)
        head.operation = head.progress = head.cursor = None
        return head.steps[-1]

    def _attempt_failed(self, instance: Instance, head: Turn, error: Any, at_ms: int, is_final: bool) -> None:
        head.failures, head.counts, head.error = head.failures + 1, True, error
        if head.failures < instance.max_attempts and not is_final:
            self._park(head, "retry", at_ms + backoff_ms(head.failures))
        elif instance.on_exhausted == "skip":
            return self._finish(instance, head, FAILED, at_ms)
        else:
            self._park(head, None, head.ready_at_ms)
            head.phase = FAILED
        return self._end_run(instance, head, at_ms)

    def _park(self, head: Turn, wait: str | None, ready_at_ms: int) -> None:
        head.phase, head.wait, head.ready_at_ms, head.token = OPEN, wait, ready_at_ms, None
        head.operation = head.progress = None

    def _finish(self, instance: Instance, turn: Turn, phase: str, at_ms: int) -> None:
        self._park(turn, None, turn.ready_at_ms)
        turn.phase, turn.finished_at_ms = phase, at_ms
        self._end_run(instance, turn, at_ms)

    def _end_run(self, instance: Instance, turn: Turn, at_ms: int) -> None:
        if turn.run is not None and turn.run["ended_at_ms"] is None:
            turn.run |= {"ended_at_ms": at_ms, "queue_after": len(instance.pending)}

    def _show(self, instance: Instance, turn: Turn) -> Shown:
        return instance.show_turn(turn, self.now_ms)

    def _show_asked(self, graph: str, ask: Any) -> Shown:
        instance = self.find(graph, ask.workflow_id)
        return self._show(instance, instance.turns[ask.turn])


# -- when something happens next (decision 13) -------------------------------------------------------------------


def attempt_end_ms(turn: Turn) -> int:
    """When a held turn's attempt ends by itself."""
    operation, ends = turn.operation, [turn.lease_end_ms]
    if operation is not None:
        ends.append(operation["deadline_ms"])
        if operation["heartbeat_timeout_ms"] is not None:
            ends.append(operation["last_heartbeat_ms"] + operation["heartbeat_timeout_ms"])
    return min(ends)


def claimable_at_ms(instance: Instance) -> int | None:
    head = instance.head
    if head is None or instance.paused or head.phase == FAILED:
        return None
    if head.phase == OPEN:
        return head.ready_at_ms
    if head.failures + 1 < instance.max_attempts:
        return attempt_end_ms(head) + backoff_ms(head.failures + 1)
    return attempt_end_ms(head) if instance.on_exhausted == "skip" else None


def due_at_ms(instance: Instance) -> int | None:
    head = instance.head
    return attempt_end_ms(head) if head is not None and head.phase == HELD else None


def backoff_ms(failures: int) -> int:
    return int(min(60 * SECOND_MS, SECOND_MS * 2 ** (failures - 1)))  # P1


# -- values ------------------------------------------------------------------------------------------------------


def text(value: Any) -> str:
    return "null" if value is UNSET else bytes(Raw(value)).decode()


def canonical(json_text: str) -> str:
    """The same text for the same JSON value: key order and number spelling do not matter (decision 9)."""
    return json.dumps(json.loads(json_text, parse_float=_number), sort_keys=True)


def same(value: Any) -> str:
    return canonical(json.dumps(value))


def _number(spelled: str) -> float:
    return int(float(spelled)) if float(spelled).is_integer() else float(spelled)


def _hear(step: Shown, signal: Shown) -> None:
    step["output"] = {"received": True, "value": signal["value"]}
    signal["consumed_by"] = step["key"]


def check(code: str, is_right: bool) -> None:
    if not is_right:
        raise Refusal(code)
