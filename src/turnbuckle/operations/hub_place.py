"""Who asks the second API, and what they may see there: organizations, blobs and revisions by the names of a request.

What is absent and what the credential cannot reach are refused alike, with 403 (blobhub 2.3, 2.8).
"""

import msgspec

from turnbuckle.hub import alias as aliases
from turnbuckle.store import hub_blob as blobs
from turnbuckle.store import hub_revision as revisions
from turnbuckle.store.hub_rows import Blob, Org, Revision
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_errors import HubRefused

DEFAULT = "default"
ANONYMOUS = "anonymous"
_WRITERS = ("admin", "write")


class Visitor(msgspec.Struct, frozen=True):
    """Whose credential came with a request."""

    environment: str
    graph_id: str  # of the environment's graph `hub`; graph.NOWHERE before anything was made there
    user_id: str
    user_name: str
    role: str  # admin, write, read or review
    scope: str  # user, org, blob, runtime; ANONYMOUS without a key
    scope_id: str | None = None  # of the organization or the blob
    execution_id: str | None = None  # on whose behalf the runner asks
    effect_id: str | None = None  # of the runner's step: the same request again makes nothing new

    @property
    def is_writer(self) -> bool:
        return self.role in _WRITERS and self.scope != ANONYMOUS


class Place(msgspec.Struct, frozen=True):
    """Where a data-channel call works, once the visitor may."""

    visitor: Visitor
    blob: Blob
    revision: Revision

    @property
    def graph_id(self) -> str:
        return self.visitor.graph_id


def denied(what: str) -> HubRefused:
    return HubRefused("access_denied", f"{what} does not exist, or your credential cannot reach it")


def reaches(visitor: Visitor, org_id: str, blob_id: str | None = None) -> bool:
    """Whether the credential is for this organization, or for this blob of it."""
    match visitor.scope:
        case "user" | "runtime":
            return True
        case "org":
            return visitor.scope_id == org_id
        case "blob":
            return blob_id is not None and visitor.scope_id == blob_id
    return False


def may_read(visitor: Visitor, blob: Blob) -> bool:
    return blob.visibility == "public" or reaches(visitor, blob.org_id, blob.blob_id)


def may_write(visitor: Visitor, blob: Blob) -> bool:
    return visitor.is_writer and reaches(visitor, blob.org_id, blob.blob_id)


def check_writer(visitor: Visitor, blob: Blob) -> None:
    if not may_write(visitor, blob):
        raise denied("a blob that this credential may change")


def find_org(tx: Transaction, visitor: Visitor, name: str) -> Org | None:
    """By id or alias; whether the visitor reaches it is another question."""
    if aliases.is_canonical_id(name):
        return blobs.org(tx, visitor.graph_id, name)
    return blobs.org_by_alias(tx, visitor.graph_id, name)


def blob(tx: Transaction, visitor: Visitor, org_name: str, blob_name: str) -> Blob:
    """A blob the visitor may read. With a blob's id the organization's name is not looked at (blobhub 2.4)."""
    found = None
    if aliases.is_canonical_id(blob_name):
        found = blobs.get(tx, visitor.graph_id, blob_name)
    else:
        org = find_org(tx, visitor, org_name)
        if org is not None:
            found = blobs.by_alias(tx, visitor.graph_id, org.org_id, blob_name)
    if found is None or not may_read(visitor, found):
        raise denied(f"the blob {org_name}/{blob_name}")
    return found


def owned_blob(tx: Transaction, visitor: Visitor, org_name: str, blob_name: str) -> Blob:
    """The same for a reference, whose organization must own the blob also when that is named by its id."""
    found = blob(tx, visitor, org_name, blob_name)
    org = find_org(tx, visitor, org_name)
    if org is None or org.org_id != found.org_id:
        raise denied(f"the blob {org_name}/{blob_name}")
    return found


def revision_of(tx: Transaction, of: Blob, ref: str) -> Revision | None:
    """The blob's revision with that id, or the one that is the default now."""
    revision_id = of.default_revision_id if ref == DEFAULT else ref
    found = None if revision_id is None else revisions.get(tx, of.graph_id, revision_id)
    return found if found is not None and found.blob_id == of.blob_id else None


def place(tx: Transaction, visitor: Visitor, revision_id: str, *, lock: bool = False) -> Place:
    """A revision by its id alone. `lock` holds it until the operation ends: a commit comes before or after."""
    find = revisions.lock if lock else revisions.get
    found = find(tx, visitor.graph_id, revision_id)
    of = None if found is None else blobs.get(tx, visitor.graph_id, found.blob_id)
    if found is None or of is None or not may_read(visitor, of):
        raise denied(f"the revision {revision_id}")
    return Place(visitor, of, found)
