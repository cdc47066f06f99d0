"""Organizations and blobs: made by the command line on the store itself, read over HTTP (blobhub 2.4)."""

import uuid
from typing import Any

import msgspec

from turnbuckle.hub import alias as aliases
from turnbuckle.hub import limits as limit_rules
from turnbuckle.operations import key as keys
from turnbuckle.operations.hub_place import Visitor, denied, find_org, reaches
from turnbuckle.operations.hub_time import micro_iso, now_us
from turnbuckle.store import hub_blob as blobs
from turnbuckle.store import hub_revision as revisions
from turnbuckle.store.hub_rows import Blob, Org, Revision
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_blob import HubCreateKeyRequest
from turnbuckle.wire.hub_errors import HubRefused

READY = "ready"

# -- made by the command line ------------------------------------------------------------------------------------


def create_org(tx: Transaction, graph_id: str, alias: str) -> Org:
    """The organization of that alias, made where it is missing."""
    known = blobs.org_by_alias(tx, graph_id, alias)
    if known is not None:
        return known
    blobs.add_org(tx, Org(graph_id, str(uuid.uuid4()), alias, now_us(tx)))
    made = blobs.org_by_alias(tx, graph_id, alias)  # ours, or that of an operation that was faster
    assert made is not None
    return made


def create_blob(
    tx: Transaction, org: Org, alias: str, type: str, *, visibility: str = "private"
) -> tuple[Blob, Revision]:
    """A blob with one draft revision, its default. HubRefused(alias_in_use)."""
    at_us, blob_id, revision_id = now_us(tx), str(uuid.uuid4()), str(uuid.uuid4())
    made = Blob(
        graph_id=org.graph_id,
        blob_id=blob_id,
        org_id=org.org_id,
        alias=alias,
        type=type,
        visibility=visibility,
        status=READY,
        default_revision_id=revision_id,
        revisions=1,
        limits=b"{}",
        created_at_us=at_us,
        updated_at_us=at_us,
    )
    if not blobs.add(tx, made):
        raise HubRefused("alias_in_use", f"the organization {org.alias} has a blob {alias!r} already")
    draft = new_revision(made, revision_id, 1, at_us)
    revisions.add(tx, draft)
    return made, draft


def new_revision(
    blob: Blob, revision_id: str, number: int, at_us: int, comment: str | None = None, parent_id: str | None = None
) -> Revision:
    """A draft without definitions."""
    return Revision(
        graph_id=blob.graph_id,
        revision_id=revision_id,
        blob_id=blob.blob_id,
        number=number,
        phase="draft",
        status=READY,
        comment=None if comment is None else comment.encode(),
        parent_id=parent_id,
        failed_operation=None,
        workflows=0,
        playgrounds=0,
        sessions=0,
        created_at_us=at_us,
        updated_at_us=at_us,
    )


def set_limits(tx: Transaction, blob: Blob, values: dict[str, Any]) -> Blob:
    """Give the blob limits of its own in place of those it had; an id that is left out has its default."""
    locked = blobs.lock(tx, blob.graph_id, blob.blob_id) or blob
    changed = msgspec.structs.replace(locked, limits=msgspec.json.encode(values), updated_at_us=now_us(tx))
    blobs.save(tx, locked, changed)
    return changed


def create_key(tx: Transaction, environment: str, scope: str, scope_id: str, role: str, label: str) -> str:
    """A new key for one organization or blob, the only time it is seen."""
    return keys.create(tx, label, environment, scope, role, scope_id)


# -- over HTTP ---------------------------------------------------------------------------------------------------


def me(tx: Transaction, visitor: Visitor) -> dict[str, Any]:
    return {"user": {"id": visitor.user_id, "name": visitor.user_name}}


def my_orgs(tx: Transaction, visitor: Visitor) -> dict[str, Any]:
    """HubRefused(access_denied) for a key of one organization or blob: so a client learns that it is one."""
    if visitor.scope not in ("user", "runtime"):
        raise HubRefused("access_denied", "this credential is for one organization, one blob or public blobs only")
    return {"organizations": [of_org(org) for org in blobs.orgs(tx, visitor.graph_id)]}


def get(tx: Transaction, visitor: Visitor, blob: Blob) -> dict[str, Any]:
    return {"blob": of_blob(blob)}


def limits(tx: Transaction, visitor: Visitor, blob: Blob) -> dict[str, Any]:
    """All of them in groups (blobhub 7.2)."""
    return {"groups": limit_rules.groups(blob.type, overrides(blob))}


def create_api_key(
    tx: Transaction, visitor: Visitor, scope: str, name: str, request: HubCreateKeyRequest
) -> dict[str, Any]:
    """A key for the organization or blob of that id or alias, with its secret, shown this once. Admins only."""
    org_id, scope_id = _scope_of(tx, visitor, scope, name)
    if visitor.role != "admin" or not reaches(visitor, org_id, scope_id):
        raise denied(f"the {scope} {name}")
    description = request.description if isinstance(request.description, str) else ""
    secret = create_key(tx, visitor.environment, scope, scope_id, request.role, description)
    record = {"id": secret[-4:], "key": secret, "role": request.role, "description": description, "scope": scope}
    return {"api_key": {**record, f"{scope}_id": scope_id}}


def _scope_of(tx: Transaction, visitor: Visitor, scope: str, name: str) -> tuple[str, str]:
    """(organization, organization or blob) that the key is to be for."""
    if scope == "org":
        org = find_org(tx, visitor, name)
        if org is not None:
            return org.org_id, org.org_id
    else:
        blob = blobs.get(tx, visitor.graph_id, name) if aliases.is_canonical_id(name) else None
        if blob is not None:
            return blob.org_id, blob.blob_id
    raise denied(f"the {scope} {name}")


def overrides(blob: Blob) -> dict[str, Any]:
    """The limits that the blob has of its own."""
    values: dict[str, Any] = msgspec.json.decode(blob.limits)
    return values


def of_blob(blob: Blob) -> dict[str, Any]:
    return {
        "id": blob.blob_id,
        "alias": blob.alias,
        "org_id": blob.org_id,
        "type": blob.type,
        "visibility": blob.visibility,
        "status": blob.status,
        "default_revision_id": blob.default_revision_id,
        "created_at": micro_iso(blob.created_at_us),
        "updated_at": micro_iso(blob.updated_at_us),
    }


def of_org(org: Org) -> dict[str, Any]:
    return {"id": org.org_id, "alias": org.alias, "created_at": micro_iso(org.created_at_us)}
