"""Definitions as they are on a revision (blobhub 3.2), for the commands that list, compare and deploy them."""

from typing import Any

import httpx

from blobhub import Blob, Revision
from blobhub.answer import envelope_of
from blobhub.request import json_request, path_of
from blobhub.wire_json import json_object
from turnbuckle.cli.hub_failure import HubFailure
from turnbuckle.hub.alias import is_canonical_id
from turnbuckle.hub.limits import CODE_IMPORTS

CATEGORIES = ("workflow", "playground")
Record = dict[str, Any]


def definitions_of(revision: Revision, *categories: str) -> list[Record]:
    """The records, by category and alias; of all categories unless some are named."""
    found: list[Record] = []
    for category in categories or CATEGORIES:
        answer = revision.query("list_definitions", category=category)
        found += [{**record, "category": category} for record in answer["definitions"]]
    return found


def find_definition(revision: Revision, name: str, *categories: str) -> Record:
    """By alias, a workflow before a playground, or by id. HubFailure DEFINITION_NOT_ACCESSIBLE."""
    key = "id" if is_canonical_id(name) else "alias"
    found = next((one for one in definitions_of(revision, *categories) if one[key] == name), None)
    if found is None:
        raise HubFailure("DEFINITION_NOT_ACCESSIBLE", f"the revision has no definition {name}")
    return found


def document_of(revision: Revision, definition_id: str) -> Any:
    return revision.query("download_definition", definition_id=definition_id)["definition_object"]


def create_definition(revision: Revision, alias: str, category: str, document: Any) -> str:
    """The id of a new definition without a document; a playground keeps the layout of this one for good."""
    layout = document.get("layout") if category == "playground" else None
    made = revision.command("create_definition", alias=alias, category=category, layout=layout)["definition"]
    return str(made["id"])


def upload_document(revision: Revision, definition_id: str, document: Any) -> None:
    revision.command("upload_definition", definition_id=definition_id, definition=document)


def check_definition(revision: Revision, definition_id: str) -> tuple[bool, list[dict[str, Any]]]:
    """Whether it is sound, and the findings. A definition that is not is an answer here and no failure (3.2)."""
    body = {"command": "check_definition", "definition_id": definition_id}
    request = json_request("POST", path_of("revisions", revision.id, "data", "query"), body, None)
    answer: dict[str, Any] = revision.client.api.send(request, _readable)
    events = [event for event in answer["events"] if isinstance(event, dict)]
    return answer.get("status") == "success", events


def code_imports(blob: Blob) -> frozenset[str]:
    """The modules that the blob allows besides the sandbox's own; `*` in that list is none."""
    answer = blob.client.request("GET", path_of("blobs", blob.org_id, blob.id, "limits"))
    values = (limit["value"] for group in answer["groups"] for limit in group["limits"] if limit["id"] == CODE_IMPORTS)
    return frozenset(next(values, [])) - {"*"}


def _readable(response: httpx.Response, now: float) -> dict[str, Any]:
    body = json_object(response.content)
    if response.is_success and body is not None and isinstance(body.get("events"), list):
        return body
    return envelope_of(response, now)
