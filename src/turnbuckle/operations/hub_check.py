"""The check of a definition before anything runs (blobhub 3.2, 5.8)."""

from typing import Any

import msgspec

from turnbuckle.hub import check as rules
from turnbuckle.hub import document as documents
from turnbuckle.hub.check import CodeCheck
from turnbuckle.hub.finding import CodeFinding, status_of
from turnbuckle.operations.hub_definition import find
from turnbuckle.operations.hub_place import Place
from turnbuckle.store import hub_definition as definitions
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_definition import HubCheckDefinitionRequest

__all__ = ["CodeCheck", "check", "no_code_check"]


def check(tx: Transaction, place: Place, request: HubCheckDefinitionRequest, code_check: CodeCheck) -> dict[str, Any]:
    """What is wrong with the document. A failed check is an answer with a status of its own, not a refusal."""
    known = find(tx, place, request.definition_id)
    document = documents.parse(msgspec.json.decode(definitions.document(tx, place.graph_id, known.sha256)))
    findings = rules.check(document, code_check)
    answer: dict[str, Any] = {"status": status_of(findings), "events": [msgspec.to_builtins(one) for one in findings]}
    if answer["status"] != "success":
        answer |= {"error": "check_failed", "message": "The definition has errors"}
    return answer


def no_code_check(code: str) -> list[CodeFinding]:
    """For a server without a sandbox: nothing is known of code."""
    return []
