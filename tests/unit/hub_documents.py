"""Workflow documents for tests: written out by hand, or random."""

import random
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]


def text(value: str) -> Json:
    return {"type": "text", "text": value}


def component(component_id: str, type_: str, **settings: Any) -> Json:
    """With its settings as ports; a value that is no object becomes a choice, a text, an integer or json."""
    return {
        "id": component_id,
        "type": type_,
        "category": type_.partition(".")[0],
        "name": component_id.title(),
        "ports": [{"category": "setting", "route": r, "value": _value(v)} for r, v in settings.items()],
    }


def _value(value: Any) -> Any:
    if isinstance(value, bool):
        return {"type": "boolean", "flag": value}
    if isinstance(value, int):
        return {"type": "integer", "integer": value}
    if isinstance(value, str):
        return text(value)
    return value if value is None or "type" in value else {"type": "json", "json": value}


def flow(source: str, target: str, route: str = "next") -> Json:
    return {
        "id": f"{source}-{route}-{target}",
        "source_id": source,
        "target_id": target,
        "source_port": "flow_output",
        "target_port": "flow_input",
        "route": route,
    }


def data(source: str, target: str, source_route: str = "value", target_route: str = "value") -> Json:
    return {
        "id": f"{source}-{target}",
        "source_id": source,
        "target_id": target,
        "source_port": "data_output",
        "target_port": "data_input",
        "source_route": source_route,
        "target_route": target_route,
    }


def document(components: list[Json], connections: list[Json]) -> Json:
    return {
        "type": "workflow_definition",
        "version": "1.0.1",
        "components": components,
        "connections": connections,
    }


FLOW_TYPES = {
    "logic.code": ("a", "b", "failure"),
    "logic.condition": ("true", "false"),
    "logic.loop": ("item", "done"),
    "flow.parallel": ("next",),
    "flow.join": ("next",),
    "flow.end": (),
    "unheard.of": ("a",),
}
_WEIGHTS = {"logic.code": 6, "logic.condition": 3, "logic.loop": 4, "flow.parallel": 6, "flow.join": 4, "flow.end": 1}
_PERSISTENCES = ("execution", "session", "execution", "session", "execution", "definition")


def documents() -> st.SearchStrategy[Json]:
    """Any graph over a start, up to nine components on the path and up to three data components.

    Drawn by a seed: one draw is 20 times faster than a draw per edge, and the size alone shrinks well.
    """
    return st.builds(random_document, st.integers(0, 2**63), st.integers(1, 9))


def random_document(seed: int, size: int) -> Json:
    chance = random.Random(seed)
    types = chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()), k=size)
    if chance.random() < 0.05:
        types[-1] = "unheard.of"
    kept = [chance.choice(_PERSISTENCES) for _ in range(chance.randrange(4))]
    components = [component("s", "flow.start"), *(component(f"c{i}", name) for i, name in enumerate(types))]
    components += [
        component(f"d{i}", "data.text", alias=f"alias-{i}", persistence=p, value=f"v{i}") for i, p in enumerate(kept)
    ]
    edges = [*_flows(chance, types), *_datas(chance, size, len(kept))]
    chance.shuffle(components)
    chance.shuffle(edges)
    return document(components, edges)


def _flows(chance: random.Random, types: list[str]) -> Iterator[Json]:
    """Mostly onward, so that paths get long; sometimes back, and rarely to nowhere."""
    yield from (flow("s", f"c{i}") for i in range(chance.choice((1, 1, 2))) if i < len(types))
    for i, name in enumerate(types):
        for route in FLOW_TYPES[name]:
            for _ in range(chance.choice((1, 2, 2, 3) if name == "flow.parallel" else (0, 1, 1, 1, 2, 2))):
                yield flow(f"c{i}", _target(chance, i, len(types)), route)


def _target(chance: random.Random, source: int, count: int) -> str:
    if chance.random() < 0.02:
        return "nowhere"
    if chance.random() < 0.8 and source + 1 < count:
        return f"c{chance.randrange(source + 1, count)}"
    return f"c{chance.randrange(count)}"


def _datas(chance: random.Random, count: int, kept: int) -> Iterator[Json]:
    ends = [(f"c{i}", "out", "in") for i in range(count)] + [(f"d{i}", "value", "value") for i in range(kept)] * 2
    sinks = chance.sample(ends, min(3, len(ends)))  # so that several sources meet in one input
    for _ in range(chance.randrange(16)):
        (source, out, _), (target, _, into) = chance.choice(ends), chance.choice(sinks)
        yield data(source, target, out, into)
