"""Code and values in a document: the message, whose it is, what differs (blobhub 6.4 rule 7, 6.5)."""

import copy
import hashlib
import uuid
from pathlib import Path
from typing import Any

import pytest

from turnbuckle.hub_deploy import build, message
from turnbuckle.hub_deploy.compare import compare, worst
from turnbuckle.hub_deploy.imports import ImportRoots
from turnbuckle.hub_deploy.manifest import CodeBinding, ComponentBinding, DefinitionEntry, ValueBinding
from turnbuckle.hub_deploy.message import Drift
from turnbuckle.hub_deploy.problem import DeployProblem

NOW, LATER = "2026-01-31T09:05:00.000000Z", "2026-02-01T00:00:00.000000Z"
PYTHON = {"type": "choice", "id": "python"}


def document(code: Any = None, language: Any = PYTHON, **component: Any) -> dict[str, Any]:
    ports = [
        {"category": "setting", "route": "language", "value": language},
        {"category": "setting", "route": "code", "value": code},
        {"category": "data_input", "route": "question", "value": None},
    ]
    made = {"id": "c", "type": "logic.code", "name": "Answer", "ports": ports, **component}
    return {"type": "workflow_definition", "version": "1.0.1", "components": [made], "connections": []}


def entry(tmp_path: Path, text: str = "x = 1", name: str = "Answer") -> DefinitionEntry:
    (tmp_path / "main.py").write_text(text)
    binding = ComponentBinding(None, name, CodeBinding(tmp_path, "main.py"))
    return DefinitionEntry("answer-question", tmp_path / "d.json", None, (binding,))


def built(entry: DefinitionEntry, document: Any, now: str = NOW, *, force: bool = False) -> dict[str, Any]:
    return build.build(entry, document, ImportRoots(), now, force=force).document


def code_of(document: dict[str, Any]) -> dict[str, Any]:
    value: dict[str, Any] = document["components"][0]["ports"][1]["value"]
    return value


def refused(code: str, act: Any) -> str:
    with pytest.raises(DeployProblem) as caught:
        act()
    assert caught.value.code == code, caught.value.message
    return caught.value.message


