"""Blobs: put, got, and removed when nothing has used them for a while."""

import hashlib

from turnbuckle.engine import blob as rules
from turnbuckle.operations import effect, size
from turnbuckle.operations.caller import Caller
from turnbuckle.store import blob as blobs
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.blob import WorkflowBlob, WorkflowBlobGetQuery, WorkflowBlobPutQuery
from turnbuckle.wire.errors import Refused


def put(tx: Transaction, graph_id: str, query: WorkflowBlobPutQuery, data: bytes, caller: Caller) -> WorkflowBlob:
    """The same bytes have the same key."""
    size.check("body", data, limits.BLOB_BYTES)
    sha256 = hashlib.sha256(data).hexdigest()
    key = rules.key(query.workflow_id, sha256)
    created = blobs.put(tx, graph_id, key, sha256, data)
    effect.confirm(tx, caller, "blob", key)
    return WorkflowBlob(key=key, sha256=sha256, bytes=len(data), created=created)


def get(tx: Transaction, graph_id: str, query: WorkflowBlobGetQuery) -> bytes:
    data = blobs.get(tx, graph_id, query.key)
    if data is None:
        raise Refused("blob_not_found", f"there is no blob {query.key!r} in this graph")
    return data
