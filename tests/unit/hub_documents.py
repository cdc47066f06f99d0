"""Workflow documents for tests: written out by hand, or random."""

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
_RARE = ("flow.end", "unheard.of")
_PERSISTENCES = ("execution", "session", "definition")


@st.composite
def documents(draw: st.DrawFn) -> Json:
    """Any graph over a start, up to eight components on the path and up to three data components."""
    common = [name for name in FLOW_TYPES if name not in _RARE]
    types = draw(st.lists(st.sampled_from(common * 3 + list(_RARE)), min_size=1, max_size=8))
    components = [component("s", "flow.start"), *(component(f"c{i}", name) for i, name in enumerate(types))]
    kept = draw(st.lists(st.sampled_from(_PERSISTENCES[:2] * 4 + _PERSISTENCES[2:]), max_size=3))
    components += [
        component(f"d{i}", "data.text", alias=f"alias-{i}", persistence=p, value=f"v{i}") for i, p in enumerate(kept)
    ]
    order = draw(st.permutations(components))
    return document(list(order), [*_flows(draw, types), *_datas(draw, len(types), len(kept))])


def _flows(draw: st.DrawFn, types: list[str]) -> list[Json]:
    ids = [f"c{i}" for i in range(len(types))]
    targets = st.sampled_from(ids * 4 + ["nowhere"])
    edges = [flow("s", target) for target in draw(st.lists(targets, min_size=1, max_size=2))]
    routes = [(source, route) for source, name in zip(ids, types, strict=True) for route in FLOW_TYPES[name]]
    for source, route in routes:
        edges += [flow(source, target, route) for target in draw(st.lists(targets, max_size=2))]
    return list(draw(st.permutations(edges)))


def _datas(draw: st.DrawFn, count: int, kept: int) -> list[Json]:
    ends = [(f"c{i}", "out", "in") for i in range(count)] + [(f"d{i}", "value", "value") for i in range(kept)]
    pairs = draw(st.lists(st.tuples(st.sampled_from(ends), st.sampled_from(ends)), max_size=6))
    return [data(source, target, out, into) for (source, out, _), (target, _, into) in pairs]
