# ruff: noqa: E501  (a row is a piece of code, and one line)
"""The modules and names that Monty lacks and this server supplies, held against Python's own."""

import copy
import dataclasses
import datetime
import functools
import io
import json
import re
import textwrap
import traceback
import typing
import uuid
import zoneinfo
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.unit.sandbox import NOW_US, Sandbox, answer
from turnbuckle.flow.sandbox import SandboxPool

MODULES: dict[str, Any] = {
    "copy": copy,
    "dataclasses": dataclasses,
    "datetime": datetime,
    "functools": functools,
    "io": io,
    "json": json,
    "re": re,
    "textwrap": textwrap,
    "traceback": traceback,
    "typing": typing,
    "uuid": uuid,
    "zoneinfo": zoneinfo,
}
PROSE = (
    "Monty runs the code of a component -- never the server -- in a long-lived, well-known process;\n\tit has"
    "  no files.   A-b-c e-mail state-of-the-art supercalifragilisticexpialidocious 2024-01-01 x--y a---b."
)


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with SandboxPool(processes=1) as pool:
        yield Sandbox(pool)


def python_prints(code: str) -> str:
    """What Python itself prints for the same code in the same namespace."""
    out: list[str] = []

    def show(*values: Any) -> None:
        out.append(" ".join(str(value) for value in values) + "\n")

    exec(code, {**MODULES, "print": show, "__name__": "__main__"})
    return "".join(out)


