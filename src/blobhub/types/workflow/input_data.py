"""Values for the data components of a run (blobhub 4.8)."""

from collections.abc import Mapping
from typing import Any

from blobhub.wire_json import dump


def input_entries(input_data: Mapping[str, Mapping[str, Any]] | None) -> list[dict[str, Any]] | None:
    """The wire form, `[{"alias", "value"}]` in the order given, the values untouched; None for None.

    TypeError for anything but a mapping of text to mappings that JSON can carry; NaN and infinities it cannot.
    """
    if input_data is None:
        return None
    if not isinstance(input_data, Mapping):
        raise TypeError(f"input_data is a mapping of alias to value, got {type(input_data).__name__}")
    for alias, value in input_data.items():
        if not isinstance(alias, str):
            raise TypeError(f"an alias of input_data is text, got {alias!r}")
        if not isinstance(value, Mapping):
            raise TypeError(f"the value of {alias!r} is a mapping with a type, got {type(value).__name__}")
        check_json(value, f"the value of {alias!r}")
    return [{"alias": alias, "value": value} for alias, value in input_data.items()]


def check_json(value: Any, what: str) -> None:
    """TypeError for what JSON cannot carry."""
    try:
        dump(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{what} cannot be sent as JSON: {error}") from error
