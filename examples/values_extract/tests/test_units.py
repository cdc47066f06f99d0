"""A number is in the unit of its property only when the text says so, at that number."""

import pytest

from values_extract.units import unit_problem


@pytest.mark.parametrize(
    ("value", "quote"),
    [
        (60, "60 cm deep"),
        (60, "60cm"),
        (120, "120 x 60 cm"),
        (60, "120 x 60 cm"),
        (120, "120 \u00d7 60 \u00d7 75 cm"),
        (60, "Depth (cm): 60"),
        (60, "60 centimetres"),
        (1200, "1,200 cm"),
        (28, "1.2 m wide and 28 cm deep"),
    ],
)
def test_a_unit_the_quote_states_is_confirmed(value: float, quote: str) -> None:
    assert unit_problem("cm", value, quote) is None


@pytest.mark.parametrize(
    ("value", "quote", "problem"),
    [
        (1.2, "1.2 m wide", "the text says m, not cm"),
        (600, "600 mm", "the text says mm, not cm"),
        (24, '24" deep', "the text says inch, not cm"),
        (40, "depth 40", "the text states no unit"),
        (40, "depth 40, width 55 cm", "the text states no unit"),
        (40, "40 in oak", "the text states no unit"),
        (12, "120 cm", "the text states no unit"),
    ],
)
def test_another_unit_and_none_are_told(value: float, quote: str, problem: str) -> None:
    assert unit_problem("cm", value, quote) == problem


def test_what_the_model_named_confirms_nothing_but_may_raise_a_doubt() -> None:
    assert unit_problem("cm", 40, "depth 40", named="cm") == "the text states no unit"
    assert unit_problem("cm", 40, "40 cm", named="mm") == "the model read mm, the text says cm"
    assert unit_problem("cm", 40, "40 cm", named="centimeters") is None


def test_a_property_without_a_unit_has_no_problem() -> None:
    assert unit_problem(None, 4, "four chairs") is None
