"""`python -m turnbuckle.flow.sandbox.probe`: asks the installed Monty what it can do.

Writes supported.py, which the check reads, and docs/reference/sandbox.md; `--check` writes nothing and exits with 1
when one is stale. Every row is the answer of a run: nothing here is taken from a manual. What is asked about are the
syntax and the modules of the Python that runs this, so `--check` compares only on the one that made the files.
"""

import argparse
import asyncio
import builtins
import importlib
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

from turnbuckle.flow.sandbox import names, supported
from turnbuckle.flow.sandbox.features import FEATURES, SPECIAL_METHODS
from turnbuckle.flow.sandbox.limits import SandboxLimits
from turnbuckle.flow.sandbox.page import Facts, page, table_module
from turnbuckle.flow.sandbox.pieces import pieces
from turnbuckle.flow.sandbox.pool import SandboxPool
from turnbuckle.flow.sandbox.recorded import RecordingHost
from turnbuckle.flow.sandbox.rewrite import ADDED_ATTRIBUTES
from turnbuckle.flow.sandbox.run import SandboxNames, run_program
from turnbuckle.flow.sandbox.unchecked import program_of

_TYPES = ("datetime.datetime", "datetime.date", "datetime.time", "datetime.timedelta", "datetime.timezone")
_METHODS_OF = {"str": "''", "bytes": "b''", "list": "[]", "dict": "{}", "set": "set()", "int": "1", "float": "1.0"}
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_ROOT = Path(__file__).parents[4]
_TABLE = Path(__file__).with_name("supported.py")
_PAGE = _ROOT / "docs" / "reference" / "sandbox.md"


class Probe:
    def __init__(self, pool: SandboxPool) -> None:
        self._pool = pool
        self._limits = SandboxLimits(time_s=5)

    async def works(self, code: str) -> bool:
        """Whether the code, unchecked but rewritten as any, runs to its end."""
        program = program_of(code)
        if program is None:
            return False
        outcome = await run_program(program, SandboxNames(), RecordingHost(_answer), self._limits, self._pool)
        return outcome.error is None

    async def those_that_work(self, codes: Iterable[tuple[str, str]]) -> frozenset[str]:
        return frozenset([key for key, code in codes if await self.works(code)])


def _answer(name: str, *args: object, **kwargs: object) -> object:
    return {"clock": 0, "random_bytes": "00" * 16}.get(name)


async def facts() -> Facts:
    async with _probe() as probe:
        working = await probe.those_that_work((name, f"{name}\n1") for name in sorted(names.ALL))
        syntax = await probe.those_that_work((key, feature.snippet) for key, feature in FEATURES.items())
        methods = await probe.those_that_work(SPECIAL_METHODS.items())
        owners = [module for module in names.MODULES if module in working]
        attributes = {owner: await _attributes(probe, owner) for owner in owners}
        attributes |= {owner: await _attributes(probe, owner) for owner in _TYPES}
        of_values = {kind: await _methods(probe, kind, value) for kind, value in _METHODS_OF.items()}
    return Facts(version("pydantic-monty"), _PYTHON, working, _ours(working), syntax, methods, attributes, of_values)


@asynccontextmanager
async def _probe() -> AsyncIterator[Probe]:
    async with SandboxPool(processes=1) as pool:
        yield Probe(pool)


async def _attributes(probe: Probe, owner: str) -> frozenset[str]:
    """The public attributes of Python's own module or type that the one in the sandbox has too."""
    module, _, kind = owner.partition(".")
    original = importlib.import_module(module)
    if kind:
        original = getattr(original, kind)
    public = [name for name in dir(original) if not name.startswith("_")]
    public += [added.rpartition(".")[2] for added in ADDED_ATTRIBUTES if added.rpartition(".")[0] == owner]
    return await probe.those_that_work((name, _calls(f"{owner}.{name}")) for name in sorted({*public}))


async def _methods(probe: Probe, kind: str, value: str) -> frozenset[str]:
    public = [name for name in dir(getattr(builtins, kind)) if not name.startswith("_")]
    return await probe.those_that_work((name, f"x = {value}\n{_calls(f'x.{name}')}") for name in public)


def _calls(attribute: str) -> str:
    """Code that fails when the attribute is not there. Monty has methods that can be called but not taken."""
    return f"try:\n  {attribute}()\nexcept Exception as e:\n  if type(e).__name__ == 'AttributeError': raise"


def _ours(working: frozenset[str]) -> frozenset[str]:
    """Names that work because a piece of ours binds them, not Monty."""
    table = pieces()
    return frozenset(name for name in working if name in table and table[name].ours)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    check = parser.parse_args().check
    if check and supported.PYTHON != _PYTHON:
        sys.stdout.write(
            f"the sandbox's table was made with Python {supported.PYTHON}, this is {_PYTHON}: not compared\n"
        )
        return 0
    found = asyncio.run(facts())
    texts = {_TABLE: table_module(found), _PAGE: page(found)}
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text("utf-8") != text]
    for path in stale:
        sys.stdout.write(f"{'stale, run `make docs`' if check else 'written'}: {path.relative_to(_ROOT)}\n")
        if not check:
            path.write_text(texts[path], "utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
