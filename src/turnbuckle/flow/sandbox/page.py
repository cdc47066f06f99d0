"""The two texts that the probe writes: supported.py and docs/reference/sandbox.md."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from turnbuckle.flow.sandbox import names
from turnbuckle.flow.sandbox.features import FEATURES, SPECIAL_METHODS
from turnbuckle.flow.sandbox.host import OUTWARD
from turnbuckle.flow.sandbox.limits import SandboxLimits

_GROUPS = {
    "modules": names.MODULES,
    "typing": names.TYPING,
    "exceptions": names.EXCEPTIONS,
    "built-ins": names.BUILTINS,
    "helpers": (*names.HELPERS, *names.DEPRECATED),
}


@dataclass(frozen=True)
class Facts:
    """What the probe found in one version of Monty."""

    monty: str
    python: str  # such as 3.11
    names: frozenset[str]  # that work
    ours: frozenset[str]  # of those, the ones written by us
    syntax: frozenset[str]  # keys of FEATURES that work
    methods: frozenset[str]  # special methods that are called
    attributes: Mapping[str, frozenset[str]]  # of modules and of some of their types
    of_values: Mapping[str, frozenset[str]]  # methods of built-in types


def table_module(facts: Facts) -> str:
    missing_syntax = [key for key in FEATURES if key not in facts.syntax]
    lines = [
        '"""What the installed Monty can do. Written by `python -m turnbuckle.flow.sandbox.probe`; do not edit."""',
        "",
        f"MONTY = {_quoted(facts.monty)}",
        "# The Python that asked: its own syntax and modules are the questions.",
        f"PYTHON = {_quoted(facts.python)}",
        "# Names of blobhub 5.6 that do not work.",
        *_frozenset("MISSING_NAMES", names.ALL - facts.names),
        "# Keys of features.FEATURES.",
        *_frozenset("MISSING_SYNTAX", missing_syntax),
        "# Special methods that nothing calls.",
        *_frozenset("MISSING_METHODS", SPECIAL_METHODS.keys() - facts.methods),
        "# The attributes that modules and types of modules have.",
        "ATTRIBUTES: dict[str, frozenset[str]] = {",
    ]
    for owner, members in facts.attributes.items():
        lines += [f"    {_quoted(owner)}: frozenset(", "        {", *_items(members, 12), "        }", "    ),"]
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    return f'"{text}"'


def _frozenset(name: str, members: Iterable[str]) -> list[str]:
    return [f"{name}: frozenset[str] = frozenset(", "    {", *_items(members, 8), "    }", ")"]


def _items(members: Iterable[str], indent: int) -> list[str]:
    return [f"{' ' * indent}{_quoted(member)}," for member in sorted(members)]


def page(facts: Facts) -> str:
    return "\n".join(
        [
            "<!-- Made by `make docs` from what `turnbuckle.flow.sandbox.probe` finds. Do not edit. -->",
            "",
            "# Code of components: names and syntax",
            "",
            "What the code of a `logic.code` component may use.",
            f"Each row is the answer of a run in Monty {facts.monty}, the interpreter that is installed.",
            "`check_definition` reports what is marked **no**, with component and line, before anything runs.",
            "",
            "All names are in one flat namespace, and `import` does not work.",
            "A built-in of Python that is not listed is a `NameError`: there is no `open`, no `eval`, no `KeyError`.",
            "",
            *_names(facts),
            *_syntax(facts),
            *_methods(facts),
            *_attributes(facts),
            *_differences(),
            *_limits(),
            *_codes(),
        ]
    )


def _names(facts: Facts) -> list[str]:
    lines = ["## Names", "", "*ours*: Monty lacks it and this server supplies it.", ""]
    for group, members in _GROUPS.items():
        lines += [f"### {group.capitalize()} ({len(members)})", "", "| name | works |", "| --- | --- |"]
        lines += [f"| `{name}` | {_name_note(name, facts)} |" for name in members]
        lines.append("")
    return lines


def _name_note(name: str, facts: Facts) -> str:
    if name not in facts.names:
        return "**no**"
    if name in OUTWARD:
        return "yes; reaches the session, one durable step each"
    if name in names.DEPRECATED:
        return f"yes; the old name of `{names.DEPRECATED[name]}`"
    if name in names.CARRIERS:
        return "yes; caught by name, `repr()` shows another"
    is_python = name in names.MODULES or name in names.BUILTINS
    return "ours" if is_python and name in facts.ours else "yes"


def _syntax(facts: Facts) -> list[str]:
    rows = [f"| {feature.title} | {_yes(key in facts.syntax)} |" for key, feature in FEATURES.items()]
    return ["## Syntax", "", "| | works |", "| --- | --- |", *rows, ""]


def _yes(works: bool) -> str:
    return "yes" if works else "**no**"


def _methods(facts: Facts) -> list[str]:
    lines = ["## Special methods of your classes", ""]
    called = [name for name in SPECIAL_METHODS if name in facts.methods]
    ignored = [name for name in SPECIAL_METHODS if name not in facts.methods]
    return [*lines, f"Called: {_listed(called)}.", "", f"Never called: {_listed(ignored)}.", ""]


def _attributes(facts: Facts) -> list[str]:
    lines = ["## What modules and types have", "", "| owner | attributes |", "| --- | --- |"]
    lines += [f"| `{owner}` | {_listed(sorted(members))} |" for owner, members in facts.attributes.items()]
    lines += [f"| a `{kind}` | {_listed(sorted(members))} |" for kind, members in facts.of_values.items()]
    return [*lines, ""]


def _listed(members: Iterable[str]) -> str:
    return ", ".join(f"`{member}`" for member in members) or "none"


def _differences() -> list[str]:
    return [
        "## Where it differs from Python",
        "",
        "- A `ZoneInfo` gives a datetime the fixed offset that the zone has at that moment; adding days to it does not",
        "  follow a change of the clocks. It works in `now`, `astimezone`, `fromtimestamp` and as `tzinfo=`.",
        "- Of a caught exception `traceback` shows the last line only; exceptions carry one text and no attributes.",
        "- A method of a built-in value cannot be taken without calling it: `f = text.join` fails, `map(str.strip, x)`",
        "  works.",
        "- `issubclass` knows equal types, `object`, `bool` and exceptions. `functools.wraps` copies nothing.",
        "- `round` of a float rounds its shortest text: `round(2.675, 2)` is 2.68.",
        "- `breakpoint()` does nothing; `pause_before` of an execution is the one that works.",
        "- `io.BytesIO` is a function: nothing is an instance of it.",
        "- The sandbox supplies what a module lacks where its name is written out: `dataclasses.asdict(x)` works,",
        "  `d = dataclasses` and then `d.asdict(x)` does not.",
        "- A bare `except:` around `traceback.format_exc()` does not catch `exit()`.",
        "- The clock, random numbers and `time.sleep` ask the worker and are recorded: a run that goes on after a",
        "  crash gets the same answers again.",
        "",
    ]


def _limits() -> list[str]:
    said = {
        "time_s": "seconds of running; waiting for a helper does not count",
        "memory_bytes": "memory",
        "recursion_depth": "calls inside calls",
        "calls": "questions to the host: helpers, clock, random numbers",
        "printed_bytes": "printed text",
        "event_bytes": "one event that the code posts, as JSON",
        "output_bytes": "all outputs as JSON, and all events",
        "value_bytes": "one output or one helper's arguments as JSON",
        "code_bytes": "the code",
    }
    defaults = SandboxLimits()
    rows = [
        f"| `{item.name}` | {_amount(item.name, getattr(defaults, item.name))} | {said[item.name]} |"
        for item in fields(defaults)
    ]
    return [
        "## Limits",
        "",
        "A breach fails the component with an error that names the limit; code cannot catch it, but for recursion.",
        "",
        "| limit | default | of |",
        "| --- | --- | --- |",
        *rows,
        "",
    ]


def _amount(name: str, value: float) -> str:
    if not name.endswith("_bytes"):
        return f"{value:g}"
    return f"{value / 2**20:g} MiB" if value >= 2**20 else f"{value / 2**10:g} KiB"


def _codes() -> list[str]:
    return [
        "## What the check reports",
        "",
        "| code | meaning | the code |",
        "| --- | --- | --- |",
        "| `code_syntax_error` | it is not Python | does not start |",
        "| `code_too_long` | it is over the limit | does not start |",
        "| `code_import` | an `import` statement, anywhere | does not start |",
        "| `unsupported_syntax` | syntax marked **no** above | does not start |",
        "| `name_redefined` | a name of the sandbox, modules aside, is bound at the top level | does not start |",
        "| `unknown_name` | nothing binds the name | fails with `NameError` when it gets there |",
        "| `unsupported_name` | a name, attribute or method marked **no** | fails there, or the method is ignored |",
        "",
    ]
