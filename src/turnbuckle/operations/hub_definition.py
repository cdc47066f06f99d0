"""Definitions of a revision: records with an alias, and documents kept as the bytes that came (blobhub 3.2)."""

import hashlib
import uuid
from typing import Any

import msgspec
from msgspec import Raw

from turnbuckle.hub import alias as aliases
from turnbuckle.hub import limits as limit_rules
from turnbuckle.hub import playground
from turnbuckle.operations import hub_blob
from turnbuckle.operations.hub_place import Place, denied
from turnbuckle.operations.hub_time import micro_iso, now_us
from turnbuckle.store import hub_definition as definitions
from turnbuckle.store import hub_revision as revisions
from turnbuckle.store.hub_rows import Definition
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import hub_limits
from turnbuckle.wire.hub_definition import (
    HubCreateDefinitionRequest,
    HubDeleteDefinitionRequest,
    HubDownloadDefinitionRequest,
    HubListDefinitionsRequest,
    HubUploadDefinitionRequest,
)
from turnbuckle.wire.hub_errors import HubRefused
from turnbuckle.wire.limits import DAY_MS

WORKFLOW, PLAYGROUND = "workflow", "playground"
_LIMITS = {WORKFLOW: limit_rules.DEFINITIONS, PLAYGROUND: limit_rules.PLAYGROUNDS}
_COUNTERS = {WORKFLOW: "workflows", PLAYGROUND: "playgrounds"}
_KEPT_US = DAY_MS * 1_000  # a document that nothing names any more


def find(tx: Transaction, place: Place, name: str) -> Definition:
    """By id, or by alias among the workflows. HubRefused(access_denied) when it is not on this revision."""
    if aliases.is_canonical_id(name):
        found = definitions.get(tx, place.graph_id, name)
    else:
        found = definitions.by_alias(tx, place.graph_id, place.revision.revision_id, WORKFLOW, name)
    if found is None or found.revision_id != place.revision.revision_id:
        raise denied(f"the definition {name}")
    return found


def list_all(tx: Transaction, place: Place, request: HubListDefinitionsRequest) -> dict[str, Any]:
    """Those of one category, by alias; not paged."""
    most = limit_rules.value_of(_LIMITS[request.category], hub_blob.overrides(place.blob))
    held = getattr(place.revision, _COUNTERS[request.category])
    count = max(held, most if isinstance(most, int) else 0)
    found = definitions.page(tx, place.graph_id, place.revision.revision_id, request.category, count)
    return {"definitions": [of_definition(one) for one in found]}


def create(tx: Transaction, place: Place, request: HubCreateDefinitionRequest) -> dict[str, Any]:
    """An empty document under an alias of its category. HubRefused(alias_in_use | limit_exceeded)."""
    aliases.check_alias(request.alias)
    layout = _layout(request)
    counter, at_us = _COUNTERS[request.category], now_us(tx)
    held: int = getattr(place.revision, counter)
    document = msgspec.json.encode(_empty_document(layout))
    made = Definition(
        graph_id=place.graph_id,
        definition_id=str(uuid.uuid4()),
        revision_id=place.revision.revision_id,
        category=request.category,
        alias=request.alias,
        layout=None if layout is None else msgspec.json.encode(layout),
        sha256=_put(tx, place, document),
        created_at_us=at_us,
        updated_at_us=at_us,
    )
    if not definitions.add(tx, made):
        raise HubRefused("alias_in_use", f"the revision has a {request.category} {request.alias!r} already")
    limit_rules.check_limit(_LIMITS[request.category], held, hub_blob.overrides(place.blob))
    revisions.save(tx, place.revision, msgspec.structs.replace(place.revision, **{counter: held + 1}))
    return {"definition": of_definition(made)}


def upload(tx: Transaction, place: Place, request: HubUploadDefinitionRequest) -> dict[str, Any]:
    """Replace the whole document. A workflow's is not looked at; a playground's must have its layout."""
    known, document = find(tx, place, request.definition_id), bytes(request.definition)
    if len(document) > hub_limits.DOCUMENT_BYTES:
        what = f"definition: got {len(document)} bytes, expected at most {hub_limits.DOCUMENT_BYTES}"
        raise HubRefused("request_too_large", what)
    if known.layout is not None:
        _check_playground(known.layout, document)
    changed = msgspec.structs.replace(known, sha256=_put(tx, place, document), updated_at_us=now_us(tx))
    definitions.save(tx, known, changed)
    return {"definition": of_definition(changed)}


def download(tx: Transaction, place: Place, request: HubDownloadDefinitionRequest) -> dict[str, Any]:
    """The document exactly as it was uploaded, byte for byte."""
    known = find(tx, place, request.definition_id)
    document = definitions.document(tx, place.graph_id, known.sha256)
    return {"definition": of_definition(known), "definition_object": Raw(document)}


def delete(tx: Transaction, place: Place, request: HubDeleteDefinitionRequest) -> dict[str, Any]:
    """Executions that run it go on: their document was fixed when they started."""
    known = find(tx, place, request.definition_id)
    definitions.delete(tx, place.graph_id, known.definition_id)
    counter = _COUNTERS[known.category]
    fewer = msgspec.structs.replace(place.revision, **{counter: getattr(place.revision, counter) - 1})
    revisions.save(tx, place.revision, fewer)
    return {}


def remove_unused_documents(tx: Transaction) -> bool:
    """Upkeep: documents that no definition and no execution has."""
    definitions.remove_unused_documents(tx, now_us(tx) - _KEPT_US)
    return False


def of_definition(definition: Definition) -> dict[str, Any]:
    layout = {} if definition.layout is None else {"layout": Raw(definition.layout)}
    return {
        "id": definition.definition_id,
        "alias": definition.alias,
        "category": definition.category,
        "revision_id": definition.revision_id,
        "created_at": micro_iso(definition.created_at_us),
        "updated_at": micro_iso(definition.updated_at_us),
        **layout,
    }


def _put(tx: Transaction, place: Place, document: bytes) -> str:
    sha256 = hashlib.sha256(document).hexdigest()
    definitions.put_document(tx, place.graph_id, sha256, document, now_us(tx))
    return sha256


def _layout(request: HubCreateDefinitionRequest) -> dict[str, Any] | None:
    """A playground's, `free_form` when it names none."""
    if request.category == PLAYGROUND:
        return playground.check_layout(request.layout if isinstance(request.layout, dict) else playground.FREE_FORM)
    if isinstance(request.layout, dict):
        raise HubRefused("invalid_request_body", "layout: got one for a workflow, expected none")
    return None


def _empty_document(layout: dict[str, Any] | None) -> dict[str, Any]:
    empty: dict[str, Any] = {"components": [], "connections": []}
    if layout is None:
        return {"type": "workflow_definition", "version": "1.0.1", **empty}
    return {"type": "playground_definition", "version": "1.1.0", "layout": layout, **empty}


def _check_playground(layout: bytes, document: bytes) -> None:
    """HubRefused(invalid_layout | invalid_component_position)."""
    playground.check_document(msgspec.json.decode(document), msgspec.json.decode(layout))
