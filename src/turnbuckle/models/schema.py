"""The JSON Schemas that callers send: checked before a model is asked, closed, and held against its answer.

Draft 2020-12 in its own process alone: references lead nowhere but into the schema itself, so no request makes the
server fetch an address, and patterns are matched in linear time, so none makes it stand still.
"""

import copy
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import SchemaError, ValidationError
from pydantic import StringConstraints, TypeAdapter
from pydantic import ValidationError as NoMatch
from pydantic_core import SchemaError as BadPattern
from referencing import Registry

Schema = dict[str, Any]
Path = tuple[str | int, ...]
_ONE = (
    "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then",
    "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("$defs", "definitions", "dependentSchemas", "properties")
# What is one with its neighbours: closed by itself it would refuse what the others declare.
_PARTIAL = frozenset({"allOf", "dependentSchemas", "else", "if", "not", "then"})
_WEIGHT_MAX = 10_000
_ENDLESS = 1_000_000_000


class BadSchema(ValueError):
    """No schema that an answer can be held against. `path` is where in it."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(problem)
        self.path = path


def check(schema: Any) -> Schema:
    """The schema as it is. Raises BadSchema with the first problem."""
    if not isinstance(schema, dict):
        raise BadSchema((), "got no object, expected a JSON Schema")
    try:
        Draft202012Validator.check_schema(schema)
        for part in parts(schema):
            _check_part(schema, part.path, part.schema)
        weights: dict[int, int] = {}
        for part in parts(schema):
            if _weight(schema, part.schema, weights) > _WEIGHT_MAX:
                raise BadSchema(
                    part.path, f"one value is held against more than {_WEIGHT_MAX} schemas; use less of them"
                )
    except SchemaError as exc:
        raise BadSchema(tuple(exc.path), f"{exc.message[:200]}, expected a JSON Schema (draft 2020-12)") from None
    except RecursionError:
        raise BadSchema((), "it is nested too deep") from None
    return schema


def _weight(root: Schema, schema: Any, known: dict[int, int]) -> int:
    """Against how many schemas one value is held. A few references to references can make that more than any time."""
    if not isinstance(schema, dict):
        return 1
    if id(schema) not in known:
        known[id(schema)] = _ENDLESS  # what meets itself on the way
        known[id(schema)] = min(_ENDLESS, 1 + sum(_weight(root, part, known) for part in _in_place(root, schema)))
    return known[id(schema)]


def _in_place(root: Schema, schema: Schema) -> Iterator[Any]:
    """What the same value is held against."""
    for keyword in ("$ref", "$dynamicRef"):
        if isinstance(ref := schema.get(keyword), str):
            yield resolve(root, ref)
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(keyword, ())
    for keyword in ("else", "if", "not", "then"):
        yield schema.get(keyword)
    yield from schema.get("dependentSchemas", {}).values()


def _check_part(root: Schema, path: Path, part: Schema) -> None:
    for keyword in ("$ref", "$dynamicRef"):
        if isinstance(ref := part.get(keyword), str):
            resolve(root, ref, (*path, keyword))
    if "patternProperties" in part:
        raise BadSchema((*path, "patternProperties"), "it is not supported; declare the properties by name")
    if isinstance(pattern := part.get("pattern"), str):
        try:
            _matcher(pattern)
        except BadPattern as exc:
            last = str(exc).strip().splitlines()[-1].removeprefix("error: ")
            raise BadSchema((*path, "pattern"), f"got {pattern[:80]!r}: {last}") from None


def resolve(root: Any, ref: str, path: Path = ()) -> Any:
    """What `#/a/b` names in `root`. Raises BadSchema when there is nothing."""
    if ref != "#" and not ref.startswith("#/"):
        raise BadSchema(path, f"got {ref[:80]!r}, expected a place inside the schema, such as #/$defs/x")
    found = root
    for step in ref.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(key)] if isinstance(found, list) else found[key]
        except (KeyError, IndexError, ValueError, TypeError):
            raise BadSchema(path, f"got {ref[:80]!r}, which leads nowhere in the schema") from None
    return found


class Part(NamedTuple):
    """A schema inside a schema."""

    path: Path
    within: frozenset[str]  # the keywords on the way to it; `path` also has names and indexes
    schema: Schema


def parts(schema: Any, path: Path = (), within: frozenset[str] = frozenset()) -> Iterator[Part]:
    """Every schema in the schema, itself first."""
    if not isinstance(schema, dict):
        return
    yield Part(path, within, schema)
    for keyword in _ONE:
        yield from parts(schema.get(keyword), (*path, keyword), within | {keyword})
    for keyword in _LISTS:
        for index, part in enumerate(schema.get(keyword, ())):
            yield from parts(part, (*path, keyword, index), within | {keyword})
    for keyword in _MAPS:
        for name, part in schema.get(keyword, {}).items():
            yield from parts(part, (*path, keyword, name), within | {keyword})


def closed(schema: Schema) -> Schema:
    """A copy whose objects take no properties but those they declare (lbb-graph 3.1)."""
    made = copy.deepcopy(schema)
    for part in parts(made):
        if _is_object(part.schema) and _is_whole(part) and part.schema.get("additionalProperties", True) is True:
            part.schema["additionalProperties"] = False
    return made


def filled(schema: Schema) -> Schema:
    """A copy whose objects need every property they declare (decision 29)."""
    made = copy.deepcopy(schema)
    for part in parts(made):
        if "properties" in part.schema and not part.within & {"if", "not"}:
            part.schema["required"] = list(part.schema["properties"])
    return made


def _is_object(schema: Schema) -> bool:
    kind = schema.get("type", ())
    return "properties" in schema or kind == "object" or (isinstance(kind, list) and "object" in kind)


def _is_whole(part: Part) -> bool:
    return not part.within & _PARTIAL and not part.schema.keys() & (_PARTIAL | {"$ref", "unevaluatedProperties"})


def is_strict(schema: Schema) -> bool:
    """Whether it keeps to what providers can force a model to follow: closed objects, every property required."""
    return all(
        part.schema.get("additionalProperties") is False
        and set(part.schema.get("required", ())) == set(part.schema.get("properties", ()))
        if _is_object(part.schema)
        else not part.schema.keys() & (_PARTIAL | {"oneOf", "prefixItems", "contains", "$dynamicRef"})
        for part in parts(schema)
    )


def problem(schema: Schema, value: Any) -> str | None:
    """How the value does not follow the schema; None when it does."""
    try:
        error = next(_Validator(schema, registry=Registry()).iter_errors(value), None)
    except RecursionError:
        return "it is nested too deep to be checked"
    return None if error is None else f"{_place(error)}: {error.message[:200]}"


def _place(error: ValidationError) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)


@lru_cache(maxsize=1_000)
def _matcher(pattern: str) -> TypeAdapter[str]:
    """Raises BadPattern for what needs backtracking: look-around and back-references."""
    return TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])


def matches(pattern: str, text: str) -> bool:
    try:
        _matcher(pattern).validate_python(text)
    except NoMatch:
        return False
    return True


def _check_pattern(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not matches(pattern, instance):
        yield ValidationError(f"{instance[:80]!r} does not match {pattern[:80]!r}")


_Validator: Any = validators.extend(Draft202012Validator, {"pattern": _check_pattern})  # type: ignore[no-untyped-call]