SAME = [
    "print(repr(textwrap.dedent('  a\\n    b\\n\\n  c')), repr(textwrap.dedent('\\ta\\n\\t\\tb')), repr(textwrap.dedent('a\\n b')))",
    "print(repr(textwrap.dedent('   \\n  a\\n   \\n  b ')), repr(textwrap.dedent('  a\\n\\tb')))",
    "print(repr(textwrap.indent('a\\n\\nb\\n', '> ')), repr(textwrap.indent('a\\n\\nb', '> ', lambda line: True)))",
    "print(repr(textwrap.shorten('Hello  world, this is long', 12)), repr(textwrap.shorten('Hello world', 11)))",
    "print(repr(textwrap.shorten('Hello world again', width=10, placeholder='...')))",
    "print(textwrap.fill('aa bb cc dd ee', 5, initial_indent='* ', subsequent_indent='  '))",
    "u = uuid.UUID('{6BA7B810-9DAD-11d1-80b4-00c04fd430c8}')\nprint(u, repr(u), u.hex, u.int, u.bytes, u.version, u.urn)",
    "print(uuid.uuid5(uuid.NAMESPACE_DNS, 'example.org'), uuid.uuid3(uuid.NAMESPACE_URL, 'https://example.org/a'))",
    "print(uuid.UUID(int=5), uuid.UUID(bytes=b'0123456789abcdef'), uuid.UUID('0' * 32) == uuid.UUID(int=0))",
    "print(uuid.UUID(hex='12345678123456781234567812345678', version=4), len({uuid.UUID(int=1), uuid.UUID(int=1)}))",
    "try:\n  uuid.UUID('x')\nexcept ValueError as e:\n  print(e)",
    "f = io.StringIO()\nprint(f.write('ab\\ncd'), f.tell(), f.seek(1), f.read(2), f.readline(), f.read(), f.getvalue())",
    "f = io.StringIO('a\\nb\\nc')\nprint(f.readline(), f.readlines(), f.seek(0), [line for line in f], f.truncate(2), f.getvalue())",
    "f = io.StringIO('abc')\nf.seek(5)\nf.write('x')\nprint(repr(f.getvalue()), f.seek(0, 2), f.readable())",
    "with io.StringIO() as f:\n  f.writelines(['a', 'b'])\n  print(f.getvalue())\nprint(f.closed)",
    "f = io.StringIO()\nf.close()\ntry:\n  f.write('x')\nexcept ValueError as e:\n  print(e)",
    "f = io.BytesIO(b'ab\\ncd')\nprint(f.readline(), f.read(), f.write(b'!'), f.getvalue())",
    "try:\n  io.StringIO().write(b'x')\nexcept Exception as e:\n  print(type(e).__name__)",
    "print(datetime.datetime.fromtimestamp(1.5, datetime.UTC), datetime.datetime.fromtimestamp(0, datetime.timezone.utc))",
    "print(datetime.MINYEAR, datetime.MAXYEAR, datetime.UTC)",
    "z = zoneinfo.ZoneInfo('Europe/Berlin')\nprint(z, repr(z), z.key, z == zoneinfo.ZoneInfo('Europe/Berlin'))",
    "z = zoneinfo.ZoneInfo('Europe/Berlin')\nprint(datetime.datetime(2024, 7, 1, 12, tzinfo=z), datetime.datetime(2024, 1, 1, tzinfo=z).tzname())",
    "z = zoneinfo.ZoneInfo('America/New_York')\nprint(datetime.datetime(2024, 3, 10, 7, tzinfo=datetime.UTC).astimezone(z).isoformat())",
    "z = zoneinfo.ZoneInfo('Asia/Kolkata')\nprint(datetime.datetime.fromtimestamp(0, z), datetime.datetime.fromtimestamp(0, tz=z))",
    "z = zoneinfo.ZoneInfo('Europe/London')\nd = datetime.datetime(2024, 7, 1).replace(tzinfo=z)\nprint(d, d.utcoffset(), d.astimezone(datetime.UTC))",
    "a, b = zoneinfo.ZoneInfo('Asia/Tokyo'), zoneinfo.ZoneInfo('UTC')\nprint(datetime.datetime(2024, 7, 1, tzinfo=a).astimezone(b))",
    "@dataclasses.dataclass\nclass P:\n  x: int\n  y: list = dataclasses.field(default_factory=list)\n"
    "p = P(1, [P(2), {'k': P(3)}, (P(4),)])\nprint(dataclasses.asdict(p), dataclasses.astuple(P(1, [2])), dataclasses.replace(p, x=9).x)",
    "try:\n  dataclasses.asdict({})\nexcept Exception as e:\n  print(type(e).__name__)",
    "class A: pass\na = A()\na.x = 1\na.y = [2]\nprint(vars(a))",
    "def d(f):\n  @functools.wraps(f)\n  def g(*a): return f(*a) + 1\n  return g\n@d\ndef h(x): return x\nprint(h(1))",
    "print(re.sub(r'\\d+', lambda m: str(int(m.group()) * 2), 'a1b22'), re.sub('a', 'b', 'aaa', 2), re.subn('a', 'b', 'aca'))",
    "print(re.sub('a', lambda m: 'b', 'aaa', count=2), re.sub('', '-', 'ab'), re.sub('(a)(b)', r'\\2\\1', 'abab'))",
    "print(json.dumps({'d': datetime.date(2024, 1, 1), 'l': [(1, 2)]}, default=str, sort_keys=True))",
    "print(json.dumps({'b': 1, 'a': 'ä'}, indent=2, sort_keys=True, ensure_ascii=False))",
    "print(ascii('aä€😀\\n'), callable(len), callable(3), callable(lambda: 1), issubclass(bool, int), issubclass(int, (str, int)))",
    "print(issubclass(ValueError, Exception), issubclass(int, str), issubclass(str, object))",
    "class A: pass\nprint(callable(A), callable(A()))\nmarker = object()\nprint(marker == marker, marker == object())",
    "print(list(map(str.upper, 'ab')), sorted(['b', 'A'], key=str.lower), list(map(str.split, ['a b'])), dict.fromkeys('ab'))",
    "d, l = {'a': 1, 'b': 2}, [1, 2, 3]\ndel d['a'], l[0]\nprint(d, l)",
    "try:\n  del {}['a']\nexcept Exception as e:\n  print(type(e).__name__)",
    "for e in (ValueError('x'), IndexError(), Exception('y')):\n  print(type(e).__name__, traceback.format_exception_only(e))",
    "print(traceback.format_exc())",
    "def f():\n  'doc'\n  return 1\nclass A(object):\n  'doc'\n  x: int = 2\nprint(f(), A.x, A().x)",
    "x = [typing.Optional[int]] if False else 1\nprint(x)",
]  # fmt: skip


