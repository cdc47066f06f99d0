"""A value that follows a JSON Schema, always the same for the same seed: what the mock model answers.

Every declared property is filled (decision 29). A schema that only exotic values follow may get none.
"""

import math
from collections.abc import Callable
from typing import Any

from turnbuckle.models import schema as schemas
from turnbuckle.models.chance import Chance
from turnbuckle.models.sample_text import NoSample, of_format, of_length, of_pattern
from turnbuckle.models.schema import Schema

_TRIES = 16
_DEPTH = 6  # from here on only what is needed: schemas may refer to themselves
_DEEPEST = 40
_SPAN = 100  # of a number that is bounded on one side
_ITEMS_MAX = 10_000
_PARTS_MAX = 50_000  # of all tries together: a few nested arrays or references can ask for more than any memory
_CHARS_PER_PART = 50
_Draw = Callable[[Schema, str, int], Any]


def sample(schema: Schema, seed: bytes) -> Any:
    """Raises NoSample when no try follows the schema."""
    why, left = "none was tried", _Left()
    for attempt in range(_TRIES):
        try:
            value = _Sampler(schema, Chance(seed + bytes([attempt])), left).value(schema, "", 0)
        except (NoSample, RecursionError, ArithmeticError) as exc:  # numbers that no float can hold
            why = str(exc)
            continue
        problem = schemas.problem(schema, value)
        if problem is None:
            return value
        why = problem
    raise NoSample(why)


class _Left:
    """How many more values may be made."""

    def __init__(self) -> None:
        self._parts = _PARTS_MAX

    def spend(self, parts: int) -> None:
        self._parts -= parts
        if self._parts < 0:
            raise NoSample(f"a value of more than {_PARTS_MAX:,} parts")


