"""Value templates: what a program's values stand for (conformance/workflow-worker/README.md, "Value templates")."""

from dataclasses import dataclass, field
from typing import Any

from tests.conformance.scenario import BadScenario

Json = Any


@dataclass
class Values:
    """What templates may look at in one execution of a program."""

    state: Json
    message: Json
    outputs: dict[str, Json] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)  # paths that led nowhere


def resolve(template: Json, values: Values) -> Json:
    """The value a template stands for. BadScenario when a path leads nowhere."""
    match template:
        case {"$ref": path}:
            return _follow(values, "$ref", values.outputs, path)
        case {"$message": path}:
            return _follow(values, "$message", values.message, path)
        case {"$state": path}:
            return _follow(values, "$state", values.state, path)
        case {"$repeat": count, "of": item}:
            return [resolve(_with_index(item, index), values) for index in range(count)]
        case {"$chars": count}:
            return template.get("char", "q") * count
        case dict():
            return {key: resolve(value, values) for key, value in template.items()}
        case list():
            return [resolve(value, values) for value in template]
        case _:
            return template


def _follow(values: Values, template: str, root: Json, path: str) -> Json:
    """The value at a dot path, where a numeric part indexes a list; an empty path is the whole value."""
    value = root
    for part in path.split(".") if path else []:
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError) as exc:
            # Written down as well as raised: the worker takes the exception for an ordinary failure of the turn.
            values.broken.append(f"the program's {template} {path!r} leads nowhere")
            raise BadScenario(values.broken[-1]) from exc
    return value


def _with_index(item: Json, index: int) -> Json:
    match item:
        case str():
            return item.replace("{i}", str(index))
        case dict():
            return {key: _with_index(value, index) for key, value in item.items()}
        case list():
            return [_with_index(value, index) for value in item]
        case _:
            return item
