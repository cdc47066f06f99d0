"""The error table and the limits: wire/errors.py, wire/limits.py."""

import re
from pathlib import Path

import pytest

from turnbuckle.wire import limits
from turnbuckle.wire.errors import ERRORS, ErrorKind, Refused

SRC = Path(__file__).parents[2] / "src" / "turnbuckle"


def sources() -> list[tuple[str, str]]:
    return [(str(path.relative_to(SRC)), path.read_text("utf-8")) for path in sorted(SRC.rglob("*.py"))]


@pytest.mark.parametrize("kind", ERRORS.values(), ids=lambda kind: str(kind.code))
def test_each_code_says_what_to_do_next(kind: ErrorKind) -> None:
    assert re.fullmatch("[a-z_]+", kind.code)
    assert 400 <= kind.status < 600
    assert kind.sentence.endswith(".")
    assert kind.sentence[0].isupper()


def test_a_refusal_carries_its_row_of_the_table() -> None:
    refused = Refused("turn_lease_lost", "why", param="token")

    assert (refused.kind.status, str(refused), refused.param) == (409, "why", "token")


def test_a_code_that_is_not_in_the_table_cannot_be_used() -> None:
    with pytest.raises(KeyError):
        Refused("no_such_code", "why")


def test_every_code_is_used_somewhere() -> None:
    """A row nobody raises would be a promise in the documentation only."""
    tables = ("wire/errors.py", "http/openapi.py")
    used = {
        code
        for path, text in sources()
        if path not in tables and not path.startswith("http/endpoints/")
        for code in re.findall(r'"([a-z_]+)"', text)
    }

    assert set(ERRORS) - used == set()


def test_every_limit_is_enforced_somewhere() -> None:
    names = [name for name in vars(limits) if name.isupper() and name not in ("KIB", "MIB")]
    units = ("SECOND_MS", "MINUTE_MS", "HOUR_MS", "DAY_MS")
    elsewhere = "\n".join(text for path, text in sources() if path != "wire/limits.py")

    unused = [name for name in names if name not in units and not re.search(rf"\b{name}\b", elsewhere)]

    assert unused == []
