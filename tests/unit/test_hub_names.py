"""Aliases, ids, references and times of the hub (blobhub 1, 2.1, 3.5, 3.8)."""

import datetime
import uuid
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnbuckle.hub import alias, moment, reference
from turnbuckle.hub.reference import BadReference, WorkflowReference
from turnbuckle.wire.hub_errors import HubRefused

ID = "5f2c0a0e-9d1b-4c3a-8f7e-0123456789ab"
ids = st.uuids().map(str)
aliases = st.from_regex(r"\A[a-z0-9_-]{6,42}\Z").filter(lambda text: not alias.is_canonical_id(text))
parts = st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1, max_size=64).filter(
    lambda text: text.strip()
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a" * 5, False),
        ("a" * 6, True),
        ("a" * 42, True),
        ("a" * 43, False),
        ("sdk-demo_1", True),
        ("SDK-demo", False),
        ("sdk demo", False),
        ("sdk-demo\n", False),
        ("größer", False),
        (ID, False),
        (ID.replace("-", ""), True),  # no canonical form, so only the SDK takes it for an id
        ("", False),
    ],
)
def test_an_alias_is_6_to_42_characters_and_no_id(text: str, expected: bool) -> None:
    assert alias.is_alias(text) is expected


@pytest.mark.parametrize("text", ["aaaaa", ID, "a" * 43])
def test_a_bad_alias_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(HubRefused, match="6 to 42") as refused:
        alias.check_alias(text)

    assert refused.value.kind.status == 400


@given(
    st.uuids(), st.sampled_from([str, lambda u: u.hex, lambda u: u.urn, lambda u: f"{{{u}}}", lambda u: str(u).upper()])
)
def test_every_spelling_of_an_id_is_one_id(made: uuid.UUID, spelled: Callable[[uuid.UUID], str]) -> None:
    text = spelled(made)

    assert alias.lenient_id(text) == str(made)
    assert alias.is_canonical_id(text) is (text == str(made))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ID, ("id", ID)),
        (f"  {ID.upper()}\n", ("id", ID)),
        (ID.replace("-", ""), ("alias", ID.replace("-", ""))),
        ("sdk-demo", ("alias", "sdk-demo")),
        (" sdk-demo", ("alias", " sdk-demo")),
    ],
)
def test_a_session_is_looked_up_by_id_after_stripping_and_folding(text: str, expected: tuple[str, str]) -> None:
    assert alias.session_key(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", True),
        ("a/b.c/@d-e_F", True),
        ("a" * 256, True),
        ("a" * 257, False),
        ("", False),
        ("/a", False),
        ("a/", False),
        ("a//b", False),
        ("a/./b", False),
        ("a/..", False),
        ("...", True),
        ("a b", False),
        ("ä", False),
        ("a\n", False),
    ],
)
def test_an_object_alias_is_segments_without_dots_alone(text: str, expected: bool) -> None:
    assert alias.is_object_alias(text) is expected
    if not expected:
        with pytest.raises(HubRefused) as refused:
            alias.check_object_alias(text)
        assert refused.value.code == "invalid_session_object_alias"


references = st.one_of(
    st.builds(WorkflowReference, parts),
    st.builds(WorkflowReference, parts, st.none(), ids, st.just("default") | ids),
    st.builds(WorkflowReference, parts, parts, parts, st.just("default") | ids),
)


@given(references)
def test_a_reference_reads_back_from_its_path_and_its_mapping(made: WorkflowReference) -> None:
    mapping = {k: v for k in ("org", "blob", "revision", "definition") if (v := getattr(made, k)) is not None}

    assert reference.parse_path(reference.path_of(made)) == made
    assert reference.parse_mapping(mapping) == made


@given(st.text(max_size=200))
def test_any_text_is_a_reference_or_refused_as_one(text: str) -> None:
    try:
        made = reference.parse_path(text)
    except BadReference:
        return
    assert reference.path_of(made) == text


@pytest.mark.parametrize(
    "path",
    [
        "",
        " ",
        "a/b",
        "a/b/c/d/e",
        "acme/default/x",  # three parts: the blob must be an id
        f"{ID}/latest/x",
        f"{ID}//x",
        f"{ID}/default/ ",
        "a" * 65,
        f"acme/bot/default/{'a' * 65}",
        f"{ID.upper()}/default/x",
    ],
)
def test_a_malformed_path_is_refused(path: str) -> None:
    with pytest.raises(BadReference):
        reference.parse_path(path)


@pytest.mark.parametrize(
    "mapping",
    [
        {},
        {"definition": 1},
        {"definition": None},
        {"definition": "a/b"},
        {"blob": ID, "definition": "d"},
        {"org": "o", "definition": "d"},
        {"org": "o", "blob": "b", "revision": "default", "definition": "d", "extra": "e"},
        {"blob": "alias", "revision": "default", "definition": "d"},
    ],
)
def test_a_malformed_mapping_is_a_400(mapping: dict[str, object]) -> None:
    with pytest.raises(HubRefused) as refused:
        reference.parse_request(mapping)

    assert refused.value.code == "invalid_request_body"


def test_a_revision_id_is_found_in_any_spelling() -> None:
    assert reference.parse_path(f"{ID}/{ID.replace('-', '').upper()}/answer").revision_id == ID
    assert reference.parse_path(f"{ID}/default/answer").revision_id is None


times = st.datetimes(datetime.datetime(1970, 1, 2), datetime.datetime(9999, 1, 1), timezones=st.just(datetime.UTC))


@given(times)
def test_a_time_has_six_digits_and_reads_back(at: datetime.datetime) -> None:
    at_us = (at - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1)

    text = moment.micro_iso(at_us)

    assert len(text) == len("2026-01-31T09:05:00.123456Z")
    assert datetime.datetime.fromisoformat(text) == at
    assert moment.parse_us(text) == at_us


@given(times, times)
def test_times_compare_as_their_texts_do(one: datetime.datetime, other: datetime.datetime) -> None:
    """Clients find the newest event by comparing texts (blobhub 4.10)."""
    texts = [at.isoformat(timespec="microseconds").replace("+00:00", "Z") for at in (one, other)]

    assert (moment.parse_us(texts[0]) < moment.parse_us(texts[1])) == (texts[0] < texts[1])


def test_a_time_without_a_fraction_is_the_same_instant() -> None:
    assert moment.parse_us("2026-01-31T09:05:00Z") == moment.parse_us("2026-01-31T09:05:00.000000Z")
    assert moment.milli_iso(1_769_850_300_123) == "2026-01-31T09:05:00.123000Z"


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-01-31", "2026-01-31T09:05:00", "2026-01-31T09:05:00+00:00", "2026-02-30T09:05:00Z", "1769850300"],
)
def test_no_other_text_is_a_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|day|month"):
        moment.parse_us(text)
