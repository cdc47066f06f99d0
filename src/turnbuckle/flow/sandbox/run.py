"""Runs the code of a `logic.code` component in Monty (blobhub 5.6).

Everything that comes out of the sandbox is hostile here: it is bounded, decoded as JSON and checked for its shape.
The only ways out are the questions in host.py, events, and the offsets of time zones.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_monty import (
    AsyncFunctionSnapshot,
    AsyncMontySession,
    AsyncNameLookupSnapshot,
    AsyncSnapshot,
    ExternalResult,
    MontyComplete,
    MontyCrashedError,
    MontyError,
)

from turnbuckle.flow.sandbox.answers import Ask, Breach, Refused, answer_to
from turnbuckle.flow.sandbox.check import Finding, program_for, refusals
from turnbuckle.flow.sandbox.failure import breached, crashed, raised
from turnbuckle.flow.sandbox.host import Host
from turnbuckle.flow.sandbox.limits import Limit, SandboxLimits
from turnbuckle.flow.sandbox.outcome import CodeError, CodeEvent, CodeOutcome, CodeOutput
from turnbuckle.flow.sandbox.plain import decode, fits
from turnbuckle.flow.sandbox.pool import SandboxPool
from turnbuckle.flow.sandbox.program import COLLECT, Program


@dataclass(frozen=True)
class SandboxNames:
    """What the code finds about its component and run (blobhub 5.6, helpers), as JSON data."""

    data_inputs: Sequence[Mapping[str, Any]] = ()  # {"route", "value"}, in the order of the ports
    data_outputs: Sequence[str] = ()  # routes
    flow_outputs: Sequence[str] = ()
    provider_inputs: Sequence[Mapping[str, Any]] = ()  # {"route", "credential"}: an opaque handle or None
    blob: Mapping[str, Any] = field(default_factory=dict)
    session: Mapping[str, Any] = field(default_factory=dict)
    definition: Mapping[str, Any] = field(default_factory=dict)
    execution: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)


async def run_code(code: str, names: SandboxNames, host: Host, limits: SandboxLimits, pool: SandboxPool) -> CodeOutcome:
    """Runs the code to its end, to its failure or to a limit; whatever the code does, this answers.

    Code that the check refuses is not started. An exception of `host.call` that is no HostRefusal comes out.
    """
    refused = refusals(code, limits.code_bytes)
    if refused:
        return _failed(_refusal(refused), _Run(limits, host))
    return await run_program(program_for(code), names, host, limits, pool)


async def run_program(
    program: Program, names: SandboxNames, host: Host, limits: SandboxLimits, pool: SandboxPool
) -> CodeOutcome:
    """`run_code` without the check, for the probe."""
    run = _Run(limits, host)
    async with pool.session(limits) as session:
        try:
            text = await run.to_end(session, program, _inputs(names, program))
            return _succeeded(text, run)
        except Breach as breach:
            return _failed(breached(breach.limit, limits), run)
        except MontyCrashedError as exc:
            return _failed(crashed(exc, limits), run)
        except MontyError as exc:
            limit: Limit | None = "printed" if run.printed_bytes > limits.printed_bytes else None
            return _failed(raised(exc, program, limits, limit), run)


def _inputs(names: SandboxNames, program: Program) -> dict[str, Any]:
    """The names the program uses. Functions among them are only markers: calling one asks us (`_Run.answer`)."""
    given: dict[str, Any] = {
        "data_inputs": [dict(item) for item in names.data_inputs],
        "data_outputs": [{"route": route, "value": None} for route in names.data_outputs],
        "flow_outputs": list(names.flow_outputs),
        "result": {"route": None, "terminal": False},
        "provider_inputs": [dict(item) for item in names.provider_inputs],
        "blob": dict(names.blob),
        "session": dict(names.session),
        "definition": dict(names.definition),
        "execution": dict(names.execution),
        "attributes": dict(names.attributes),
    }
    chosen = {name: given[name] for name in program.inputs}
    return {**chosen, **_MARKERS}


def _marker(name: str) -> Callable[[], None]:
    """Stands in the sandbox for a function of the host; Monty knows it by its name, and nobody calls this one."""

    def marker() -> None: ...

    marker.__name__ = name
    return marker


_MARKERS = {name: _marker(name) for name in ("__tb_host", "__tb_host_attributes")}


@dataclass
class _Run:
    """One run's state: what it asked, printed and told so far."""

    limits: SandboxLimits
    host: Host
    questions: int = 0
    printed: list[str] = field(default_factory=list)
    printed_bytes: int = 0
    events: list[CodeEvent] = field(default_factory=list)
    event_bytes: int = 0

    def post(self, event: CodeEvent) -> None:
        size = len(json.dumps([event.message, event.attributes], ensure_ascii=False).encode("utf-8", "replace"))
        self.event_bytes += size
        if size > self.limits.event_bytes:
            raise Breach("event")
        if self.event_bytes > self.limits.output_bytes:
            raise Breach("output")
        self.events.append(event)

    def take_print(self, stream: str, text: str) -> None:
        """Raising here ends the run in the sandbox, where nothing can catch it."""
        self.printed_bytes += len(text.encode("utf-8", "replace"))
        if self.printed_bytes > self.limits.printed_bytes:
            raise MemoryError("printed too much")
        self.printed.append(text)

    async def to_end(self, session: AsyncMontySession, program: Program, inputs: dict[str, Any]) -> Any:
        """The JSON text of result and outputs."""
        try:
            return await self._feed(session, program.source, inputs)
        except MontyCrashedError:
            raise
        except MontyError as exc:
            if not isinstance(exc.exception(), SystemExit) or self.printed_bytes > self.limits.printed_bytes:
                raise
            # exit() unwinds past the end of the program; what it collected is still in the namespace.
            return await self._feed(session, COLLECT, {})

    async def _feed(self, session: AsyncMontySession, source: str, inputs: dict[str, Any]) -> Any:
        snapshot: AsyncSnapshot = await session.feed_start(source, inputs=inputs, print_callback=self.take_print)
        while not isinstance(snapshot, MontyComplete):
            snapshot = await self._step(snapshot)
        return snapshot.output

    async def _step(self, snapshot: AsyncSnapshot) -> AsyncSnapshot:
        match snapshot:
            case AsyncFunctionSnapshot():
                return await snapshot.resume(await self.answer(snapshot))
            case AsyncNameLookupSnapshot():
                return await snapshot.resume()  # not given: the sandbox raises NameError
            case _:
                raise TypeError(f"The sandbox waits for {type(snapshot).__name__}, which nothing here starts.")

    async def answer(self, snapshot: AsyncFunctionSnapshot) -> ExternalResult:
        self.questions += 1
        if self.questions > self.limits.calls:
            raise Breach("calls")
        ask = Ask(snapshot.function_name, snapshot.is_os_function, snapshot.args, snapshot.kwargs)
        try:
            return {"return_value": await answer_to(ask, self.host, self.limits, self.post)}
        except Refused as refused:
            return {"exc_type": refused.carrier, "message": refused.message}


