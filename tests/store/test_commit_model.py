"""Random commits against a small reference: what every past commit shows, how two commits differ, what the feed tells.

The reference keeps a whole copy of the graph for each commit and knows no rows, intervals or indexes.
"""

import itertools
import json
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.store.calls import Store
from tests.store.graphs import by_id, declared, dry, everything, feed, id_of, ref, write
from turnbuckle.operations import graph
from turnbuckle.store import database, edge, entity, fact
from turnbuckle.wire.errors import Refused

NAMES = ["a", "b", "c"]
FIELDS = {"word_count": st.integers(0, 2), "score": st.sampled_from([0.5, 1.0])}
_GRAPHS = itertools.count(1)


# -- what is asked -----------------------------------------------------------------------------------------------

refs = st.tuples(st.sampled_from(["name", "id"]), st.sampled_from(NAMES))
rows = st.tuples(refs, st.fixed_dictionaries({}, optional=FIELDS), st.lists(st.sampled_from(list(FIELDS)), max_size=1))
links = st.tuples(refs, st.just("MENTIONS"), refs)
owned = st.fixed_dictionaries(
    {
        "subjects": st.lists(refs, max_size=2),
        "relations": st.lists(st.just("MENTIONS"), max_size=1),
        "properties": st.lists(st.sampled_from(list(FIELDS)), max_size=2, unique=True),
        "retract_entities": st.lists(refs, max_size=2),
    }
)
bodies = st.fixed_dictionaries(
    {
        "rows": st.lists(rows, max_size=3),
        "links": st.lists(links, max_size=3),
        "owned": st.one_of(st.none(), owned),
        "replaces": st.booleans(),
        "skips": st.booleans(),
    }
)


def sent(body: dict[str, Any]) -> dict[str, Any]:
    """As the wire takes it."""
    made: dict[str, Any] = {
        "entity_properties": [
            {**_ref(record), "properties": sets, "remove_fields": [one for one in removes if one not in sets]}
            for record, sets, removes in body["rows"]
        ],
        "triplets": [{"source": _ref(s), "relation": r, "target": _ref(t)} for s, r, t in body["links"]],
        "property_merge": "replace" if body["replaces"] else "merge",
        "edge_idempotency": "skip_unchanged" if body["skips"] else "append",
    }
    if body["owned"] is not None:
        asked = body["owned"]
        ends = {name: [_ref(one) for one in asked[name]] for name in ("subjects", "retract_entities")}
        made["replace_owned"] = {**asked, **ends}
    return made


def _ref(one: tuple[str, str]) -> dict[str, Any]:
    kind, name = one
    return ref(name) if kind == "name" else by_id(id_of(name))


# -- the reference -----------------------------------------------------------------------------------------------


@dataclass
class Graph:
    """A graph as one commit left it, by record names."""

    records: set[str] = field(default_factory=set)
    fields: dict[tuple[str, str], Any] = field(default_factory=dict)
    links: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def rows(self) -> tuple[set[Any], set[Any], list[Any]]:
        return (
            {(id_of(name), "note", name.encode()) for name in self.records},
            {(id_of(name), prop, json.dumps(value).encode()) for (name, prop), value in self.fields.items()},
            sorted((id_of(s), r.lower(), id_of(t)) for s, r, t in self.links.elements()),
        )


class Unknown(Exception):
    """A row names a record by id that never was."""


def after(before: Graph, ever: set[str], body: dict[str, Any]) -> Graph:
    made = {name for kind, name in _named(body) if kind == "name"}
    there = before.records | made
    for kind, name in _named(body):
        if kind == "id" and name not in there and name not in ever:
            raise Unknown
    taken = [row for row in body["rows"] if row[0][1] in there]
    linked = [(s[1], r, t[1]) for s, r, t in body["links"] if s[1] in there and t[1] in there]
    new = deepcopy(before)
    new.records |= {record[1] for record, _, _ in taken} | {end for s, _, t in linked for end in (s, t)}
    written = {(record[1], prop) for record, sets, _ in taken for prop in sets}
    if body["owned"] is not None:
        _release(new, before, body["owned"], written, set(linked), {record[1] for record, _, _ in taken})
    replaced = set()
    for record, sets, removes in taken:
        name = record[1]
        if body["replaces"] and name not in replaced:
            new.fields = {at: value for at, value in new.fields.items() if at[0] != name}
            replaced.add(name)
        for prop in removes:
            if prop not in sets:
                new.fields.pop((name, prop), None)
        new.fields.update({(name, prop): value for prop, value in sets.items()})
    for link in linked:
        if not (body["skips"] and new.links[link]):
            new.links[link] += 1
    return new


