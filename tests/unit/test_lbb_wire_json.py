"""Which nulls of a body are sent (lbb-engine 2.7)."""

import copy
import json
import pickle
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pytest
from pydantic import BaseModel, Field, RootModel, field_serializer

from lbb import RESET, models
from lbb.wire_json import dump_body, wire_value


class Inner(BaseModel):
    needed: int | None
    maybe: int | None = None


class Outer(BaseModel):
    class_: str = Field(validation_alias="class", serialization_alias="class")
    inner: Inner
    many: list[Inner] = []
    named: dict[str, Inner] = {}
    data: Any = None
    at: datetime | None = None


def inner(**given: Any) -> Inner:
    return Inner(**{"needed": None, **given})


def outer(**given: Any) -> Outer:
    return Outer(**{"class": "Note", "inner": inner(), **given})


def test_optional_nulls_are_left_off_at_every_depth() -> None:
    value = outer(many=[inner(), inner(maybe=1)], named={"a": inner()})

    assert wire_value(value) == {
        "class": "Note",
        "inner": {"needed": None},
        "many": [{"needed": None}, {"needed": None, "maybe": 1}],
        "named": {"a": {"needed": None}},
    }


def test_nulls_in_user_json_are_kept() -> None:
    data = {"a": None, "b": [None, {"c": None}]}

    assert wire_value(outer(data=data))["data"] == data
    assert dump_body({"state": data}) == b'{"state":{"a":null,"b":[null,{"c":null}]}}'


def test_an_optional_null_that_was_set_is_left_off_too() -> None:
    assert wire_value(inner(maybe=None)) == {"needed": None}


def test_a_value_at_its_default_is_sent() -> None:
    assert wire_value(outer()) == {"class": "Note", "inner": {"needed": None}, "many": [], "named": {}}


def test_models_inside_lists_and_mappings_are_dumped() -> None:
    assert wire_value({"a": [inner()], "b": (inner(maybe=2),)}) == {
        "a": [{"needed": None}],
        "b": [{"needed": None, "maybe": 2}],
    }
    assert json.loads(dump_body({"a": [inner()], "b": (inner(maybe=2),)})) == wire_value(
        {"a": [inner()], "b": [inner(maybe=2)]}
    )


def test_a_model_inside_any_is_dumped() -> None:
    assert wire_value(outer(data={"deep": [inner()]}))["data"] == {"deep": [{"needed": None}]}


def test_values_are_dumped_in_json_mode() -> None:
    assert wire_value(outer(at=datetime(2027, 1, 15, tzinfo=UTC)))["at"] == "2027-01-15T00:00:00Z"


def test_a_root_model_is_its_root() -> None:
    assert wire_value(RootModel[list[Inner]]([inner()])) == [{"needed": None}]


def test_a_serializer_of_the_users_has_the_last_word() -> None:
    class Shaped(BaseModel):
        inner: Inner
        maybe: int | None = None

        @field_serializer("inner")
        def _short(self, value: Inner) -> str:
            return "short"

        @field_serializer("maybe")
        def _never_null(self, value: int | None) -> int:
            return value or 0

    assert wire_value(Shaped(inner=inner())) == {"inner": "short", "maybe": 0}


def test_other_mappings_are_objects() -> None:
    assert dump_body(MappingProxyType({"a": MappingProxyType({"b": inner()})})) == b'{"a":{"b":{"needed":null}}}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (its text is the json module's)
        dump_body({"a": value})


def test_an_object_json_cannot_say_is_named() -> None:
    with pytest.raises(TypeError, match="a set"):
        dump_body({"a": {1, 2}})


def test_reset_is_sent_as_null() -> None:
    assert dump_body({"budget": RESET, "rows": [RESET]}) == b'{"budget":null,"rows":[null]}'
    assert wire_value({"budget": RESET}) == {"budget": None}


def test_reset_is_one_object() -> None:
    assert repr(RESET) == "RESET"
    assert copy.deepcopy(RESET) is pickle.loads(pickle.dumps(RESET)) is type(RESET)() is RESET


LEASE = {"workflow_id": "a-1", "turn": 1, "token": "T"}
STEP = {**LEASE, "key": "k"}
SIGNAL = {"workflow_id": "a-1", "turn": 1, "id": "e", "name": "n"}


@pytest.mark.parametrize(
    ("model", "given", "left_off"),
    [
        (models.WorkflowTurnCheckpointRequest, {**STEP, "position": 0, "kind": "step", "output": None}, {"output"}),
        (
            models.WorkflowTurnCompleteRequest,
            {**LEASE, "state": None, "result": None, "usage": None},
            {"result", "usage"},
        ),
        (models.WorkflowTurnProgressRequest, {**STEP, "sequence": 1, "details": None, "checkpoint": None}, set()),
        (models.WorkflowTurnFailRequest, {**LEASE, "error": "e", "non_retryable": False, "results": None}, {"results"}),
        (models.WorkflowTurnContinuation, {"message": None}, set()),
        (models.WorkflowTurnSignalRequest, {**SIGNAL, "value": None}, set()),
        (models.WorkflowMessageRequest, {"workflow_id": "a-1", "id": "m", "message": None}, set()),
        (models.WorkflowInstanceCreateRequest, {"id": "a", "workflow_type": "t", "version": "v"}, set()),
    ],
)
def test_the_engines_bodies_follow_the_rule(model: type[BaseModel], given: dict[str, Any], left_off: set[str]) -> None:
    sent = {name: value for name, value in given.items() if name not in left_off}

    assert json.loads(dump_body(model(**given))) == sent
