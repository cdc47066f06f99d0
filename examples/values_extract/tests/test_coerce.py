"""Values as models say them, in the types of their properties."""

import pytest

from values_extract.coerce import Coerced, coerce, same, shown


@pytest.mark.parametrize(
    ("text", "value_type", "value"),
    [
        ("60", "f64", 60.0),
        ("60,5", "f64", 60.5),
        ("-3.25", "f64", -3.25),
        ("60", "i64", 60),
        ("60.0", "i64", 60),
        ("9007199254740993", "i64", 9007199254740993),
        ("ja", "bool", True),
        ("Yes", "bool", True),
        ("true", "bool", True),
        ("nein", "bool", False),
        ("2026-05-01", "date_time", "2026-05-01T00:00:00Z"),
        ("1.5.2026", "date_time", "2026-05-01T00:00:00Z"),
        ("2026-05-01T10:00:00+02:00", "date_time", "2026-05-01T08:00:00Z"),
        (" oak ", "keyword", "oak"),
    ],
)
def test_a_value_of_the_type_is_taken(text: str, value_type: str, value: object) -> None:
    assert coerce(text, value_type) == Coerced(value)  # type: ignore[arg-type]


def test_a_number_and_its_unit_are_split() -> None:
    assert coerce("600 mm", "f64") == Coerced(600.0, "mm")
    assert coerce("600mm", "i64") == Coerced(600, "mm")


@pytest.mark.parametrize(
    ("text", "value_type", "reason"),
    [
        ("", "keyword", "empty"),
        ("wide", "f64", "does not start with a number"),
        ("1.5", "i64", "no whole number"),
        ("9223372036854775808", "i64", "64 bits"),
        ("1,200", "f64", "two ways"),
        ("120 60", "f64", "more than one number"),
        ("1.2.3", "f64", "more than one number"),
        ("maybe", "bool", "neither yes nor no"),
        ("2026-02-30", "date_time", "no date"),
        ("31.2.2026", "date_time", "no date"),
        ("soon", "date_time", "no date"),
    ],
)
def test_a_value_of_another_type_is_refused_with_the_reason(text: str, value_type: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        coerce(text, value_type)


def test_values_are_shown_and_compared_as_a_person_reads_them() -> None:
    assert [shown(value) for value in (60.0, 60.5, True, "Oak")] == ["60", "60.5", "true", "Oak"]
    assert same(60, 60.0)
    assert same("Oak", "oak")
    assert not same(60.5, 60)
    assert not same(None, 60)
