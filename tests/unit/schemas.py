"""Hypothesis strategies for JSON Schemas that have values, as callers of `reason` write them."""

from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]
names = st.sampled_from(["code", "width_cm", "text", "values", "kind", "if", "a b", "ä"])
lengths = st.integers(0, 30)
PATTERNS = [
    r"^[A-Z]{3}-\d{2,4}$", r"^(red|green|blue)$", r"^#[0-9a-f]{6}$", r"\w+@\w+\.com", r"^[^a-c\s]+$", r"^a.c*?x+$",
    r"^\S+ \D$", r"^(?:ab|cd){2}[\w-]$", "[\\u00e4\\u00f6]{2}",
]  # fmt: skip
FORMATS = ["date", "date-time", "time", "email", "uri", "uuid", "ipv4", "ipv6", "hostname", "duration", "unheard-of"]


@st.composite
def ranges(draw: st.DrawFn, least: str, most: str, numbers: st.SearchStrategy[Any] = lengths) -> Schema:
    low, high = sorted((draw(numbers), draw(numbers)))
    return draw(st.sampled_from([{}, {least: low}, {most: high}, {least: low, most: high}]))


texts = st.one_of(
    ranges("minLength", "maxLength").map(lambda r: {"type": "string", **r}),
    st.sampled_from(PATTERNS).map(lambda p: {"type": "string", "pattern": p}),
    st.sampled_from(FORMATS).map(lambda f: {"type": "string", "format": f}),
)
integers = ranges("minimum", "maximum", st.integers(-(10**6), 10**6)).map(lambda r: {"type": "integer", **r})
steps = st.integers(1, 50).map(lambda n: {"type": "integer", "multipleOf": n})
numbers = ranges("minimum", "maximum", st.floats(-1e6, 1e6)).map(lambda r: {"type": "number", **r})
exclusive = st.floats(-1e6, 1e6).map(lambda n: {"type": "number", "exclusiveMinimum": n, "exclusiveMaximum": n + 1})
fixed: st.SearchStrategy[Schema] = st.one_of(
    st.lists(st.sampled_from([1, "a", None, True, 2.5]), min_size=1, max_size=3).map(lambda v: {"enum": v}),
    st.sampled_from([1, "a", None, [], {"x": 1}]).map(lambda v: {"const": v}),
)
nullable = st.sampled_from(["string", "integer", "number", "boolean"]).map(lambda kind: {"type": [kind, "null"]})
plain = st.sampled_from([{"type": "boolean"}, {"type": "null"}, {}, {"type": "string", "description": "what it is"}])
scalars = st.one_of(texts, integers, steps, numbers, exclusive, fixed, nullable, plain)


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    properties = draw(st.dictionaries(names, inner, max_size=4))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    more = draw(st.sampled_from([{}, {"additionalProperties": False}, {"additionalProperties": True}]))
    return {"type": "object", "properties": properties, "required": required, **more}


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    bounds = draw(ranges("minItems", "maxItems", st.integers(0, 5)))
    return {"type": "array", "items": draw(inner), **bounds}


@st.composite
def referring(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    """A list of nodes that have nodes, and a definition that is used twice."""
    node = {
        "type": "object",
        "properties": {"it": draw(inner), "kids": {"type": "array", "items": {"$ref": "#/$defs/n"}}},
    }
    return {"$defs": {"n": node, "v": draw(inner)}, "anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/v"}]}


inner = st.recursive(
    scalars,
    lambda below: st.one_of(
        objects(below),
        arrays(below),
        st.lists(below, min_size=1, max_size=3).map(lambda found: {"anyOf": found}),
        below.map(lambda found: {"allOf": [found, {"description": "both"}]}),
    ),
    max_leaves=10,
)
satisfiable: st.SearchStrategy[Schema] = st.one_of(objects(inner), inner, referring(inner))
