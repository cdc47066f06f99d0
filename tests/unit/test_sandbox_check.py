"""What `check_code` says about code, held against what happens when the code runs (blobhub 5.8)."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.sandbox import Sandbox
from turnbuckle.flow.sandbox import Finding, SandboxPool, check_code, names, probe, supported
from turnbuckle.flow.sandbox.check import DEEPEST, FINDINGS, REFUSED
from turnbuckle.flow.sandbox.features import FEATURES, SPECIAL_METHODS


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with SandboxPool(processes=1) as pool:
        yield Sandbox(pool)


def codes(code: str) -> list[str]:
    return [finding.code for finding in check_code(code)]


def test_the_groups_have_the_sizes_of_the_specification() -> None:
    assert len(names.MODULES) == 16
    assert len(names.TYPING) == 3
    assert len(names.EXCEPTIONS) == 10
    assert len(names.BUILTINS) == 59
    assert len(names.HELPERS) + len(names.DEPRECATED) == 38


def test_the_published_table_is_that_of_the_installed_monty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["probe", "--check"])

    assert probe.main() == 0


def test_a_stale_table_is_noticed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["probe", "--check"])
    monkeypatch.setattr(probe, "FEATURES", {key: FEATURES[key] for key in list(FEATURES)[1:]})

    assert probe.main() == 1 or supported.PYTHON != probe._PYTHON
    assert "stale" in capsys.readouterr().out or supported.PYTHON != probe._PYTHON


WELL = [
    "",
    "# only a comment",
    "x = 1\ndef f(y): return x + y\nprint(f(2))",
    "json = json.loads('[1]')\nprint(json)",  # a module's name may be bound
    "def f():\n  list = [1]\n  result = list\n  return result\nprint(f())",  # inside a function any name may
    "class A(object):\n  x = 1\n  def f(self): return self.x\nprint(A().f())",
    "total = sum(n for n in range(3))\nprint([id for id in [1]])",
    "try:\n  1 / 0\nexcept Exception as e:\n  print(e)",
    "match [1, 2]:\n  case [a, *rest] if a: print(a, rest)",
    "d = {'a': 1}\ndel d['a']\nprint(d)",
    "import_me = 1\nprint(import_me)",
    "print(list(map(str.strip, [' a '])), sorted(['b', 'A'], key=str.lower))",
    "print(datetime.datetime.now(datetime.UTC), datetime.datetime.utcnow(), datetime.date.today())",
    "print(json.dumps({'d': datetime.date.today()}, default=str))",
    "print(re.sub('a', lambda m: m.group() * 2, 'cat'))",
    "def f(x: typing.Optional[int], y: Union[int, str] = 1) -> Literal['a']: return 'a'\nprint(f(1))",
    "@dataclasses.dataclass\nclass P:\n  x: int\nprint(dataclasses.asdict(P(1)))",
    "@functools.wraps(len)\ndef f(): return 1\nprint(f())",
    "print(__name__, (lambda *a, **k: a)(1), f'{1:>3}')",
    "def outer():\n  def inner(): return late()\n  return inner()\ndef late(): return 1\nprint(outer())",
    "def f():\n  global made\n  made = 1\nf()\nprint(made)",
    "async def f(): return 1\nprint(callable(f))",
    "print([y := 1, y], {**{'a': 1}}, [*[1]])",
    "for i in range(2):\n  continue\nelse:\n  print(i)",
]


@pytest.mark.parametrize("code", WELL)
async def test_code_without_findings_runs(sandbox: Sandbox, code: str) -> None:
    outcome = await sandbox.run(code)

    assert check_code(code) == []
    assert outcome.error is None


UNSUPPORTED = [
    "class A: pass\nclass B(A): pass",
    "class E(Exception): pass",
    "class A(metaclass=type): pass",
    "def f():\n  yield 1",
    "def f():\n  yield from [1]",
    "class A:\n  @property\n  def x(self): return 1",
    "class A:\n  @staticmethod\n  def x(): return 1",
    "class A:\n  @functools.cache\n  def x(self): return 1",
    "class A:\n  class B: pass",
    "class A:\n  for i in [1]: x = i",
    "class A:\n  if True: x = 1",
    "try:\n  pass\nexcept* ValueError:\n  pass",
    "x = [1, 2]\ndel x[0:1]",
    "x = 1\ndel x",
    "class A: pass\na = A()\na.x = 1\ndel a.x",
    "async def f():\n  async for x in []: pass",
    "async def f():\n  return [x async for x in []]",
    "class A: pass\nasync def f():\n  async with A(): pass",
    "if False:\n  def f():\n    yield 1",  # in code that would never run, too
]


@pytest.mark.parametrize("code", UNSUPPORTED)
async def test_unsupported_syntax_is_reported_and_does_not_run(sandbox: Sandbox, code: str) -> None:
    """The check refuses it, and Monty itself would too."""
    checked, unchecked = await sandbox.run(code), await sandbox.run_unchecked(code)

    assert "unsupported_syntax" in codes(code)
    assert checked.error is not None
    assert checked.error.kind == "refused"
    assert checked.error.findings
    assert unchecked.error is not None


FAILING = [
    ("open('x')", "unknown_name", "NameError"),
    ("eval('1')", "unknown_name", "NameError"),
    ("exec('x = 1')", "unknown_name", "NameError"),
    ("locals()", "unknown_name", "NameError"),
    ("globals()", "unknown_name", "NameError"),
    ("input()", "unknown_name", "NameError"),
    ("raise KeyError('x')", "unknown_name", "NameError"),
    ("try:\n  {}['a']\nexcept KeyError:\n  pass", "unknown_name", "NameError"),
    ("raise RuntimeError('x')", "unknown_name", "NameError"),
    ("print(random.random())", "unknown_name", "NameError"),
    ("class A:\n  def f(self): return os\nA().f()", "unknown_name", "NameError"),
    ("class A:\n  inner = 1\n  def f(self): return inner\nA().f()", "unknown_name", "NameError"),
    ("def f():\n  hidden = 1\nf()\nhidden", "unknown_name", "NameError"),
    ("[x for x in [1]]\nx", "unknown_name", "NameError"),
    ("print(f'{missing}')", "unknown_name", "NameError"),
    ("super()", "unsupported_name", "NameError"),
    ("dir(1)", "unsupported_name", "NameError"),
    ("bytearray(b'x')", "unsupported_name", "NameError"),
    ("json.JSONEncoder()", "unsupported_name", "AttributeError"),
    ("functools.total_ordering", "unsupported_name", "AttributeError"),
    ("datetime.datetime.fromordinal(1)", "unsupported_name", "AttributeError"),
    ("json.codecs.open('x')", "unsupported_name", "AttributeError"),
    ("class A:\n  def __lt__(self, o): return True\nA() < A()", "unsupported_name", "TypeError"),
]


@pytest.mark.parametrize(("code", "finding", "error"), FAILING)
async def test_what_is_not_there_is_reported_and_fails(sandbox: Sandbox, code: str, finding: str, error: str) -> None:
    outcome = await sandbox.run(code)

    assert codes(code) == [finding]
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.type) == ("exception", error)


async def test_a_name_error_is_raised_only_where_the_code_gets_there(sandbox: Sandbox) -> None:
    code = "try:\n  eval('1')\nexcept Exception as e:\n  print(type(e).__name__, e)\nif False: open('x')"

    assert await sandbox.printed(code) == "NameError name 'eval' is not defined\n"


REFUSING = [
    ("import os", "code_import", 1),
    ("x = 1\ndef f():\n  from json import loads", "code_import", 3),
    ("if False:\n  import json as j", "code_import", 2),
    ("x = (1", "code_syntax_error", 1),
    ("x = 1\n  y = 2", "code_syntax_error", 2),
    ("return 1", "code_syntax_error", 1),
    ("x = 1\nbreak", "code_syntax_error", 2),
    ("await x", "code_syntax_error", 1),
    ("def f(a, a): pass", "code_syntax_error", 1),
    ("x = 'a\0b'", "code_syntax_error", 1),
    ("x = '\ud800'", "code_syntax_error", 1),
    ("x = " + "9" * 5000, "code_syntax_error", 1),
    ("list = [1]", "name_redefined", 1),
    ("x = 1\ndef get_data_input(route): return 1", "name_redefined", 2),
    ("class Exception: pass", "name_redefined", 1),
    ("for session in []: pass", "name_redefined", 1),
    ("typing = 1", "name_redefined", 1),
    ("def f():\n  global print\n  print = 1", "name_redefined", 2),
    ("[result := 1]", "name_redefined", 1),
    ("__tb_json = 1", "name_redefined", 1),
    ("def f(__tb_ask): return __tb_ask", "name_redefined", 1),
]


@pytest.mark.parametrize(("code", "finding", "line"), REFUSING)
async def test_refused_code_is_not_started(sandbox: Sandbox, code: str, finding: str, line: int) -> None:
    outcome = await sandbox.run(f"{code}\nprint('started')" if finding != "code_syntax_error" else code)

    first = check_code(code)[0]
    assert (first.code, first.line) == (finding, line)
    assert finding in REFUSED
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.error.type, outcome.error.line) == ("refused", finding, line)
    assert outcome.printed == ""


async def test_every_name_of_the_specification_works_or_is_reported(sandbox: Sandbox) -> None:
    for name in sorted(names.ALL):
        outcome = await sandbox.run(f"x = {name}")
        expected = ["unsupported_name"] if name in supported.MISSING_NAMES else []
        assert codes(f"x = {name}") == expected, name
        assert (outcome.error is None) == (expected == []), name


async def test_every_feature_works_or_is_reported(sandbox: Sandbox) -> None:
    for key, feature in FEATURES.items():
        found = [finding for finding in check_code(feature.snippet) if finding.code in REFUSED]
        outcome = await sandbox.run(feature.snippet)
        assert (outcome.error is None) == (found == []), (key, outcome.error, found)


async def test_every_special_method_works_or_is_reported(sandbox: Sandbox) -> None:
    for name, snippet in SPECIAL_METHODS.items():
        outcome = await sandbox.run(snippet)
        assert (outcome.error is None) == (check_code(snippet) == []), (name, outcome.error)


def test_findings_come_by_line_and_are_bounded() -> None:
    code = "a\nb\n" + "c\n" * 1_000

    found = check_code(code)

    assert [finding.line for finding in found[:3]] == [1, 2, 3]
    assert len(found) == FINDINGS


def test_a_finding_says_what_to_do() -> None:
    [finding] = check_code("x = 1\nimport os")

    assert finding == Finding("code_import", 2, finding.message)
    assert "json" in finding.message


@pytest.mark.parametrize(
    "code",
    [
        "(" * 50_000,
        "-" * 100_000 + "1",
        "a" + ".b" * 80_000,
        "+".join(["1"] * 100_000),
        "1 if 1 else " * 20_000 + "1",
        "if 1: pass\n" + "elif 1: pass\n" * 15_000,
        "lambda: " * 30_000 + "1",
        "f" + "()" * 60_000,
        "x = " + "[" * (DEEPEST + 5) + "]" * (DEEPEST + 5),
    ],
    ids=["brackets", "signs", "attributes", "sum", "ternary", "elif", "lambda", "calls", "lists"],
)
def test_code_nested_too_deeply_is_a_finding(code: str) -> None:
    assert codes(code) == ["code_syntax_error"]


@pytest.mark.parametrize(
    "code",
    ["x = " * 60_000 + "1", "1 < " * 60_000 + "1", "@a\n" * 60_000 + "def f(): pass", "0x" + "f" * 200_000],
    ids=["assignments", "comparisons", "decorators", "number"],
)
def test_wide_code_is_checked_in_time(code: str) -> None:
    assert len(check_code(code)) <= FINDINGS