def test_the_code_becomes_a_message_with_its_hash(tmp_path: Path) -> None:
    """The hash is of this exact text: other tools compare it."""
    made = code_of(built(entry(tmp_path, "x = 'é'"), document()))

    text = '[{"text":"# blobhub:source main.py\\nx = \'é\'","type":"text"}]'
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert made == {
        "type": "message",
        "message": {
            "role": "interpreter",
            "content": [{"type": "text", "text": "# blobhub:source main.py\nx = 'é'"}],
            "attributes": {
                "content_hash": digest,
                "id": str(uuid.uuid5(uuid.UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8"), digest)),
                "created_at": NOW,
                "syntax_mode": "python",
            },
        },
    }


def test_building_again_changes_nothing(tmp_path: Path) -> None:
    first = built(entry(tmp_path), document())

    assert built(entry(tmp_path), first, LATER) == first


def test_other_attributes_and_the_time_of_making_stay(tmp_path: Path) -> None:
    first = built(entry(tmp_path), document())
    code_of(first)["message"]["attributes"]["theirs"] = 1
    code_of(first)["message"]["metadata"] = {"kept": True}

    again = code_of(built(entry(tmp_path, "x = 2"), first, LATER))["message"]

    assert again["attributes"]["theirs"] == 1
    assert again["attributes"]["created_at"] == NOW
    assert again["metadata"] == {"kept": True}
    assert message.drift_of({"message": again}) is Drift.MANAGED_CLEAN


def test_the_given_document_is_left_as_it_is(tmp_path: Path) -> None:
    given = document()
    before = copy.deepcopy(given)

    built(entry(tmp_path), given)

    assert given == before


# -- whose code it is ------------------------------------------------------------------------------------------------


def unmanaged(text: str = "y = 1") -> dict[str, Any]:
    return {"type": "message", "message": {"role": "interpreter", "content": [{"type": "text", "text": text}]}}


def edited(tmp_path: Path) -> dict[str, Any]:
    made = built(entry(tmp_path), document())
    code_of(made)["message"]["content"][0]["text"] += "\ny = 2"
    return made


@pytest.mark.parametrize("value", [None, {}, {"type": "message", "message": {}}, unmanaged(""), unmanaged(), "x = 1"])
def test_without_content_or_hash_it_is_nobodys(value: Any) -> None:
    assert message.drift_of(value) is Drift.UNMANAGED


def test_an_edit_after_the_build_is_seen(tmp_path: Path) -> None:
    assert message.drift_of(code_of(built(entry(tmp_path), document()))) is Drift.MANAGED_CLEAN
    assert message.drift_of(code_of(edited(tmp_path))) is Drift.REMOTE_EDIT


def test_code_that_would_be_lost_is_kept_without_force(tmp_path: Path) -> None:
    refused("UNMANAGED_CODE", lambda: built(entry(tmp_path), document(unmanaged())))
    refused("REMOTE_EDIT", lambda: built(entry(tmp_path), edited(tmp_path)))

    forced = built(entry(tmp_path), edited(tmp_path), force=True)

    assert message.drift_of(code_of(forced)) is Drift.MANAGED_CLEAN


def test_an_edit_where_it_is_deployed_is_kept_without_force(tmp_path: Path) -> None:
    ours = built(entry(tmp_path, "x = 2"), document())

    refused("REMOTE_EDIT", lambda: build.check_remote_kept(entry(tmp_path), ours, edited(tmp_path), force=False))
    build.check_remote_kept(entry(tmp_path), ours, edited(tmp_path), force=True)
    build.check_remote_kept(entry(tmp_path), ours, built(entry(tmp_path), document()), force=False)
    build.check_remote_kept(entry(tmp_path), ours, document(), force=False)


def test_an_empty_block_of_the_editor_can_be_filled(tmp_path: Path) -> None:
    assert message.drift_of(code_of(built(entry(tmp_path), document(unmanaged(""))))) is Drift.MANAGED_CLEAN


# -- where it goes ---------------------------------------------------------------------------------------------------


def test_a_component_that_is_not_there_is_refused(tmp_path: Path) -> None:
    twice = document()
    twice["components"].append({**twice["components"][0], "id": "d"})

    refused("COMPONENT_NOT_FOUND", lambda: built(entry(tmp_path, name="Other"), document()))
    refused("COMPONENT_NAME_AMBIGUOUS", lambda: built(entry(tmp_path), twice))
    refused("COMPONENT_PORT_MISSING", lambda: built(entry(tmp_path), document(ports=[])))


@pytest.mark.parametrize("language", [None, {"type": "choice", "id": "javascript"}, {"type": "choice"}])
def test_only_python_is_built(tmp_path: Path, language: Any) -> None:
    refused("LANGUAGE_NOT_PYTHON", lambda: built(entry(tmp_path), document(language=language)))


def test_a_value_comes_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "greeting.yaml").write_text("type: text\ntext: 2026-01-31\n")
    given = {"components": [{"id": "g", "ports": [{"route": "value", "value": None}]}]}
    binding = ComponentBinding("g", None, ValueBinding(tmp_path / "greeting.yaml"))

    made = built(DefinitionEntry("greeting", tmp_path / "d.json", None, (binding,)), given)

    assert made["components"][0]["ports"][0]["value"] == {"type": "text", "text": "2026-01-31"}


# -- what differs ----------------------------------------------------------------------------------------------------


def test_differences_are_told_by_component(tmp_path: Path) -> None:
    ours = built(entry(tmp_path), document())
    theirs = document(unmanaged())
    theirs["connections"] = [{"id": "1"}]
    theirs["components"].append({"id": "gone"})
    ours["components"].append({"id": "new"})

    found = compare(ours, theirs)

    assert (found.presence, found.is_equal, found.connections_changed) == ("both", False, True)
    assert (found.components_added, found.components_removed) == (["new"], ["gone"])
    assert (found.components_changed, found.code_changed) == (["c"], ["c"])


def test_equal_documents_do_not_differ_and_numbers_are_no_flags() -> None:
    assert compare({"a": 1, "b": 2}, {"b": 2, "a": 1}).is_equal
    assert not compare({"a": 1}, {"a": True}).is_equal


def test_where_a_document_is() -> None:
    assert compare({}, None).presence == "local_only"
    assert compare(None, {}).presence == "remote_only"
    assert compare(None, None).presence == "absent"


def test_the_worst_state_is_told_first() -> None:
    assert worst({"a": Drift.MANAGED_CLEAN, "b": Drift.REMOTE_EDIT}) is Drift.REMOTE_EDIT
    assert worst({}) is None
