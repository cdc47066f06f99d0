"""The second API's operations as a store test calls them: a blob `acme/support-bot`, its draft, a definition in it."""

from dataclasses import dataclass
from typing import Any

import msgspec

from tests.clock import MovableClock
from tests.open_store import OpenStore
from turnbuckle.hub import execution as rules
from turnbuckle.operations import (
    graph,
    hub_blob,
    hub_definition,
    hub_ending,
    hub_execution,
    hub_place,
    hub_run,
    hub_session,
    instance,
    turn,
)
from turnbuckle.operations.hub_place import Place, Visitor
from turnbuckle.store import hub_blob as blobs
from turnbuckle.store import hub_execution as executions
from turnbuckle.store import hub_session as sessions
from turnbuckle.store import instance as instances
from turnbuckle.store.database import Database, read, write
from turnbuckle.store.hub_rows import Blob, Execution, Session
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_channel import WORKFLOW_BLOB
from turnbuckle.wire.hub_definition import HubCreateDefinitionRequest
from turnbuckle.wire.hub_execution import (
    HubCreateExecutionRequest,
    HubExecutionTarget,
    HubStopExecutionRequest,
    HubWorkflowReference,
)
from turnbuckle.wire.hub_run import HubRunQuery
from turnbuckle.wire.hub_session import HubCloseSessionRequest, HubCreateSessionRequest, HubDeleteSessionRequest
from turnbuckle.wire.instance import WorkflowInstanceCreateRequest, WorkflowMessageRequest
from turnbuckle.wire.turn import WorkflowClaimPair, WorkflowTurnClaimRequest, WorkflowTurnTask

ALIAS = "answer-question"


@dataclass(frozen=True)
class HubStore:
    database: Database
    clock: MovableClock
    visitor: Visitor
    revision_id: str
    blob_id: str

    @property
    def graph_id(self) -> str:
        return self.visitor.graph_id

    # -- commands ------------------------------------------------------------------------------------------------

    def command(self, operation: Any, request: Any) -> dict[str, Any]:
        """As the data channel runs it: the revision is locked first."""

        def work(tx: Transaction) -> Any:
            place: Place = hub_place.place(tx, self.visitor, self.revision_id, lock=True)
            return operation(tx, place, request)

        answer: dict[str, Any] = write(self.database, work)
        return answer

    def session(self, alias: str | None = "sdk-demo") -> str:
        request = HubCreateSessionRequest() if alias is None else HubCreateSessionRequest(alias=alias)
        return str(self.command(hub_session.create, request)["session"]["id"])

    def execute(self, session: str) -> str:
        target, workflow = HubExecutionTarget(session=session), HubWorkflowReference(definition=ALIAS)
        request = HubCreateExecutionRequest(target=target, workflow=workflow)
        return str(self.command(hub_execution.create, request)["execution"]["id"])

    def close(self, session: str) -> None:
        self.command(hub_session.close, HubCloseSessionRequest(session_id=session))

    def delete(self, session: str) -> None:
        self.command(hub_session.delete, HubDeleteSessionRequest(session_id=session))

    def stop(self, execution: str) -> None:
        self.command(hub_execution.stop, HubStopExecutionRequest(execution_id=execution))

    def set_limits(self, **values: int) -> None:
        def work(tx: Transaction) -> None:
            hub_blob.set_limits(tx, self.blob(tx), {f"workflow.{name}": value for name, value in values.items()})

        write(self.database, work)

    def blob(self, tx: Transaction) -> Blob:
        found = blobs.get(tx, self.graph_id, self.blob_id)
        assert found is not None
        return found

    # -- the runner ----------------------------------------------------------------------------------------------

    def claim(self) -> WorkflowTurnTask | None:
        pair = WorkflowClaimPair(workflow_type=rules.WORKFLOW_TYPE, version=rules.VERSION)
        request = WorkflowTurnClaimRequest(worker="flow", workflows=[pair])
        return write(self.database, lambda tx: turn.claim(tx, self.graph_id, request)).task

    def start(self) -> WorkflowTurnTask:
        """The next run, claimed and read."""
        task = self.claim()
        assert task is not None
        execution_id = task.turn.workflow_id.removeprefix("exec.")
        write(self.database, lambda tx: hub_run.get(tx, self.visitor, HubRunQuery(id=execution_id)))
        return task

    def branch(self, execution: str, name: str = "b1") -> str:
        """Another instance of the run, with a message."""
        id = f"{rules.instance_id(execution)}.{name}"
        made = WorkflowInstanceCreateRequest(
            id=id, workflow_type=rules.WORKFLOW_TYPE, version=rules.VERSION, max_attempts=1, on_exhausted="skip"
        )
        message = WorkflowMessageRequest(workflow_id=id, id="start", message=msgspec.Raw(b"null"))

        def work(tx: Transaction) -> None:
            instance.create(tx, self.graph_id, made)
            instance.send(tx, self.graph_id, message)

        write(self.database, work)
        return id

    # -- looking -------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        for piece in (hub_ending.settle_stopping, hub_ending.tell_of_ends, hub_ending.settle_sessions):
            while write(self.database, piece):
                pass

    def row(self, execution: str) -> Execution:
        found = read(self.database, lambda tx: executions.get(tx, self.graph_id, execution))
        assert found is not None
        return found

    def session_row(self, session: str) -> Session | None:
        return read(self.database, lambda tx: sessions.get(tx, self.graph_id, session))

    def open_runs(self, session: str) -> list[str]:
        return read(self.database, lambda tx: executions.open_in(tx, self.graph_id, session, 1_000))

    def is_idle(self, instance_id: str) -> bool:
        """Whether the engine's instance has no unfinished turn."""
        found = read(self.database, lambda tx: instances.get(tx, self.graph_id, instance_id))
        return found is not None and found.head is None


def hub_store(store: OpenStore) -> HubStore:
    def prepare(tx: Transaction) -> tuple[Visitor, str, str]:
        where = graph.use(tx, "test", graph.HUB)
        acme = hub_blob.create_org(tx, where, "acme")
        blob, draft = hub_blob.create_blob(tx, acme, "support-bot", WORKFLOW_BLOB)
        visitor = Visitor("test", where, "a-user", "a user", "admin", "user")
        place = hub_place.place(tx, visitor, draft.revision_id, lock=True)
        hub_definition.create(tx, place, HubCreateDefinitionRequest(alias=ALIAS, category="workflow"))
        return visitor, draft.revision_id, blob.blob_id

    visitor, revision_id, blob_id = write(store.database, prepare)
    return HubStore(store.database, store.clock, visitor, revision_id, blob_id)