@pytest.mark.parametrize("code", SAME)
async def test_it_does_what_python_does(sandbox: Sandbox, code: str) -> None:
    assert await sandbox.printed(code) == python_prints(code)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 12, 20, 33, 60, 200])
@pytest.mark.parametrize(
    "options",
    [
        "",
        ", break_long_words=False",
        ", break_on_hyphens=False",
        ", drop_whitespace=False",
        ", replace_whitespace=False, expand_tabs=False",
        ", initial_indent='> ', subsequent_indent='    '",
        ", max_lines=2",
        ", max_lines=3, placeholder='…'",
    ],
)
async def test_text_is_wrapped_as_python_wraps_it(sandbox: Sandbox, width: int, options: str) -> None:
    if ("indent" in options and width < 7) or ("max_lines" in options and width < 12):
        pytest.skip("too narrow for these options in Python, too")
    code = f"for line in textwrap.wrap({PROSE!r}, {width}{options}):\n  print(repr(line))"

    assert await sandbox.printed(code) == python_prints(code)


async def test_the_clock_is_the_hosts_everywhere(sandbox: Sandbox) -> None:
    code = (
        "print(current_time_utc_iso())\nprint(time.time(), time.time_ns() // 1000, time.monotonic())\n"
        "print(datetime.datetime.now(datetime.UTC).isoformat(), datetime.datetime.now(), datetime.datetime.utcnow())\n"
        "print(datetime.date.today(), time.strftime('%Y-%m-%d'))\n"
        "print(datetime.datetime.now(zoneinfo.ZoneInfo('Asia/Tokyo')).isoformat(), uuid.uuid1().version)"
    )

    assert (await sandbox.printed(code)).splitlines() == [
        "2023-11-14T22:13:20.123456Z",
        f"{NOW_US / 1e6} {NOW_US} {NOW_US / 1e6}",
        "2023-11-14T22:13:20.123456+00:00 2023-11-14 22:13:20.123456 2023-11-14 22:13:20.123456",
        "2023-11-14 2023-11-14",
        "2023-11-15T07:13:20.123456+09:00 1",
    ]


async def test_random_ids_come_from_the_host(sandbox: Sandbox) -> None:
    assert await sandbox.printed("print(uuid.uuid4())") == "abababab-abab-4bab-abab-abababababab\n"


async def test_sleeping_is_the_hosts(sandbox: Sandbox) -> None:
    """Nothing waits in the sandbox: the host decides what a second is."""
    slept: list[float] = []

    def host(name: str, *args: Any) -> Any:
        if name == "sleep":
            slept.append(args[0])
        return answer(name, *args)

    await sandbox.run("time.sleep(3600)\ntime.sleep(0.5)", host=host)

    assert slept == [3600.0, 0.5]


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("try:\n  1 / 0\nexcept:\n  print(traceback.format_exc())", "ZeroDivisionError: division by zero"),
        ("try:\n  1 / 0\nexcept Exception:\n  traceback.print_exc()", "ZeroDivisionError: division by zero"),
        ("try:\n  1 / 0\nexcept Exception as e:\n  print(traceback.format_exc(limit=1))", "ZeroDivisionError: division by zero"),
        ("try:\n  raise LimitExceeded('full')\nexcept LimitExceeded as e:\n  traceback.print_exception(e)", "LimitExceeded: full"),
        ("try:\n  try:\n    1 / 0\n  except Exception:\n    raise ValueError('outer')\nexcept Exception:\n  traceback.print_exc()", "ValueError: outer"),
    ],
)  # fmt: skip
async def test_a_traceback_shows_the_handled_exception(sandbox: Sandbox, code: str, printed: str) -> None:
    lines = (await sandbox.printed(code)).splitlines()

    assert lines[:2] == ["Traceback (most recent call last):", printed]


async def test_an_unknown_zone_is_a_value_error(sandbox: Sandbox) -> None:
    outcome = await sandbox.run("zoneinfo.ZoneInfo('Mars/Olympus')")

    assert outcome.error is not None
    assert (outcome.error.type, outcome.error.message) == ("ValueError", "No time zone found with key Mars/Olympus")