class _Sampler:
    def __init__(self, root: Schema, chance: Chance, left: _Left) -> None:
        self._root = root
        self._chance = chance
        self._left = left
        self._of: dict[str, _Draw] = {
            "object": self._object,
            "array": self._array,
            "string": self._string,
            "integer": self._integer,
            "number": self._number,
            "boolean": lambda schema, about, depth: self._chance.one_of((True, False)),
            "null": lambda schema, about, depth: None,
        }

    def value(self, schema: Any, about: str, depth: int) -> Any:
        self._left.spend(1)
        if depth > _DEEPEST:
            raise NoSample("a schema that needs itself")
        if schema is False:
            raise NoSample("a schema that no value follows")
        whole = {} if schema is True else self._flat(schema, depth)
        if "const" in whole:
            return whole["const"]
        if "enum" in whole:
            return self._chance.one_of(self._fitting(whole))
        return self._of[self._kind(whole)](whole, about, depth)

    def _fitting(self, whole: Schema) -> list[Any]:
        rest = {key: value for key, value in whole.items() if key != "enum"}
        fitting = [value for value in whole["enum"] if schemas.problem({**rest, "$defs": {}}, value) is None]
        if not fitting:
            raise NoSample("an enumeration without a value that fits")
        return fitting

    def _flat(self, schema: Schema, depth: int) -> Schema:
        """One schema without references and choices, for the keywords that have one."""
        flat = {key: value for key, value in schema.items() if key not in ("$ref", "allOf", "anyOf", "oneOf")}
        joined = list(schema.get("allOf", ()))
        if "$ref" in schema:
            joined.append(schemas.resolve(self._root, schema["$ref"]))
        joined += [self._branch(schema[keyword], depth) for keyword in ("anyOf", "oneOf") if keyword in schema]
        for other in joined:
            if other is False:
                raise NoSample("a schema that no value follows")
            flat = _both(flat, self._flat(other, depth + 1)) if isinstance(other, dict) else flat
        return flat

    def _branch(self, branches: list[Any], depth: int) -> Any:
        """Any; far down one that ends, if there is one."""
        if depth < _DEPTH:
            return self._chance.one_of(branches)
        ending = [b for b in branches if isinstance(b, dict) and b.get("type") not in ("array", "object", None)]
        return self._chance.one_of(ending or branches)

    def _kind(self, schema: Schema) -> str:
        kinds = schema.get("type")
        if isinstance(kinds, str):
            return kinds
        if kinds:
            return str(self._chance.one_of([kind for kind in kinds if kind != "null"] or kinds))
        hints = {
            "object": ("properties", "required", "additionalProperties", "minProperties"),
            "array": ("items", "prefixItems", "minItems", "contains", "uniqueItems"),
            "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        }
        return next((kind for kind, words in hints.items() if any(word in schema for word in words)), "string")

    # -- one kind each -------------------------------------------------------------------------------------------

    def _object(self, schema: Schema, about: str, depth: int) -> dict[str, Any]:
        needed = schema.get("required", [])
        declared = schema.get("properties", {})
        names = list(declared) if depth < _DEPTH else [name for name in declared if name in needed]
        if len(names) > _count(schema, "maxProperties", len(names)):
            names = [name for name in names if name in needed]
        names += [name for name in needed if name not in names]
        rest = schema.get("additionalProperties", True)
        least = _count(schema, "minProperties")
        self._left.spend(least)
        names += [f"key_{n}" for n in range(1, least - len(names) + 1)]
        return {name: self.value(declared.get(name, rest), name, depth + 1) for name in names}

    def _array(self, schema: Schema, about: str, depth: int) -> list[Any]:
        first = schema.get("prefixItems", [])
        rest = schema.get("items", True)
        least, most = _count(schema, "minItems"), _count(schema, "maxItems", _ITEMS_MAX)
        if least > _ITEMS_MAX:
            raise NoSample(f"an array of {least} items")
        wanted = 0 if depth >= _DEPTH else self._chance.integer(1, 3)
        count = max(least, min(most, max(len(first), wanted) if rest is not False else len(first)))
        items = [self.value(part, about, depth + 1) for part in first[:count]]
        if "contains" in schema:
            copies = max(1, _count(schema, "minContains", 1))
            self._left.spend(copies)
            items += [self.value(schema["contains"], about, depth + 1)] * copies
        for _ in range(_TRIES * count):
            if len(items) >= count:
                break
            item = self.value(rest, about, depth + 1)
            if not schema.get("uniqueItems") or item not in items:
                items.append(item)
        return items

    def _string(self, schema: Schema, about: str, depth: int) -> str:
        if "pattern" in schema:
            return of_pattern(schema["pattern"], self._chance)
        made = of_format(schema.get("format", ""), self._chance)
        least = _count(schema, "minLength")
        most = _count(schema, "maxLength") if "maxLength" in schema else None
        if least > _ITEMS_MAX:
            raise NoSample(f"a text of {least} characters")
        self._left.spend(least // _CHARS_PER_PART)
        return made if made is not None else of_length(least, most, about.replace("_", " "), self._chance)

    def _integer(self, schema: Schema, about: str, depth: int) -> int:
        step = schema.get("multipleOf", 1)
        if step != int(step):
            step = 1  # the smallest common multiple is found by trying
        least, most = _bounds(schema)
        first, last = math.ceil(least / step), math.floor(most / step)
        if first * step == schema.get("exclusiveMinimum"):
            first += 1
        if last * step == schema.get("exclusiveMaximum"):
            last -= 1
        if first > last:
            raise NoSample("no whole number between the bounds")
        return int(self._chance.integer(first, last) * step)

    def _number(self, schema: Schema, about: str, depth: int) -> float:
        least, most = _bounds(schema)
        if "multipleOf" in schema:
            step = schema["multipleOf"]
            first, last = math.ceil(least / step), math.floor(most / step)
            return self._chance.integer(first, max(first, last)) * step  # type: ignore[no-any-return]
        made = least + (most - least) * self._chance.share()
        short = round(made, 2)
        inside = least < short < most
        return short if inside else made


def _count(schema: Schema, keyword: str, default: int = 0) -> int:
    """2.0 is a count too (JSON Schema, 6.3: a number with a zero fraction is an integer)."""
    return int(schema.get(keyword, default))


def _bounds(schema: Schema) -> tuple[float, float]:
    """Between which a number is chosen: those of the schema, else some hundred from the one there is."""
    least = [schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema]
    most = [schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema]
    if not least and not most:
        return 0, _SPAN
    span = max(_SPAN, _SPAN * schema.get("multipleOf", 0))
    return (max(least) if least else min(most) - span), (min(most) if most else max(least) + span)


def _both(one: Schema, other: Schema) -> Schema:
    """A schema that asks for both, for the keywords where that can be written as one."""
    joined = {**one, **other}
    for key in ("properties", "$defs"):
        if key in one and key in other:
            joined[key] = {**one[key], **other[key]}
    if "properties" in one and "properties" in other:
        for name in one["properties"].keys() & other["properties"].keys():
            joined["properties"][name] = {"allOf": [one["properties"][name], other["properties"][name]]}
    if "required" in one and "required" in other:
        joined["required"] = list(dict.fromkeys([*one["required"], *other["required"]]))
    for key in ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"):
        if key in one and key in other:
            joined[key] = max(one[key], other[key])
    for key in ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"):
        if key in one and key in other:
            joined[key] = min(one[key], other[key])
    if "type" in one and "type" in other:
        joined["type"] = _common_type(one["type"], other["type"])
    if "enum" in one and "enum" in other:
        joined["enum"] = [value for value in one["enum"] if value in other["enum"]] or one["enum"]
    return joined


def _common_type(one: Any, other: Any) -> Any:
    ones, others = ([kind] if isinstance(kind, str) else list(kind) for kind in (one, other))
    common = [kind for kind in ones if kind in others]
    if not common and "integer" in (*ones, *others) and "number" in (*ones, *others):
        common = ["integer"]
    if not common:
        raise NoSample(f"a value that is both {one} and {other}")
    return common[0] if len(common) == 1 else common
