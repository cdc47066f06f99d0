"""Revisions of a blob: listed, read, branched from the committed default, committed (blobhub 2.4)."""

import uuid
from typing import Any

import msgspec

from turnbuckle.hub import revision as rules
from turnbuckle.operations import hub_blob, hub_cursor, hub_place
from turnbuckle.operations.hub_place import DEFAULT, Place, Visitor, check_writer, denied, revision_of
from turnbuckle.operations.hub_time import micro_iso, now_us
from turnbuckle.store import hub_blob as blobs
from turnbuckle.store import hub_definition as definitions
from turnbuckle.store import hub_execution as executions
from turnbuckle.store import hub_revision as revisions
from turnbuckle.store.hub_rows import Blob, Operation, Revision
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_blob import (
    HubCommitRevisionRequest,
    HubCreateRevisionRequest,
    HubListRevisionsQuery,
    HubSetDefaultRevisionRequest,
)
from turnbuckle.wire.hub_errors import HubRefused

_ALL = 1_000_000  # definitions of a revision: a limit keeps them few
CATEGORIES = ("workflow", "playground")
_NEWEST = 2**62


def get(tx: Transaction, visitor: Visitor, place: Place) -> dict[str, Any]:
    return {"revision": of_revision(place.revision)}


def get_of_blob(tx: Transaction, visitor: Visitor, blob: Blob, ref: str) -> dict[str, Any]:
    """HubRefused(revision_not_found) when the blob has none such, or no default."""
    found = revision_of(tx, blob, ref)
    if found is None:
        what = "no default revision" if ref == DEFAULT else f"no revision {ref}"
        raise HubRefused("revision_not_found", f"the blob {blob.alias} has {what}")
    return {"revision": of_revision(found)}


def list_page(tx: Transaction, visitor: Visitor, blob: Blob, query: HubListRevisionsQuery) -> dict[str, Any]:
    """Newest first."""
    before = hub_cursor.read_number(query.cursor) if isinstance(query.cursor, str) else _NEWEST
    found = revisions.page(tx, blob.graph_id, blob.blob_id, before, query.limit + 1)
    page = found[: query.limit]
    cursor = hub_cursor.of_number(page[-1].number) if len(found) > query.limit else None
    return {"revisions": [of_revision(one) for one in page], "cursor": cursor}


def create(tx: Transaction, visitor: Visitor, blob: Blob, request: HubCreateRevisionRequest) -> dict[str, Any]:
    """A draft with copies of the committed default's definitions: new ids, the same aliases. The default stays.

    HubRefused(revision_not_found | revision_not_committed). The copy is made here, so the draft is ready at once.
    """
    check_writer(visitor, blob)
    locked = blobs.lock(tx, blob.graph_id, blob.blob_id)
    assert locked is not None
    parent = revision_of(tx, locked, DEFAULT)
    rules.branch(None if parent is None else rule_of(parent), "", request.comment, tx.now_ms)
    assert parent is not None
    at_us, number = now_us(tx), locked.revisions + 1
    made = hub_blob.new_revision(locked, str(uuid.uuid4()), number, at_us, request.comment, parent.revision_id)
    made = msgspec.structs.replace(made, workflows=parent.workflows, playgrounds=parent.playgrounds)
    revisions.add(tx, made)
    _copy_definitions(tx, parent, made)
    blobs.save(tx, locked, msgspec.structs.replace(locked, revisions=number, updated_at_us=at_us))
    return {"revision_id": made.revision_id}


def _copy_definitions(tx: Transaction, parent: Revision, made: Revision) -> None:
    """Documents are shared by hash, so a copy costs a row."""
    for category in CATEGORIES:
        for one in definitions.page(tx, parent.graph_id, parent.revision_id, category, _ALL):
            copy = msgspec.structs.replace(
                one,
                definition_id=str(uuid.uuid4()),
                revision_id=made.revision_id,
                created_at_us=made.created_at_us,
                updated_at_us=made.created_at_us,
            )
            definitions.add(tx, copy)