def _succeeded(text: Any, run: _Run) -> CodeOutcome:
    if not isinstance(text, str) or not fits(text, run.limits.output_bytes):
        raise Breach("output")
    try:
        result, outputs = decode(text)
        route, terminal = result["route"], result["terminal"]
        found = {item["route"]: item for item in outputs if item["value"] is not None}
    except (ValueError, TypeError, KeyError) as exc:
        return _failed(_bad_result(f"`result` or `data_outputs` lost its shape: {exc!r}"), run)
    if not isinstance(route, str | None) or not all(isinstance(name, str) for name in found):
        return _failed(_bad_result("A route is a text."), run)
    for item in found.values():
        if not isinstance(item["value"], dict) or not isinstance(item["value"].get("type"), str):
            return _failed(_bad_result("An output is a data value: a dict with its type."), run)
        if not fits(json.dumps(item["value"], ensure_ascii=False), run.limits.value_bytes):
            raise Breach("output")
    values = {name: CodeOutput(item["value"], item.get("persist") is True) for name, item in found.items()}
    return CodeOutcome(route or "success", terminal is True, values, "".join(run.printed), tuple(run.events), None)


def _failed(error: CodeError, run: _Run) -> CodeOutcome:
    return CodeOutcome(None, False, {}, "".join(run.printed), tuple(run.events), error)


def _bad_result(message: str) -> CodeError:
    return CodeError("exception", "ValueError", message)


def _refusal(refused: Sequence[Finding]) -> CodeError:
    first = refused[0]
    more = f" ({len(refused)} findings in all)" if len(refused) > 1 else ""
    message = f"The code was not started. Line {first.line}: {first.message}{more}"
    return CodeError("refused", first.code, message, first.line, findings=tuple(refused))
