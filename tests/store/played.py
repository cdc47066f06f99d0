"""Operations on one graph of a store, as the routes would call them, for tests that need an instance in a situation."""

from collections.abc import Callable
from typing import Any

from msgspec import Raw

from turnbuckle.operations import graph, instance, signal, step, turn
from turnbuckle.store.database import Database, write
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.instance import (
    WorkflowInstanceControlRequest,
    WorkflowInstanceCreateRequest,
    WorkflowMessageRequest,
)
from turnbuckle.wire.step import (
    WorkflowTurnCheckpointRequest,
    WorkflowTurnOperationRequest,
    WorkflowTurnProgressRequest,
    WorkflowTurnWaitSignalRequest,
)
from turnbuckle.wire.turn import (
    WorkflowClaimPair,
    WorkflowTurnClaimRequest,
    WorkflowTurnCompleteRequest,
    WorkflowTurnFailRequest,
    WorkflowTurnSignalRequest,
    WorkflowTurnTask,
)

NULL = Raw(b"null")


class Engine:
    """Plays clients and workers of the graph `main`; an instance's type is its id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def do(self, operation: Callable[..., Any], request: Any) -> Any:
        def work(tx: Transaction) -> Any:
            return operation(tx, graph.use(tx, "test", "main"), request)

        return write(self._database, work)

    def start(self, instance_id: str, messages: int, *, message: Raw = NULL, **options: Any) -> None:
        self.do(
            instance.create,
            WorkflowInstanceCreateRequest(id=instance_id, workflow_type=instance_id, version="v1", **options),
        )
        for number in range(1, messages + 1):
            request = WorkflowMessageRequest(workflow_id=instance_id, id=f"m{number}", message=message)
            self.do(instance.send, request)

    def claim(self, instance_id: str) -> dict[str, Any]:
        """The lease on the instance's next turn."""
        pair = WorkflowClaimPair(workflow_type=instance_id, version="v1")
        answer = self.do(turn.claim, WorkflowTurnClaimRequest(worker="w", workflows=[pair]))
        task: WorkflowTurnTask = answer.task
        return {"workflow_id": instance_id, "turn": task.turn.number, "token": task.token}

    def save_step(self, lease: dict[str, Any], position: int, **options: Any) -> None:
        request = {"kind": "step", "key": f"step{position}", **options}
        self.do(step.save, WorkflowTurnCheckpointRequest(**lease, position=position, **request))

    def complete(self, lease: dict[str, Any], state: Raw = NULL) -> None:
        self.do(turn.complete, WorkflowTurnCompleteRequest(**lease, state=state, result=state))

    def fail(self, lease: dict[str, Any], **options: Any) -> None:
        self.do(turn.fail, WorkflowTurnFailRequest(**lease, error="no", **options))

    def control(self, instance_id: str, action: Any, number: int | None = None) -> None:
        self.do(instance.control, WorkflowInstanceControlRequest(workflow_id=instance_id, action=action, turn=number))

    def listen(self, lease: dict[str, Any], position: int) -> None:
        request = WorkflowTurnWaitSignalRequest(**lease, position=position, key="ok", name="ok", timeout_ms=60_000)
        self.do(signal.wait, request)

    def signal(self, instance_id: str, number: int, event_id: str, value: Raw = NULL) -> None:
        request = WorkflowTurnSignalRequest(workflow_id=instance_id, turn=number, id=event_id, name="ok", value=value)
        self.do(signal.send, request)

    def begin(self, lease: dict[str, Any], position: int) -> None:
        request = WorkflowTurnOperationRequest(**lease, position=position, key="work", kind="tool", timeout_ms=60_000)
        self.do(step.begin, request)

    def report(self, lease: dict[str, Any], cursor: Raw) -> None:
        """Progress of the step that `begin` began."""
        request = WorkflowTurnProgressRequest(**lease, key="work", sequence=1, details=NULL, checkpoint=cursor)
        self.do(step.progress, request)
