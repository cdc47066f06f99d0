"""What a JSON value may be, and when two are the same: wire/value.py (decision 9)."""

import contextlib
import json
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.json_values import Json, same, spell, values
from turnbuckle.wire import limits
from turnbuckle.wire.value import BadValue, check, fingerprint

EXAMPLES = settings(deadline=None, max_examples=300)


def print_of(value: Any) -> bytes:
    return fingerprint(json.dumps(value).encode())


# -- sameness ----------------------------------------------------------------------------------------------------


@EXAMPLES
@given(value=values, choose=st.randoms(use_true_random=False))
def test_one_value_has_one_fingerprint_however_it_is_spelled(value: Json, choose: random.Random) -> None:
    text = spell(value, choose).encode()
    check(text)

    assert fingerprint(text) == print_of(value)


@EXAMPLES
@given(one=values, other=values)
def test_two_values_have_one_fingerprint_exactly_when_they_are_the_same(one: Json, other: Json) -> None:
    assert (print_of(one) == print_of(other)) == same(one, other)


@EXAMPLES
@given(value=st.integers() | st.floats(allow_nan=False, allow_infinity=False), data=st.data())
def test_near_numbers_are_told_apart(value: float, data: st.DataObject) -> None:
    near = data.draw(st.sampled_from([value + 1, -value, value * 2, int(value), float(int(value) % 10**300)]))

    assert (print_of(value) == print_of(near)) == same(value, near)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ('{"a":1,"b":2}', '{"b":2.0,"a":1e0}', True),
        ('{"add":2}', '{"add":3}', False),
        ("[1,2]", "[2,1]", False),
        ("1", "true", False),
        ("0", "false", False),
        ("null", "0", False),
        ('""', "null", False),
        ('"1"', "1", False),
        ("-0.0", "0", True),
        ("1e22", "10000000000000000000000", True),
        ("9007199254740993", "9007199254740992", False),
        ('"\\u00e9"', '"é"', True),
        ('"é"', '"e\\u0301"', False),
        ('{"":1}', '{"\\u0000":1}', False),
        ("[]", "{}", False),
        ("[[]]", "[]", False),
    ],
)
def test_sameness_is_of_values(one: str, other: str, is_same: bool) -> None:
    assert (fingerprint(one.encode()) == fingerprint(other.encode())) == is_same


def test_a_fingerprint_stays_the_same() -> None:
    """Stored beside each message; another formula would refuse repeats of what was sent before."""
    assert fingerprint(b'{"add": 2.0}').hex() == fingerprint(b'{"add":2}').hex() == "41546ba2d2ac48c7b4251936dc0035df"


# -- what is accepted --------------------------------------------------------------------------------------------


@EXAMPLES
@given(value=values, is_ascii=st.booleans(), indent=st.sampled_from([None, 1]))
def test_every_value_that_json_can_dump_is_accepted(value: Json, is_ascii: bool, indent: int | None) -> None:
    check(json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode())


@pytest.mark.parametrize(
    "text",
    [
        '"\\u0000"',
        '"\x7f"',
        '"\\ud83d\\ude00"',
        '{"\\ud83d\\ude00":1}',
        "9007199254740993",
        "-" + "9" * limits.INTEGER_DIGITS,
        "1.7976931348623157e308",
        "1e-400",
        "-0.0",
        "[" * limits.JSON_DEPTH + "]" * limits.JSON_DEPTH,
        '{"a":' * limits.JSON_DEPTH + "1" + "}" * limits.JSON_DEPTH,
        '{"a":[' * 100 + "1" + "]}" * 100,
        '[{"a":' * 100 + "1" + "}]" * 100,
        '"' + "[" * 5_000 + '"',
        '"\\"' + "{" * 5_000 + '"',
        "[" + ",".join(["[]"] * 5_000) + "]",
        " \t\r\n1 \n",
    ],
)
def test_unusual_values_are_accepted(text: str) -> None:
    check(text.encode())


