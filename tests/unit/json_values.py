"""Hypothesis strategies for JSON values and for the ways to spell one."""

import json
import random
from typing import Any

from hypothesis import strategies as st

Json = None | bool | int | float | str | list[Any] | dict[str, Any]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts)
values: st.SearchStrategy[Json] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)


def same(one: Json, other: Json) -> bool:
    """Whether two values are one: numbers by value, booleans never a number, objects whatever their order."""
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return type(one) is type(other) and one == other


def spell(value: Json, choose: random.Random) -> str:
    """The value as some JSON text: keys in any order, numbers and texts in any spelling, spaces anywhere."""
    space = choose.choice(["", " ", "\n\t"])
    if isinstance(value, dict):
        pairs = [f"{spell(key, choose)}{space}:{spell(inner, choose)}" for key, inner in value.items()]
        choose.shuffle(pairs)
        return "{" + space + ",".join(pairs) + "}" + space
    if isinstance(value, list):
        return "[" + space + ("," + space).join(spell(inner, choose) for inner in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=choose.random() < 0.5).replace("/", choose.choice(["/", "\\/"]))
    if isinstance(value, float):
        return choose.choice([repr(value), f"{value:.17e}", f"{value:.17E}", repr(value).replace("e", "E")])
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53:
        return choose.choice([str(value), f"{value}.0", f"{value}.000", f"{value}e0", f"{value}E+0"])
    return json.dumps(value)
