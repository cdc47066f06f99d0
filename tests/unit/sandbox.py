"""Running code in the sandbox from tests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from turnbuckle.flow.sandbox import (
    CodeOutcome,
    Host,
    RecordingHost,
    SandboxLimits,
    SandboxNames,
    SandboxPool,
    run_code,
)
from turnbuckle.flow.sandbox.pieces import prelude_for
from turnbuckle.flow.sandbox.program import COLLECT, Program
from turnbuckle.flow.sandbox.run import run_program
from turnbuckle.flow.sandbox.unchecked import program_of

# 2023-11-14T22:13:20.123456Z
NOW_US = 1_700_000_000_123_456
SMALL = SandboxLimits(time_s=1, memory_bytes=32 * 2**20)


def answer(name: str, *args: Any, **kwargs: Any) -> Any:
    """A host whose clock stands still and whose random numbers are all the same; the rest is echoed."""
    fixed = {"clock": NOW_US, "random_bytes": "ab" * 16, "sleep": None}
    if name == "random_bytes":
        return "ab" * args[0]
    return fixed[name] if name in fixed else {"name": name, "args": list(args), "kwargs": kwargs}


class Sandbox:
    """A pool of one process, and the least to say to run code in it."""

    def __init__(self, pool: SandboxPool) -> None:
        self.pool = pool

    async def run(
        self,
        code: str,
        names: SandboxNames | None = None,
        host: Host | Callable[..., Any] = answer,
        **limits: float,
    ) -> CodeOutcome:
        chosen = replace(SMALL, **limits)
        return await run_code(code, names or SandboxNames(), _host(host), chosen, self.pool)

    async def run_unchecked(self, code: str) -> CodeOutcome:
        """As if the check had found nothing: what is left is the sandbox itself."""
        program = program_of(code)
        assert program is not None
        return await run_program(program, SandboxNames(), RecordingHost(answer), SMALL, self.pool)

    async def raw(self, code: str) -> CodeOutcome:
        """Not even rewritten: as code that had got hold of names of the sandbox's own."""
        prelude, _ = prelude_for({"result", "data_outputs", "__tb_ask"})
        program = Program(f"{prelude}{code}\n{COLLECT}", frozenset({"result", "data_outputs"}), 1, None, 1)
        return await run_program(program, SandboxNames(), RecordingHost(answer), SMALL, self.pool)

    def worker_pid(self) -> int:
        pid = self.pool.last_worker_pid
        assert pid is not None
        return pid

    async def printed(self, code: str, names: SandboxNames | None = None) -> str:
        outcome = await self.run(code, names)
        assert outcome.error is None, outcome.error
        return outcome.printed

    async def is_well(self) -> bool:
        """Whether code still runs."""
        return await self.printed("print(6 * 7)") == "42\n"


def _host(host: Host | Callable[..., Any]) -> Host:
    return RecordingHost(host) if callable(host) else host


def with_inputs(inputs: Mapping[str, Any], outputs: Sequence[str] = ()) -> SandboxNames:
    items = [{"route": route, "value": value} for route, value in inputs.items()]
    return SandboxNames(data_inputs=items, data_outputs=outputs)