def commit(tx: Transaction, visitor: Visitor, place: Place, request: HubCommitRevisionRequest) -> dict[str, Any]:
    """Freeze the revision. Its lock keeps new executions out; those that are on their way keep it from freezing.

    HubRefused(revision_not_ready | revision_not_writable | revision_in_use).
    """
    check_writer(visitor, place.blob)
    at_us, is_live = now_us(tx), executions.has_open_in_revision(tx, place.graph_id, place.revision.revision_id)
    comment = request.comment if isinstance(request.comment, str) else None
    committing = rules.commit(rule_of(place.revision), int(is_live), comment, tx.now_ms)
    after = rules.ready(committing, tx.now_ms)
    frozen = msgspec.structs.replace(
        place.revision,
        phase=after.phase,
        status=after.status,
        comment=None if after.comment is None else after.comment.encode(),
        updated_at_us=at_us,
    )
    revisions.save(tx, place.revision, frozen)
    done = Operation(place.graph_id, str(uuid.uuid4()), frozen.revision_id, "commit", "completed", at_us, at_us)
    revisions.add_operation(tx, done)
    return {"operation_id": done.operation_id, "revision": of_revision(frozen)}


def set_default(tx: Transaction, visitor: Visitor, blob: Blob, request: HubSetDefaultRevisionRequest) -> dict[str, Any]:
    """What `default` means from now on (decision 39). HubRefused(revision_not_found)."""
    check_writer(visitor, blob)
    locked = blobs.lock(tx, blob.graph_id, blob.blob_id)
    assert locked is not None
    if request.revision_id == DEFAULT or revision_of(tx, locked, request.revision_id) is None:
        raise HubRefused("revision_not_found", f"the blob {blob.alias} has no revision {request.revision_id}")
    moved = msgspec.structs.replace(locked, default_revision_id=request.revision_id, updated_at_us=now_us(tx))
    blobs.save(tx, locked, moved)
    return {"blob": hub_blob.of_blob(moved)}


def metadata(tx: Transaction, visitor: Visitor, place: Place, key: str) -> dict[str, Any]:
    """Only `readme` is there, made of the blob's name and the revision's comment. HubRefused(not_found)."""
    if key != "readme":
        raise HubRefused("not_found", f"the revision has no metadata {key!r}")
    comment = "" if place.revision.comment is None else place.revision.comment.decode()
    return {"metadata": {"key": key, "value": f"# {place.blob.alias}\n\n{comment}\n"}}


def operation(tx: Transaction, visitor: Visitor, operation_id: str) -> dict[str, Any]:
    """A job on a revision. HubRefused(access_denied) when it is absent or on a revision out of reach."""
    found = revisions.operation(tx, visitor.graph_id, operation_id)
    if found is None:
        raise denied(f"the operation {operation_id}")
    hub_place.place(tx, visitor, found.revision_id)
    return {
        "operation": {
            "id": found.operation_id,
            "status": found.status,
            "type": found.type,
            "revision_id": found.revision_id,
            "created_at": micro_iso(found.created_at_us),
            "updated_at": micro_iso(found.updated_at_us),
        }
    }


def check_channel(revision: Revision, *, is_command: bool) -> None:
    """Whether its data may be read, or written. HubRefused(revision_not_ready | revision_not_writable)."""
    check = rules.check_writable if is_command else rules.check_readable
    check(rule_of(revision))


def rule_of(revision: Revision) -> rules.Revision:
    """The row as the rules see it."""
    return rules.Revision(
        revision.revision_id,
        revision.blob_id,
        revision.phase,
        revision.status,
        revision.created_at_us // 1_000,
        revision.updated_at_us // 1_000,
        None if revision.comment is None else revision.comment.decode(),
        revision.parent_id,
        revision.failed_operation,
    )


def of_revision(revision: Revision) -> dict[str, Any]:
    return {
        "id": revision.revision_id,
        "blob_id": revision.blob_id,
        "phase": revision.phase,
        "status": revision.status,
        "comment": None if revision.comment is None else revision.comment.decode(),
        "parent_id": revision.parent_id,
        "failed_operation": revision.failed_operation,
        "created_at": micro_iso(revision.created_at_us),
        "updated_at": micro_iso(revision.updated_at_us),
    }
