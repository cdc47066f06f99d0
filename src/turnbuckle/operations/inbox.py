"""An instance's inbox while one operation works on it: locked, as of now, saved once.

Everything that changes a turn opens an Inbox, asks `engine` and puts the answer back; `save` then writes what
changed, sets the instance's two times and announces who can go on.
"""

import json

from turnbuckle.engine import ids
from turnbuckle.engine import instance as instance_rules
from turnbuckle.engine import run as run_rules
from turnbuckle.engine import turn as turn_rules
from turnbuckle.engine.instance import Instance
from turnbuckle.engine.operation import Operation
from turnbuckle.engine.turn import HELD, Turn
from turnbuckle.operations import hub_turn
from turnbuckle.store import instance as instances
from turnbuckle.store import run as runs
from turnbuckle.store import step as steps
from turnbuckle.store import turn as turns
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.run import WorkflowRunResultsReport


class Inbox:
    """The locked instance, the head of its inbox and the head's operation, settled as of now."""

    def __init__(self, tx: Transaction, instance: Instance, head: tuple[Turn, Operation | None] | None = None) -> None:
        """`head` is the instance's current turn, when it is loaded already."""
        self.tx = tx
        self._stored = self.instance = instance
        self.head: Turn | None = None
        self.operation: Operation | None = None
        if head is None and instance.head is not None:
            head = turns.load(tx, instance.graph_id, instance.instance_id, instance.head)
            if head is None:
                raise LookupError(f"instance {instance.instance_id} lacks its current turn {instance.head}")
        self._stand_at(head)
        if head is not None and self.head is not head[0]:
            self.save()  # now: a request that turns out to be a repeat saves nothing of its own

    @classmethod
    def open(cls, tx: Transaction, graph_id: str, instance_id: str) -> "Inbox":
        """Refused(instance_not_found) when there is none."""
        instance = instances.lock(tx, graph_id, instance_id)
        if instance is None:
            raise missing(instance_id)
        return cls(tx, instance)

    @classmethod
    def of_holder(cls, tx: Transaction, graph_id: str, instance_id: str, turn: int, token: str) -> "Inbox":
        """The same for a request under a lease. Refused(turn_lease_lost) unless the token holds that turn."""
        inbox = cls.open(tx, graph_id, instance_id)
        inbox.check_held(turn, token)
        return inbox

    def turn(self, number: int) -> Turn | None:
        """The head or any other turn of the instance."""
        if self.head is not None and self.head.number == number:
            return self.head
        found = turns.load(self.tx, self.instance.graph_id, self.instance.instance_id, number)
        return None if found is None else found[0]

    def check_held(self, turn: int, token: str) -> Turn:
        """The head, when the token holds it and it is turn number `turn`."""
        if self.head is None or self.head.number != turn:
            now = "its inbox is empty" if self.head is None else f"its current turn is {self.head.number}"
            what = f"the token does not hold turn {turn} of {self.instance.instance_id}: {now}"
            raise Refused("turn_lease_lost", what)
        turn_rules.hold(self.head, ids.token_hash(token))
        return self.head

    @property
    def running(self) -> Operation | None:
        """The operation that the holder runs right now."""
        assert self.head is not None
        return self.operation if turn_rules.is_running(self.head, self.operation) else None

    # -- changes -------------------------------------------------------------------------------------------------

    def put(self, turn: Turn, results: WorkflowRunResultsReport | None = None) -> None:
        """The head as a decision left it. A run that ended gets its record; a turn that left the inbox makes room."""
        before = self.head
        assert before is not None
        turn = instance_rules.conclude(self.instance, before, turn)
        if turn_rules.has_ended_run(before, turn):
            self._record_run(turn, results)
        self.head = turn
        self._write(before, turn)
        if turn.finished_at_ms is not None:
            self._move_on(turn)

    def put_behind(self, before: Turn, turn: Turn) -> None:
        """A turn that waits behind the head, as a decision left it."""
        self._write(before, turn)
        if turn.finished_at_ms is not None:
            self.instance = instance_rules.let_go(self.instance, turn, 0, self.instance.head, self.tx.now_ms)

    def _write(self, before: Turn, turn: Turn) -> None:
        turns.save(self.tx, before, turn)
        if turn.has_ended:
            self.tx.announce("finished", turn.graph_id, turn.instance_id, str(turn.number))
            hub_turn.note(self.tx, turn)

    def put_operation(self, operation: Operation) -> None:
        if self.operation is None:
            steps.add_operation(self.tx, operation)
        else:
            steps.save_operation(self.tx, self.operation, operation)
        self.operation = operation

    def admit(self, turn: Turn) -> None:
        """A new turn at the tail."""
        turns.add(self.tx, turn)
        self.instance = instance_rules.admit(self.instance, self.tx.now_ms)
        if self.head is None:
            self.head = turn

    def save(self) -> None:
        """Write the instance, with the times at which something happens next, and announce a claimable head."""
        new = instance_rules.schedule(self.instance, self.head, self.operation)
        instances.save(self.tx, self._stored, new)
        is_held = self.head is not None and self.head.status == HELD
        if new.claimable_at_ms is not None and not is_held and new.claimable_at_ms != self._stored.claimable_at_ms:
            topic = ("ready", new.graph_id, new.workflow_type, new.version)
            self.tx.announce(*topic, at_ms=new.claimable_at_ms)
        self._stored = self.instance = new

    # -- loading and settling ------------------------------------------------------------------------------------

    def _stand_at(self, head: tuple[Turn, Operation | None] | None) -> None:
        """Let what time alone decides happen: an attempt whose lease or deadline has passed fails."""
        self.head, self.operation = head or (None, None)
        if self.head is None:
            return
        settled = turn_rules.as_of(self.head, self.operation, self.instance.max_attempts, self.tx.now_ms)
        if settled is not self.head:
            self.put(settled)

    def _move_on(self, gone: Turn) -> None:
        changes = 0 if self.operation is None else self.operation.changes
        has_more = self.instance.pending > 1
        where = (gone.graph_id, gone.instance_id, gone.number)
        head = turns.next_unfinished(self.tx, *where) if has_more else None
        number = None if head is None else head[0].number
        assert gone.finished_at_ms is not None
        self.instance = instance_rules.let_go(self.instance, gone, changes, number, gone.finished_at_ms)
        self._stand_at(head)

    def _record_run(self, turn: Turn, results: WorkflowRunResultsReport | None) -> None:
        log = [{"key": key, "at_ms": at_ms} for key, at_ms in steps.times(self.tx, turn)]
        saved_steps = json.dumps(log).encode()
        runs.add(self.tx, run_rules.end(self.instance, turn, saved_steps, self.operation, results))


def missing(instance_id: str) -> Refused:
    return Refused("instance_not_found", f"there is no instance {instance_id!r} in this graph")
