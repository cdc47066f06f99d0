"""JSON bodies (lbb-engine 2.7): mappings as given, Pydantic models by their wire names, optional nulls left off."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo

from lbb.reset import Reset


def dump_body(value: Any) -> bytes:
    """Compact UTF-8 JSON. Models anywhere inside are dumped as `wire_value` does; `RESET` becomes null.

    ValueError for NaN, infinities and lone surrogates, which are no JSON; TypeError for an object JSON cannot say.
    """
    return _ENCODER.encode(value).encode()


def wire_value(value: Any) -> Any:
    """`value` with each Pydantic model in it, also inside lists and mappings, as its JSON mapping.

    A model's field that is None, as by its default, is left off; a required one stays as null. Nulls in user JSON stay.
    """
    if isinstance(value, BaseModel):
        return _model_part(value)
    if isinstance(value, Mapping):
        return {key: wire_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [wire_value(item) for item in value]
    return None if isinstance(value, Reset) else value


def _json_part(value: Any) -> Any:
    if isinstance(value, BaseModel | Mapping | Reset):
        return wire_value(value)
    raise TypeError(f"JSON cannot say a {type(value).__name__}: {value!r:.100}")


def _model_part(model: BaseModel) -> Any:
    dumped = model.model_dump(mode="json", by_alias=True)
    _leave_off(model, dumped)
    return dumped


def _leave_off(value: Any, dumped: Any) -> None:
    """Remove the optional nulls of `value`'s models from `dumped`, its JSON.

    Walks both side by side, because only the models know which null is optional. Where a serializer of the user's
    gave another shape, that shape is what the user wants to send.
    """
    if isinstance(value, RootModel):
        _leave_off(value.root, dumped)
    elif isinstance(value, BaseModel) and isinstance(dumped, dict):
        for name, field in type(value).model_fields.items():
            _leave_off_field(getattr(value, name), field, dumped, field.serialization_alias or name)
    elif isinstance(value, Mapping) and isinstance(dumped, dict) and len(value) == len(dumped):
        for item, dumped_item in zip(value.values(), dumped.values(), strict=True):
            _leave_off(item, dumped_item)
    elif isinstance(value, list | tuple) and isinstance(dumped, list) and len(value) == len(dumped):
        for item, dumped_item in zip(value, dumped, strict=True):
            _leave_off(item, dumped_item)


def _leave_off_field(value: Any, field: FieldInfo, dumped: dict[str, Any], wire_name: str) -> None:
    if wire_name not in dumped:
        return
    if value is not None:
        _leave_off(value, dumped[wire_name])
    elif dumped[wire_name] is None and field.default is None:
        # Where None is not the default, leaving it off would read back as another value.
        del dumped[wire_name]


_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_json_part)
