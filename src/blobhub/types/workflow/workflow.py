"""The typed module of `blobhub.compute.workflow` blobs (blobhub 4.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from blobhub.types.typed_module import TypedModule
from blobhub.types.workflow.execution import Execution, execution_record
from blobhub.types.workflow.input_data import input_entries
from blobhub.types.workflow.reference import parse_reference
from blobhub.types.workflow.session import session_id_for


class Workflow(TypedModule):
    TYPE: ClassVar[str] = "blobhub.compute.workflow"

    def execute(
        self,
        reference: str | Mapping[str, Any],
        *,
        input_data: Mapping[str, Mapping[str, Any]] | None = None,
        session: str | None = None,
        pause_before: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> Execution:
        """A new run of the definition, as soon as it exists: its status is `creating`.

        `reference` names the definition, on this revision or on another that the credential can read.
        `input_data` maps the alias of a data component to its value. `session` is an id or an alias; a new session
        for None, and under an alias nobody has. At most three requests, of which only the last can start a run.

        Ours, not of the reference SDK, and sent only when given: `pause_before`, ids of components before which the
        run stands still until `resume`; `dry_run`, which catches every outside effect instead of having it.

        ValueError for a malformed reference and a blank session, TypeError for input_data, both before anything is
        sent; then PermissionDenied, Conflict and CommandError: nothing ran. After ServerError and NetworkError that is
        not RequestNotSent a run may have started: look before you repeat it.
        """
        workflow = parse_reference(reference)
        entries = input_entries(input_data)
        components = _component_ids(pause_before)
        session_id = session_id_for(self.revision, session)
        answer = self.revision.command(
            "create_execution",
            target={"session": session_id},
            workflow=workflow,
            input_data=entries,
            pause_before=components,
            dry_run=True if dry_run else None,
        )
        return Execution(self.revision, execution_record(answer))


def _component_ids(pause_before: Sequence[str] | None) -> list[str] | None:
    if pause_before is None:
        return None
    if isinstance(pause_before, str) or not all(isinstance(component_id, str) for component_id in pause_before):
        raise TypeError(f"pause_before is a list of component ids, got {pause_before!r}")
    return list(pause_before)
