"""The kinds of main triggers. One module each; this table is all that the rest knows of them."""

from typing import Protocol

import msgspec

from turnbuckle.graph.head import GraphHead
from turnbuckle.graph.named import Named, invalid
from turnbuckle.operations import schedule, stream, watch
from turnbuckle.operations.caller import Caller
from turnbuckle.operations.progress import Progress
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.named import NamedWorkflowTrigger, NamedWorkflowTriggerRequest
from turnbuckle.wire.watch import WorkflowQueueQuery, WorkflowQueueResponse


class Trigger(Protocol):
    """What a kind can do. `named` is locked in everything that writes."""

    def resolve(self, tx: Transaction, head: GraphHead, asked: msgspec.Struct, param: str) -> bytes:
        """The settings as they are stored. Refused(workflow_param_invalid) when they mean nothing here."""

    def begin(self, tx: Transaction, head: GraphHead, named: Named) -> None:
        """Its rows for a new workflow."""

    def change(self, tx: Transaction, head: GraphHead, old: Named, new: Named) -> None:
        """Its rows for changed settings."""

    def end(self, tx: Transaction, named: Named) -> None:
        """The workflow is deleted."""

    def waiting(self, tx: Transaction) -> list[tuple[str, str]]:
        """(graph id, name) of workflows of this kind that `advance` has something to do for now; no paused ones."""

    def advance(self, tx: Transaction, head: GraphHead, named: Named, most: int) -> bool:
        """Do a piece that touches about `most` instances or events; whether there may be more now."""

    def run_now(self, tx: Transaction, head: GraphHead, named: Named, caller: Caller) -> None:
        """A person asks for it."""

    def pending(self, tx: Transaction, named: Named) -> int:
        """How much waits for a message."""

    def shown(self, tx: Transaction, head: GraphHead, named: Named) -> NamedWorkflowTrigger:
        """The settings for a reader."""

    def progress(self, tx: Transaction, head: GraphHead, named: Named) -> Progress:
        """How far it has come."""

    def queue(self, tx: Transaction, head: GraphHead, named: Named, query: WorkflowQueueQuery) -> WorkflowQueueResponse:
        """What waits, a page."""


KINDS: dict[str, Trigger] = {"watch": watch, "schedule": schedule, "stream": stream}


def kind_of(asked: NamedWorkflowTriggerRequest, param: str) -> tuple[str, msgspec.Struct]:
    """The one kind that a request names, with its settings."""
    named = {kind: getattr(asked, kind) for kind in ("watch", "schedule", "stream", "review")}
    given = {kind: settings for kind, settings in named.items() if settings is not None}
    if len(given) != 1:
        raise invalid(param, f"got {' and '.join(given) or 'no kind'}, expected one of {', '.join(named)}")
    ((kind, settings),) = given.items()
    if kind != "review" and kind not in KINDS:
        raise invalid(f"{param}.{kind}", "this server has no such trigger")
    return kind, settings
