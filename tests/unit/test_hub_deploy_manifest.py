"""The manifest of a deployment (blobhub 6.3), and documents as files."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from turnbuckle.hub_deploy import files, manifest
from turnbuckle.hub_deploy.manifest import BlobPlace, CodeBinding, ComponentBinding, DefinitionEntry, ValueBinding
from turnbuckle.hub_deploy.problem import HINTS, DeployProblem

DEFINITION = {"alias": "answer-question", "source": "d.json"}


def manifest_file(folder: Path, name: str = "deploy.yaml", **changed: Any) -> Path:
    """A right manifest with some keys changed; None takes one out."""
    content: dict[str, Any] = {
        "type": "workflow_blob_deployment",
        "version": "1.0",
        "blob": "acme/support-bot",
        "revision": "default",
        "definitions": [DEFINITION],
    }
    files.write(folder / name, {key: value for key, value in (content | changed).items() if value is not None})
    return folder / name


def refused(code: str, path: Path) -> str:
    with pytest.raises(DeployProblem) as caught:
        manifest.read(path)
    assert caught.value.code == code, caught.value.message
    return caught.value.message


@pytest.mark.parametrize("name", ["deploy.yaml", "deploy.yml", "deploy.json"])
def test_a_manifest_names_files_beside_it(tmp_path: Path, name: str) -> None:
    components = [
        {"name": "Answer", "code": {"base_path": "code", "entry_point": "pkg/answer.py"}},
        {"id": "g", "value": {"source": "greeting.json"}},
        {"id": "left-alone"},
    ]
    definition = {**DEFINITION, "category": "workflow", "components": components}

    found = manifest.read(manifest_file(tmp_path, name, definitions=[definition]))

    assert found.place == BlobPlace("acme", "support-bot", "default")
    bound = (
        ComponentBinding(None, "Answer", CodeBinding(tmp_path / "code", "pkg/answer.py")),
        ComponentBinding("g", None, ValueBinding(tmp_path / "greeting.json")),
        ComponentBinding("left-alone", None, None),
    )
    assert found.definitions == (DefinitionEntry("answer-question", tmp_path / "d.json", "workflow", bound),)


def test_a_bare_name_leaves_the_organization_open(tmp_path: Path) -> None:
    assert manifest.read(manifest_file(tmp_path, blob="support-bot")).place.org is None


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("MANIFEST_TYPE_MISMATCH", {"type": "scheduler_blob_deployment"}),
        ("MANIFEST_VERSION_UNSUPPORTED", {"version": 1.0}),
        ("MANIFEST_VERSION_UNSUPPORTED", {"version": "2.0"}),
        ("MANIFEST_INVALID", {"blob": None}),
        ("BLOB_REFERENCE_INVALID", {"blob": "a/b/c"}),
        ("BLOB_REFERENCE_INVALID", {"blob": "acme/.."}),
        ("MANIFEST_INVALID", {"revision": "latest"}),
        ("MANIFEST_INVALID", {"revision": "newest"}),
        ("MANIFEST_INVALID", {"definitions": []}),
        ("MANIFEST_INVALID", {"definitions": {}}),
        ("MANIFEST_INVALID", {"definitions": [DEFINITION, DEFINITION]}),
        ("MANIFEST_INVALID", {"definition": []}),
        ("DEFINITION_ALIAS_INVALID", {"definitions": [{**DEFINITION, "alias": "Answer"}]}),
        ("DEFINITION_ALIAS_INVALID", {"definitions": [{**DEFINITION, "alias": "short"}]}),
        ("DEFINITION_CATEGORY_UNKNOWN", {"definitions": [{**DEFINITION, "category": "script"}]}),
        ("FORMAT_UNSUPPORTED", {"definitions": [{**DEFINITION, "source": "d.toml"}]}),
        ("MANIFEST_INVALID", {"definitions": [{**DEFINITION, "components": [{}]}]}),
        ("MANIFEST_INVALID", {"definitions": [{**DEFINITION, "components": [{"id": "a", "name": "b"}]}]}),
        ("MANIFEST_INVALID", {"definitions": [{**DEFINITION, "components": [{"id": "a", "code": {}}]}]}),
        (
            "MANIFEST_INVALID",
            {"definitions": [{**DEFINITION, "components": [{"id": "a", "code": {}, "value": {}}]}]},
        ),
    ],
)
def test_a_wrong_manifest_is_refused(tmp_path: Path, code: str, changed: dict[str, Any]) -> None:
    refused(code, manifest_file(tmp_path, **changed))


def test_a_problem_names_its_place(tmp_path: Path) -> None:
    components = [{"id": "a"}, {"id": "b", "code": {"base_path": "."}}]
    path = manifest_file(tmp_path, definitions=[{**DEFINITION, "components": components}])

    assert refused("MANIFEST_INVALID", path) == f"{path}: definitions[0].components[1].code.entry_point: missing"


def test_the_renamed_revision_is_told(tmp_path: Path) -> None:
    assert "`default` now" in refused("MANIFEST_INVALID", manifest_file(tmp_path, revision="latest"))


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    refused("MANIFEST_NOT_FOUND", tmp_path / "deploy.yaml")
    for name, text in {"a.toml": "", "b.json": "{", "c.yaml": "a: [", "d.json": "[NaN]", "e.yaml": "a: .nan"}.items():
        (tmp_path / name).write_text(text)
        refused("FORMAT_UNSUPPORTED" if name == "a.toml" else "FORMAT_PARSE_ERROR", tmp_path / name)


def test_the_category_is_that_of_the_document(tmp_path: Path) -> None:
    entry = DefinitionEntry("answer-question", tmp_path / "d.json", None)

    assert manifest.category_of(entry, None) == "workflow"
    assert manifest.category_of(entry, {"type": "playground_definition"}) == "playground"
    with pytest.raises(DeployProblem, match="playground"):
        manifest.category_of(DefinitionEntry("a", Path("d.json"), "playground"), {"type": "workflow_definition"})
    with pytest.raises(DeployProblem, match="got the type 'other'"):
        manifest.category_of(entry, {"type": "other"})


@pytest.mark.parametrize("name", ["d.json", "d.yaml"])
def test_a_document_comes_back_as_it_was_written(tmp_path: Path, name: str) -> None:
    content = {
        "z": "é\nline: 'two'\n",
        "a": ["2026-01-31", "2026-01-31T09:05:00Z", "yes", "1", 1.5, None, True],
        "": {},
    }

    files.write(tmp_path / name, content)

    assert files.read(tmp_path / name) == content
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_every_problem_has_a_code_with_a_hint() -> None:
    """A code that is raised and not in the table would be a KeyError in front of a person."""
    calls = (
        node
        for path in Path(files.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("DeployProblem", ".wrong"))
    )
    texts = {part.value for call in calls for part in call.args if isinstance(part, ast.Constant)}
    raised = {text for text in texts if re.fullmatch("[A-Z]+(_[A-Z]+)+", str(text))}

    assert len(raised) > 20
    assert raised <= set(HINTS)
