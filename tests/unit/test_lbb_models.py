"""The generated models, and the generator's rules (lbb-engine 2.7, 8.3)."""

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pydantic
import pytest
from tools import models as generator

from lbb import models

ROOT = Path(__file__).parents[2]


def generated(**schemas: Any) -> ModuleType:
    """The module generated for these schemas."""
    module = ModuleType("generated")
    sys.modules["generated"] = module
    exec(generator.source({"components": {"schemas": schemas}}), module.__dict__)
    return module


def record(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def test_the_committed_models_are_those_of_the_contract() -> None:
    done = subprocess.run([sys.executable, "tools/models.py", "--check"], cwd=ROOT, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_stale_file_fails_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    monkeypatch.setattr(generator, "TARGET", tmp_path / "models.py")

    assert generator.main(["--check"]) == 1
    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0
    (tmp_path / "models.py").write_text("edited")
    assert generator.main(["--check"]) == 1
    assert "stale" in capsys.readouterr().err


def test_every_schema_of_the_contract_is_a_model() -> None:
    schemas = json.loads(generator.CONTRACT.read_text())["components"]["schemas"]

    assert set(models.__all__) == set(schemas)
    for name in schemas:
        assert issubclass(getattr(models, name), pydantic.BaseModel)
        getattr(models, name).model_rebuild()


def test_required_fields_are_required_and_optional_ones_none() -> None:
    row = generated(
        Row=record(
            ("a", "b"), a={}, b={"anyOf": [{"type": "integer"}, {"type": "null"}]}, c={"type": "integer", "default": 3}
        )
    ).Row

    assert row(a=None, b=None).c is None
    for missing in ({"a": None}, {"b": None}):
        with pytest.raises(pydantic.ValidationError):
            row(**missing)


def test_unknown_fields_are_ignored() -> None:
    assert generated(Row=record(("a",), a={"type": "string"})).Row.model_validate(
        {"a": "x", "new": 1}
    ).model_dump() == {"a": "x"}


def test_unknown_enum_values_stay_text() -> None:
    row = generated(Row=record(("s",), s={"enum": ["done", "open"]})).Row

    assert (row(s="done").s, row(s="later").s) == ("done", "later")
    with pytest.raises(pydantic.ValidationError):
        row(s=3)


@pytest.mark.parametrize("word", ["class", "from", "pass", "schema", "bool", "json", "copy"])
def test_names_that_clash_with_python_get_an_underscore(word: str) -> None:
    row = generated(Row=record((word,), **{word: {"type": "string"}, "flag": {"type": "boolean"}})).Row

    for given in ({word: "x"}, {f"{word}_": "x"}):
        made = row(flag=True, **given)
        assert getattr(made, f"{word}_") == "x"
        assert made.model_dump(by_alias=True) == {word: "x", "flag": True}


def test_models_refer_to_models_defined_later() -> None:
    module = generated(
        A=record(("rows",), rows={"type": "array", "items": {"$ref": "#/components/schemas/B"}}),
        B=record(("n",), n={"type": "integer"}, up={"anyOf": [{"$ref": "#/components/schemas/A"}, {"type": "null"}]}),
        Names={"type": "object", "additionalProperties": {"$ref": "#/components/schemas/B"}},
    )

    made = module.A.model_validate({"rows": [{"n": 1, "up": {"rows": []}}]})
    assert made.rows[0].up.rows == []
    assert pydantic.TypeAdapter(module.Names).validate_python({"a": {"n": 2}})["a"].n == 2


def test_a_schema_the_generator_cannot_say_is_an_error() -> None:
    with pytest.raises(generator.Unsayable, match=r"^Row: .*tuple"):
        generated(Row=record(t={"type": "tuple"}))
    with pytest.raises(generator.Unsayable, match=r"other\.json"):
        generated(Row=record(t={"$ref": "other.json#/Row"}))


TURN = {
    "workflow_id": "a-1", "number": 1, "message_id": "m", "message": None, "version": "v1", "status": "hibernating",
    "attempt": 1, "created_at_ms": 1, "updated_at_ms": 1, "ready_at_ms": 1, "result": None, "state_after": None,
    "sequence": 1, "steps": [{"key": "k", "kind": "step", "output": None, "at_ms": 5}], "new_in_2030": {},
}  # fmt: skip


def test_a_turn_of_a_newer_server_is_read() -> None:
    turn = models.WorkflowTurn.model_validate(TURN)

    assert (turn.status, turn.operation, turn.steps[0].key, turn.steps[0].output) == ("hibernating", None, "k", None)


def test_a_turn_without_a_required_field_is_refused() -> None:
    with pytest.raises(pydantic.ValidationError, match="state_after"):
        models.WorkflowTurn.model_validate({key: value for key, value in TURN.items() if key != "state_after"})
