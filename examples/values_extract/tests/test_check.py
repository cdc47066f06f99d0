"""Each check has its counter, the first failure decides, and a quote must hold its value."""

from typing import Any

import pytest

from values_extract.check import check
from values_extract.quotes import quote_holds, value_in_quote
from values_extract.settings import DEFAULTS, Settings

TEXT = "A desk of 120 x 60 cm,\nmade of  Oak. Bought on 1.5.2026 for 1,200 crowns. A raincloak hangs beside it."


def said(name: str, value: Any, quote: str, unit: str = "") -> dict[str, Any]:
    return {"property": name, "value": value, "unit": unit, "quote": quote}


@pytest.mark.parametrize(
    ("proposal", "failure"),
    [
        (said("weight", "3", "120 x 60 cm"), "unknown_property"),
        (said("width_cm", "wide", "120 x 60 cm"), "invalid_value"),
        (said("width_cm", "120", "120 by 60 cm"), "quote_not_found"),
        (said("width_cm", "130", "120 x 60 cm"), "quote_not_found"),
        (said("material", "oak", ""), "quote_not_found"),
        (said("material", "cloak", "raincloak"), "quote_not_found"),
        (said("material", None, "made of Oak"), "invalid_value"),
        (said("material", "oak", "made of oak " * 100), "quote_not_found"),
    ],
)
def test_a_proposal_that_fails_is_counted_by_its_first_failure(proposal: dict[str, Any], failure: str) -> None:
    passed, failed = check(DEFAULTS, TEXT, [proposal])

    assert passed == []
    assert failed == {failure: 1}


def test_a_second_value_of_a_property_is_a_duplicate_also_when_the_first_one_fails() -> None:
    proposals = [said("width_cm", "wide", "desk"), said("width_cm", "120", "120 x 60 cm")]

    passed, failed = check(DEFAULTS, TEXT, proposals)

    assert passed == []
    assert failed == {"invalid_value": 1, "duplicate": 1}


def test_what_passes_has_its_type_and_the_unit_from_wherever_it_was_said() -> None:
    proposals = [said("width_cm", "120 cm", "120 x 60 cm"), said("depth_cm", 60, "120 x 60 cm", unit="cm")]

    passed, failed = check(DEFAULTS, TEXT, proposals)

    assert [(one.value, one.unit) for one in passed] == [(120.0, "cm"), (60.0, "cm")]
    assert not failed


def test_spaces_line_breaks_and_capitals_of_a_quote_do_not_count() -> None:
    assert quote_holds(TEXT, "60 cm, MADE of oak")
    assert not quote_holds(TEXT, "made of pine")
    assert not quote_holds(TEXT, "  ")


@pytest.mark.parametrize(
    ("value", "value_type", "quote", "is_in"),
    [
        (60.5, "f64", "60,5 cm", True),
        (1200, "i64", "1,200 crowns", True),
        (1.2, "f64", "1,200 crowns", False),
        (12, "i64", "120 cm", False),
        ("2026-05-01T00:00:00Z", "date_time", "Bought on 1.5.2026", True),
        ("2026-05-01T00:00:00Z", "date_time", "on 31.2.2026", False),
        (True, "bool", "it folds", True),
        ("oak", "keyword", "of OAK.", True),
        ("oak", "keyword", "raincoak", False),
    ],
)
def test_a_quote_holds_its_value_in_any_spelling(value: Any, value_type: str, quote: str, is_in: bool) -> None:
    assert value_in_quote(value, value_type, quote) is is_in


@pytest.mark.parametrize(
    "changed",
    [
        {"properties": {"size": "bytes"}, "units": {}},
        {"units": {"material": "cm"}},
        {"units": {"height_cm": "cm"}},
        {"gate": 1.5},
        {"properties": {}, "units": {}},
        {"properties": {f"p{number}": "text" for number in range(65)}, "units": {}},
    ],
)
def test_settings_that_cannot_work_are_refused(changed: dict[str, Any]) -> None:
    fields = {name: getattr(DEFAULTS, name) for name in Settings.__dataclass_fields__} | changed

    with pytest.raises(ValueError, match=r"size|material|height_cm|gate|properties are given"):
        Settings(**fields)