# -- what is refused, and where ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "path", "got"),
    [
        (b'{"a":"\xff"}', "$", "byte 0xff at offset 6"),
        (b'"\xed\xa0\x80"', "$", "byte 0xed at offset 1"),
        (b"", "$", "'' at character 0"),
        (b"   ", "$", "'' at character 3"),
        (b"{", "$", "'' at character 1"),
        (b"[1 2]", "$[0]", "'2]' at character 3"),
        (b'{"a" 1}', "$.a", "'1}' at character 5"),
        (b'{"a":{"b":[1,{"c":}]}}', "$.a.b[1].c", "'}]}}' at character 18"),
        (b"{1:2}", "$", "'1:2}' at character 1"),
        (b'"a', "$", "'\"a' at character 0"),
        (b'{"a":"\n"}', "$.a", "'\"\\n\"}' at character 5"),
        (b'"\\x41"', "$", "'\"\\\\x41\"' at character 0"),
        (b"01", "$", "'01' at character 0"),
        (b"+1", "$", "'+1' at character 0"),
        (b".5", "$", "'.5' at character 0"),
        (b"1.", "$", "'1.' at character 0"),
        (b"0x10", "$", "'0x10' at character 0"),
        (b"1 2", "$", "'2' at character 2"),
        (b"{} {}", "$", "'{}' at character 3"),
        (b"]", "$", "']' at character 0"),
        (b"[}", "$[0]", "'}' at character 1"),
        (b'{"a":tru}', "$.a", "'tru}' at character 5"),
        (b"True", "$", "'True' at character 0"),
        (b"undefined", "$", "'undefined' at character 0"),
        (b"\xef\xbb\xbf{}", "$", "'\\ufeff{}' at character 0"),
        (b'{"a":[1,NaN]}', "$.a[1]", "NaN"),
        (b'{"a":Infinity}', "$.a", "Infinity"),
        (b'{"a":-Infinity}', "$.a", "-Infinity"),
        (b'{"a":[0,1e400]}', "$.a[1]", "1e400"),
        (b'{"a":-1E+999}', "$.a", "-1E+999"),
        (b'{"a":' + b"9" * 4_301 + b"}", "$.a", "an integer of 4301 digits"),
        (b'{"a":-' + b"9" * 4_301 + b"}", "$.a", "an integer of 4301 digits"),
        (b'{"a":1,"b":2,"a":3}', "$.a", "the key 'a' twice"),
        (b'{"x":{"a":1,"\\u0061":3}}', "$.x.a", "the key 'a' twice"),
        (b'[{"":1,"":2}]', "$[0].", "the key '' twice"),
        (b'{"a":["\\ud800"]}', "$.a[0]", "the lone surrogate \\ud800"),
        (b'{"a":"\\ude00\\ud83d"}', "$.a", "the lone surrogate \\ude00"),
        (b'{"a":"\\uDBFFx"}', "$.a", "the lone surrogate \\udbff"),
        (b'{"b":1,"\\ud800":1}', "$", "the lone surrogate \\ud800"),
    ],
)
def test_a_bad_body_is_refused_naming_the_place_and_what_was_there(body: bytes, path: str, got: str) -> None:
    with pytest.raises(BadValue) as bad:
        check(body)

    assert bad.value.path == path
    assert f"{path}: got {got}, expected " in str(bad.value)


@pytest.mark.parametrize("body", [b"[1,]", b'{"a":1,}', b"[,1]", b"{,}", b"[1,,2]"])
def test_a_comma_too_many_is_refused(body: bytes) -> None:
    with pytest.raises(BadValue, match=r"at character [0-9], expected JSON"):
        check(body)


@pytest.mark.parametrize("depth", [201, 5_000, 100_000])
@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("is_whole", [True, False])
def test_deep_nesting_is_refused_without_recursion(depth: int, opened: str, closed: str, is_whole: bool) -> None:
    """B061: a RecursionError outside the handler, or a crash in C code."""
    body = opened * depth + "1" + closed * depth * is_whole

    with pytest.raises(BadValue, match="nesting deeper than the limit, expected at most 200 levels"):
        check(body.encode())


@pytest.mark.parametrize("body", ['{"a":[' * 101 + "]}" * 101, '[{"a":' * 101 + "1" + "}]" * 101, "[" + '{"a":' * 200 +
                                  "1" + "}" * 200 + "]", "[[],{}," * 201 + "1" + "]" * 201])  # fmt: skip
def test_levels_of_both_kinds_count(body: str) -> None:
    with pytest.raises(BadValue, match="nesting deeper than the limit"):
        check(body.encode())


@EXAMPLES
@given(value=values, data=st.data())
def test_a_cut_off_body_is_refused_and_never_something_else(value: Json, data: st.DataObject) -> None:
    text = json.dumps([value])
    cut = data.draw(st.integers(0, len(text) - 1))

    with pytest.raises(BadValue):
        check(text[:cut].encode())


@EXAMPLES
@given(st.binary(max_size=40) | st.text(st.sampled_from('[]{}:,"\\ud8019e+-.truefalsn '), max_size=30).map(str.encode))
def test_garbage_is_either_json_or_a_bad_value(body: bytes) -> None:
    """And what is accepted, json and msgspec can read too."""
    try:
        check(body)
    except BadValue:
        return
    json.loads(body)
    fingerprint(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"e":["\\ud83d\\ude00",' + b",".join([b'{"key":"\\ud83d\\ude00"}'] * 60_000) + b"]}",
        b"[" * 199 + b",".join(b'{"k%d":[[]]}' % i for i in range(100_000)) + b"]" * 199,
        b'"' + b"\\\\" * 1_000_000 + b'"',
        b"[" + b",".join([b"[]"] * 600_000) + b"]",
        b'"' * 2_000_000,
        b"[" * 2_000_000,
        b"[]" * 300 + b"]" * 2_000_000,
        b'{"a":' * 400_000,
    ],
    ids=["emoji", "deep and wide", "backslashes", "many lists", "quotes", "open lists", "closed lists", "open objects"],
)
def test_no_body_of_two_megabytes_takes_long_to_check(body: bytes) -> None:
    """It is checked on a thread beside the others: seconds there are seconds for everybody."""
    begun = time.process_time()

    with contextlib.suppress(BadValue):
        check(body)

    assert time.process_time() - begun < 4.0
