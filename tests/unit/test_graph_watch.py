"""Pure rules of watches: what a change wakes, what waits once, batches, repeats, identities, terms."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.store.calls import refused
from turnbuckle.graph import named, watch, watch_terms
from turnbuckle.graph.change import CHANGED, CREATED, REMOVED, Change
from turnbuckle.graph.named import Named, Owned
from turnbuckle.graph.ontology import EntityType, Ontology, Property, Relation
from turnbuckle.graph.watch import Item, Scope, Settings, WatchedField
from turnbuckle.wire import limits
from turnbuckle.wire.named import WorkflowOwns
from turnbuckle.wire.turn import WorkflowMessageOrigin
from turnbuckle.wire.watch import WorkflowWatchFieldRequest, WorkflowWatchRequest

ONTOLOGY = Ontology(
    {
        "note": EntityType("note", "Note", 1),
        "memo": EntityType("memo", "Memo", 1, ("note",)),
        "topic": EntityType("topic", "Topic", 1),
    },
    {
        "text": Property("text", "text", 1, "text"),
        "word_count": Property("word_count", "word_count", 1, "i64"),
        "größe": Property("größe", "Größe", 1, "f64"),
    },
    {"about": Relation("about", "ABOUT", 1), "has_source": Relation("has_source", "HAS_SOURCE", 1)},
)


def scope_of(*fields: str, exclude: tuple[str, ...] = (), owned: Owned | None = None) -> Scope:
    asked = WorkflowWatchRequest(class_="Note", fields=list(fields) or None, exclude=list(exclude) or None)
    settings = watch_terms.settings(ONTOLOGY, asked, "watch")
    mine = owned or Owned()
    classes = watch_terms.classes_of(ONTOLOGY, [settings.class_id])
    return watch.scope(settings, mine, classes, watch_terms.classes_of(ONTOLOGY, mine.classes))


def change(*tokens: str, kind: str = CHANGED, class_id: str = "note", seq: int = 1) -> Change:
    return Change("g", seq, "e", class_id, kind, json.dumps(tokens).encode())


# -- what a change wakes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "changed", "names"),
    [
        (scope_of("text"), change("p:text"), {"text"}),
        (scope_of("text"), change("p:word_count"), None),
        (scope_of("text"), change("p:word_count", kind=CREATED), set()),
        (scope_of("text"), change(kind=REMOVED), set()),
        (scope_of("text"), change("p:text", class_id="topic"), None),
        (scope_of("text"), change("p:text", class_id="memo"), {"text"}),
        (scope_of("label"), change("label", "p:text"), {"label"}),
        (scope_of(), change("r:about", "p:text"), {"about", "text"}),
        (scope_of(exclude=("text",)), change("p:text"), None),
        (scope_of(owned=Owned(properties=["text"])), change("p:text"), None),
        (scope_of(owned=Owned(properties=["text"])), change("p:text", "p:word_count"), {"word_count"}),
        (scope_of("text", owned=Owned(properties=["text"])), change("p:text"), None),
        (scope_of(owned=Owned(relations=["has_source"])), change("r:has_source"), None),
        (scope_of(owned=Owned(classes=["memo"])), change("p:text", kind=CREATED, class_id="memo"), None),
        (scope_of("about/text"), change("r:about"), {"text"}),
        (scope_of("about/text"), change("p:text"), None),
        (scope_of("text"), change(), None),
    ],
)
def test_what_a_change_wakes(scope: Scope, changed: Change, names: set[str] | None) -> None:
    wake = watch.woken(scope, changed)

    if names is None:
        assert wake is None
    else:
        assert wake is not None
        assert wake.removed is (changed.kind == REMOVED)
        assert {name.rpartition("/")[2] for name in wake.fields} == names


@pytest.mark.parametrize(
    ("scope", "changed", "found"),
    [
        (scope_of("about/text"), change("p:text", class_id="topic"), {"about": {"about/text"}}),
        (scope_of("about/text", "about/label"), change("label", class_id="topic"), {"about": {"about/label"}}),
        (scope_of("about/text"), change("p:word_count", class_id="topic"), {}),
        (scope_of("about/text"), change("p:text", class_id="topic", kind=CREATED), {}),
        (scope_of("about/text"), change("p:text", class_id="topic", kind=REMOVED), {}),
        (scope_of("text"), change("p:text", class_id="topic"), {}),
        (scope_of("about/text", owned=Owned(properties=["text"])), change("p:text"), {}),
        (scope_of("about/text", owned=Owned(properties=["text"])), change("p:text", class_id="topic"), {"about"}),
        (scope_of("about/text", owned=Owned(classes=["topic"])), change("p:text", class_id="topic"), {}),
    ],
)
def test_which_links_a_change_is_followed_back_through(scope: Scope, changed: Change, found: Any) -> None:
    led = watch.led_to(scope, changed)

    assert (led if isinstance(found, dict) else set(led)) == found


# -- waiting once ------------------------------------------------------------------------------------------------


def origin_bytes(kind: str = "commit", **more: Any) -> bytes:
    return json.dumps({"kind": kind, **more}).encode()


def item(**more: Any) -> Item:
    fields: dict[str, Any] = {
        "due_at_ms": 10,
        "first_seq": 5,
        "last_seq": 5,
        "removed": 0,
        "reason": watch.CHANGED,
        "attempt": 0,
        "origin": origin_bytes(),
        "fields": b'["text"]',
    }
    return Item("g", "q", "e", shard=0, **(fields | more))


def test_a_newer_change_keeps_the_place_and_widens_the_range() -> None:
    first = item(reason=watch.BACKFILL, origin=origin_bytes("backfill"))

    merged = watch.merge(first, item(due_at_ms=20, first_seq=7, last_seq=7, fields=b'["label"]'))

    assert merged == replace(first, last_seq=7, fields=b'["label", "text"]')


def test_leaving_and_coming_back_is_told_as_it_is_last() -> None:
    gone = watch.merge(item(reason=watch.REFRESH, origin=origin_bytes("manual")), item(removed=1, last_seq=7))
    back = watch.merge(gone, item(last_seq=9))

    assert (gone.removed, gone.reason, gone.origin) == (1, watch.CHANGED, origin_bytes())
    assert (back.removed, back.first_seq, back.last_seq) == (0, 5, 9)


def test_a_repeat_gives_way_to_news_and_never_takes_their_place() -> None:
    repeat = item(due_at_ms=60_000, attempt=2, origin=origin_bytes("requeue", attempt=2))
    news = item(due_at_ms=20, first_seq=8, last_seq=8)

    assert watch.merge(repeat, news).due_at_ms == 20
    assert watch.merge(repeat, news).attempt == 0
    assert watch.merge(news, repeat) == news
    assert watch.merge(None, repeat) == repeat


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.integers(0, 3)), min_size=1))
def test_whatever_comes_the_range_covers_every_change_and_the_last_state_is_told(
    news: list[tuple[int, bool, int]],
) -> None:
    """No change is lost by coalescing: the range reaches from the first to the last, and removed is as it was last."""
    waiting: Item | None = None
    for seq, removed, attempt in news:
        repeat = attempt if waiting is None or not removed else 0
        waiting = watch.merge(waiting, item(first_seq=seq, last_seq=seq, removed=int(removed), attempt=repeat))

    assert waiting is not None
    kept = [(seq, removed) for at, (seq, removed, attempt) in enumerate(news) if at == 0 or attempt == 0 or removed]
    assert waiting.first_seq == min(seq for seq, _ in kept)
    assert waiting.last_seq == max(seq for seq, _ in kept)
    assert waiting.removed == int(kept[-1][1])


def test_field_names_never_burst_an_origin() -> None:
    names = [f"{'n' * 40}{number}" for number in range(100)] + ["x" * 500]

    told = json.loads(watch.fields_of(names))

    assert len(told) == 16
    assert all(len(name) <= 48 for name in told)


# -- messages ----------------------------------------------------------------------------------------------------


def test_a_batch_ends_where_reason_or_origin_does() -> None:
    same = [item(due_at_ms=number) for number in range(3)]
    other = item(reason=watch.REFRESH, origin=origin_bytes("manual"))

    assert watch.batch([*same, other, *same], 16) == same
    assert watch.batch(same, 2) == same[:2]
    assert watch.batch([other, *same], 16) == [other]
    assert watch.batch([], 16) == []


def test_an_origin_tells_the_range_of_its_items() -> None:
    told = watch.origin([item(first_seq=3, last_seq=4), item(first_seq=2, last_seq=9, fields=b'["label"]')])

    assert (told.from_seq, told.to_seq, told.fields) == (2, 9, ["label", "text"])
    assert watch.origin([item(origin=origin_bytes("backfill", target_seq=5), fields=b"[]")]) == WorkflowMessageOrigin(
        kind="backfill", target_seq=5
    )


def test_repeats_come_after_1_4_and_16_minutes_and_no_fourth_time() -> None:
    delays = []
    asking: WorkflowMessageOrigin | None = WorkflowMessageOrigin(kind="commit")
    while (delay := watch.delay_ms(attempt := watch.next_attempt(asking))) is not None:
        delays.append(delay // limits.MINUTE_MS)
        asking = WorkflowMessageOrigin(kind="requeue", attempt=attempt)

    assert delays == [1, 4, 16]
    assert watch.next_attempt(None) == 1


# -- identities --------------------------------------------------------------------------------------------------


def workflow(**more: Any) -> Named:
    fields: dict[str, Any] = {"shards": 1, "fan_in": None, "kind": "watch", "workflow_type": "t", "version": "v1"}
    rest = {"trigger_id": "watch", "settings": b"{}", "review_id": None, "review_of": None, "route_by": None}
    more_rest = {"window_messages": 4, "batch": 16, "owns": b"{}", "on_exhausted": "block", "budget_micro_usd": None}
    times = {"created_at_ms": 0, "updated_at_ms": 0}
    return Named("g", "notes", **(fields | rest | more_rest | times | more))


def test_a_workflow_is_served_by_its_shards_and_its_fan_in() -> None:
    assert named.identities(workflow(shards=3)) == ["starter.notes", "starter.notes.1", "starter.notes.2"]
    assert named.identities(workflow(fan_in="sum")) == ["starter.notes", "starter.notes.sum"]
    assert named.message_id("notes", 0, 12) == "starter-notes-12"
    assert named.message_id("notes", 2, 12) == "starter-notes.2-12"


@pytest.mark.parametrize(
    ("identity", "shard"),
    [("starter.notes", 0), ("starter.notes.1", 1), ("starter.notes.15", 15), ("starter.notes.sum", None)],
)
def test_an_identity_tells_its_shard(identity: str, shard: int | None) -> None:
    assert named.shard_of_identity(workflow(), identity) == shard


@pytest.mark.parametrize(
    "identity", ["notes", "starter.other", "starter.notes.0", "starter.notes.01", "starter.notes.1.2", "starter.notes."]
)
def test_another_identity_belongs_to_no_shard_of_it(identity: str) -> None:
    with refused("invalid_param", "workflow_id"):
        named.shard_of_identity(workflow(), identity)


@given(st.binary(), st.integers(1, 16))
def test_a_key_always_goes_to_one_shard(key: bytes, shards: int) -> None:
    assert named.shard_of(key, shards) == named.shard_of(key, shards)
    assert 0 <= named.shard_of(key, shards) < shards


def test_keys_are_spread_evenly_by_blake3() -> None:
    """The recipe is published (lbb-graph 9, row 27): a client may compute it."""
    found = [named.shard_of(f"https://littlebigbrain.com/e/{number:032x}".encode(), 4) for number in range(400)]

    assert min(found.count(shard) for shard in range(4)) > 70
    assert named.shard_of(b"", 16) == 0xAF1349B9F5F9A1A6 % 16


@pytest.mark.parametrize("name", ["", "-a", "A", "a.b", "a" * 64, "a b", "ä"])
def test_a_bad_name_is_refused_with_its_field(name: str) -> None:
    with refused("workflow_param_invalid") as info:
        named.check_name(name)
    assert info.value.param == "name"


@pytest.mark.parametrize(
    ("old", "new", "unfinished", "waiting", "code"),
    [
        ({}, {"batch": 3}, 9, 9_999, None),
        ({}, {"kind": "stream"}, 0, 0, "workflow_param_invalid"),
        ({}, {"version": "v2"}, 1, 0, "workflow_shards_busy"),
        ({}, {"version": "v2"}, 0, 9_999, None),
        ({}, {"workflow_type": "u"}, 1, 0, "workflow_shards_busy"),
        ({}, {"shards": 2}, 1, 0, "workflow_shards_busy"),
        ({}, {"shards": 2}, 0, 1_000, None),
        ({}, {"shards": 2}, 0, 1_001, "workflow_shards_busy"),
        ({"shards": 2}, {"shards": 2, "route_by": "label"}, 1, 0, "workflow_shards_busy"),
    ],
)
def test_which_changes_wait_for_empty_shards(
    old: dict[str, Any], new: dict[str, Any], unfinished: int, waiting: int, code: str | None
) -> None:
    if code is None:
        named.check_change(workflow(**old), workflow(**new), unfinished, waiting)
    else:
        with refused(code):
            named.check_change(workflow(**old), workflow(**new), unfinished, waiting)


# -- terms -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("text", "p:text"),
        ("Text", "p:text"),
        ("p:text", "p:text"),
        ("<https://littlebigbrain.com/p/text>", "p:text"),
        ("https://littlebigbrain.com/p/größe", "p:größe"),
        ("GRÖSSE".replace("SS", "ß"), "p:größe"),
        ("label", "label"),
        ("rdfs:label", "label"),
        ("<http://www.w3.org/2000/01/rdf-schema#label>", "label"),
        ("ABOUT", "r:about"),
        ("r:about", "r:about"),
        ("<https://littlebigbrain.com/r/about>", "r:about"),
    ],
)
def test_a_field_may_be_written_as_a_name_a_prefixed_name_or_an_iri(text: str, token: str) -> None:
    assert watch_terms.field(ONTOLOGY, text, "f").token == token


def test_a_path_is_a_step_or_a_link_and_a_step() -> None:
    asked = WorkflowWatchRequest(
        class_="<https://littlebigbrain.com/class/note>",
        fields=[
            "text",
            "about/label",
            "<https://littlebigbrain.com/r/about>/<https://littlebigbrain.com/p/text>",
            WorkflowWatchFieldRequest(path="word_count", name="words", max=3),
            "text",
        ],
    )

    found = watch_terms.settings(ONTOLOGY, asked, "watch")

    assert found == Settings(
        "note",
        [
            WatchedField("p:text", "text"),
            WatchedField("label", "about/label", "about"),
            WatchedField("p:text", "about/text", "about"),
            WatchedField("p:word_count", "words", None, 3),
        ],
        [],
    )
    shown = watch_terms.shown(found)
    assert shown.class_ == "https://littlebigbrain.com/class/note"
    assert shown.fields[2].path == ["https://littlebigbrain.com/r/about", "https://littlebigbrain.com/p/text"]


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ({"class_": "Nothing"}, "watch.class"),
        ({"class_": "<https://littlebigbrain.com/class/nothing>"}, "watch.class"),
        ({"class_": "Note", "fields": ["text", "nothing"]}, "watch.fields[1]"),
        ({"class_": "Note", "fields": ["a/b/c"]}, "watch.fields[0]"),
        ({"class_": "Note", "fields": ["about/"]}, "watch.fields[0]"),
        ({"class_": "Note", "fields": ["/text"]}, "watch.fields[0]"),
        ({"class_": "Note", "fields": ["text/label"]}, "watch.fields[0]"),
        ({"class_": "Note", "exclude": ["nothing"]}, "watch.exclude[0]"),
    ],
)
def test_what_is_not_declared_is_refused_with_its_place(asked: dict[str, Any], place: str) -> None:
    with refused("workflow_param_invalid") as info:
        watch_terms.settings(ONTOLOGY, WorkflowWatchRequest(**asked), "watch")
    assert info.value.param == "watch"
    assert info.value.message.startswith(f"{place}: got ")


def test_owned_outputs_are_asked_by_name_and_shown_as_iris() -> None:
    owned = watch_terms.owned(ONTOLOGY, WorkflowOwns(classes=["Memo"], relations=["has_source"], properties=["text"]))

    assert owned == Owned(["memo"], ["has_source"], ["text"])
    shown = watch_terms.shown_owned(owned)
    assert shown is not None
    assert shown.classes == ["https://littlebigbrain.com/class/memo"]
    assert watch_terms.shown_owned(Owned()) is None
    with refused("workflow_param_invalid", r"owns.properties\[0\]"):
        watch_terms.owned(ONTOLOGY, WorkflowOwns(properties=["nothing"]))


def test_a_schema_changes_with_what_is_said_of_the_class_and_its_fields() -> None:
    settings = watch_terms.settings(ONTOLOGY, WorkflowWatchRequest(class_="Note", fields=["text"]), "watch")
    before = watch_terms.schema(ONTOLOGY, settings)
    types, properties = ONTOLOGY.entity_types, ONTOLOGY.properties
    elsewhere = Ontology(types | {"x": EntityType("x", "X", 2)}, properties | {"n": Property("n", "n", 2, "i64")})
    below = Ontology(types | {"topic": EntityType("topic", "Topic", 1, ("memo",))}, properties, ONTOLOGY.relations)
    renamed = Ontology(types | {"note": EntityType("note", "Remark", 1)}, properties, ONTOLOGY.relations)

    assert watch_terms.schema(elsewhere, settings) == before
    assert watch_terms.schema(below, settings) != before
    assert watch_terms.schema(renamed, settings) != before