def _named(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [record for record, _, _ in body["rows"]] + [end for s, _, t in body["links"] for end in (s, t)]


def _release(
    new: Graph, before: Graph, asked: dict[str, Any], written: set[Any], linked: set[Any], rows: set[str]
) -> None:
    subjects, gone = ({name for _, name in asked[of]} for of in ("subjects", "retract_entities"))
    for link in list(new.links):
        is_owned = link[0] in subjects and link[1] in asked["relations"]
        if link not in linked and (is_owned or link[0] in gone or link[2] in gone):
            del new.links[link]
    for name, prop in list(new.fields):
        is_owned = name in subjects and prop in asked["properties"]
        if (name, prop) not in written and (is_owned or name in gone):
            del new.fields[name, prop]
    new.records -= gone - rows - {end for s, _, t in linked for end in (s, t)}


# -- the comparison ----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(bodies, min_size=1, max_size=8))
def test_every_past_commit_is_as_the_reference_says(store: Store, asked: list[dict[str, Any]]) -> None:
    graph_id = database.write(store.database, lambda tx: graph.use(tx, "test", f"g{next(_GRAPHS)}"))
    notes = declared(Store(store.database, store.location, graph_id, store.clock))
    past, ever = [Graph()], set[str]()
    for body in asked:
        if not (body["rows"] or body["links"] or body["owned"]):
            continue
        if body["owned"] is not None and not (body["owned"]["subjects"] or body["owned"]["retract_entities"]):
            continue
        try:
            expected = after(past[-1], ever, body)
        except Unknown:
            assert _refusals(notes, body) == ["unknown_entity"] * 2
            continue
        tried, answer = dry(notes, **sent(body)), write(notes, **sent(body))
        assert (tried.owned, tried.triplets) == (answer.owned, answer.edges_written)
        assert answer.no_op is (None if answer.commit_seq == len(past) else True)
        if answer.no_op is None:
            past.append(expected)
            ever |= expected.records
        assert expected.rows() == past[-1].rows()

    for seq, then in enumerate(past):
        assert everything(notes, seq) == then.rows()
    _check_deltas(notes, past)
    _check_feed(notes, past)


def _refusals(notes: Store, body: dict[str, Any]) -> list[str]:
    codes = []
    for send in (dry, write):
        try:
            send(notes, **sent(body))
        except Refused as refused:
            codes.append(refused.code)
    return codes


def _check_deltas(notes: Store, past: list[Graph]) -> None:
    """Rows that began and ended lead from any commit to any later one."""
    for start, end in itertools.combinations(range(len(past)), 2):
        shown = [Counter(part) for part in past[start].rows()]
        for index, (noun, key) in enumerate(((entity, _record), (fact, _fact), (edge, _edge))):
            span = {"graph_id": notes.graph_id, "from_seq": start, "to_seq": end}
            began, ended = (database.read(notes.database, partial(read, **span)) for read in (noun.began, noun.ended))
            shown[index].update(key(one) for one in began)
            shown[index].subtract(key(one) for one in ended)
        assert [+part for part in shown] == [Counter(part) for part in past[end].rows()]


def _record(one: Any) -> Any:
    return one.entity_id, one.class_id, one.name


def _fact(one: Any) -> Any:
    return one.entity_id, one.property_id, one.value


def _edge(one: Any) -> Any:
    return one.source_id, one.relation_id, one.target_id


def _check_feed(notes: Store, past: list[Graph]) -> None:
    """The feed names each record that differs between a commit and the one before, and says how."""
    told = {(seq, id): (kind, set(names)) for seq, id, kind, names in feed(notes)}
    expected = {}
    for seq, (before, then) in enumerate(itertools.pairwise(past), 1):
        for name in NAMES:
            names = {f"p:{prop}" for prop in FIELDS if before.fields.get((name, prop)) != then.fields.get((name, prop))}
            if _out(before, name) != _out(then, name):
                names.add("r:mentions")
            was, is_there = name in before.records, name in then.records
            if not was and is_there:
                expected[seq, id_of(name)] = ("created", names | {"label"})
            elif was and not is_there:
                expected[seq, id_of(name)] = ("removed", names)
            elif names:
                expected[seq, id_of(name)] = ("changed", names)
    assert told == expected


def _out(graph: Graph, name: str) -> Counter[tuple[str, str, str]]:
    return Counter({link: count for link, count in graph.links.items() if link[0] == name})
