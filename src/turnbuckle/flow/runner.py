"""The runner: the `lbb` workflow `flow` that walks a definition, one turn at a time (blobhub 5.5, decisions 35 to 40).

A turn walks on from where the one before left off, runs components as durable steps, and ends with the run, or with a
continuation when its steps are used up. Branches of a `flow.parallel` are instances of their own (branches.py). Stop
needs nothing here: the server refuses the next step of a run that is being stopped, and ends parked turns itself.
"""

from dataclasses import dataclass
from typing import Any

from lbb import AsyncLbbClient
from lbb.workflows import WorkflowContext, WorkflowDefinition, WorkflowResult, WorkflowStepContext, workflow
from turnbuckle.flow import branches, run_info
from turnbuckle.flow.context import ComponentContext
from turnbuckle.flow.failures import ComponentFailed, RunFailed
from turnbuckle.flow.final_values import END_KEY, final_values
from turnbuckle.flow.hub_calls import HubCalls
from turnbuckle.flow.kept_values import closed
from turnbuckle.flow.run_component import run_component
from turnbuckle.flow.run_info import RunInfo
from turnbuckle.flow.run_log import RunLog, about
from turnbuckle.flow.sandbox import SandboxPool
from turnbuckle.flow.saved import Saved
from turnbuckle.flow.turn_steps import PAUSE, WAIT_MS, TurnFull, TurnSteps
from turnbuckle.hub import execution as rules
from turnbuckle.hub import walk as walks
from turnbuckle.hub.data_flow import initial_data, session_aliases
from turnbuckle.hub.position import Arrived, Ended, Fault
from turnbuckle.hub.walk import Fork, Run, Walk
from turnbuckle.wire.hub_limits import COMPONENT_ENTRIES, EXECUTING_MS


@dataclass(frozen=True)
class FlowSettings:
    """The guards of a run (decision 38)."""

    component_entries: int = COMPONENT_ENTRIES
    executing_ms: int = EXECUTING_MS


@dataclass(frozen=True)
class Runtime:
    """What all runs of a worker share. `client` works in the graph `hub`; `hub` asks the second API."""

    client: AsyncLbbClient
    hub: HubCalls
    sandbox: SandboxPool
    settings: FlowSettings = FlowSettings()


def flow_workflow(runtime: Runtime) -> WorkflowDefinition:
    async def on_message(ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
        return await run_turn(runtime, ctx, state, message)

    return workflow(name=rules.WORKFLOW_TYPE, version=rules.VERSION, initial_state=None, on_message=on_message)


async def run_turn(runtime: Runtime, ctx: WorkflowContext, state: Any, message: Any) -> WorkflowResult[Any]:
    info = run_info.read(await runtime.hub.run(message["execution_id"]))
    if info is None:  # there is nothing to run, and the server has said so
        return WorkflowResult(state=None)
    saved = await Saved.read(ctx, state if state is not None else message.get("start"))
    return await _Turn(runtime, ctx, info, saved).run()


class _Turn:
    def __init__(self, runtime: Runtime, ctx: WorkflowContext, info: RunInfo, saved: Saved) -> None:
        self._runtime = runtime
        self._ctx = ctx
        self._info = info
        self._saved = saved
        self._log = RunLog(ctx, runtime.hub, info.execution_id)
        self._pause_before = info.pause_before if saved.pause_before is None else saved.pause_before
        self._steps = TurnSteps(
            ctx,
            runtime.client,
            carried=saved.carried,
            executing_ms=saved.executing_ms,
            most_executing_ms=runtime.settings.executing_ms,
            on_saved=self._log.saved,
        )

    async def run(self) -> WorkflowResult[Any]:
        walk = await self._begin()
        try:
            while not isinstance(at := walk.next(), Ended | Arrived):
                walk = await self._go_on(walk, at)
                await self._log.flush()
        except TurnFull:
            return await self._continue(walk)
        except RunFailed as failed:
            at = Ended("failed", Fault(failed.code, failed.message))
        return await (self._end(walk, at) if self._saved.branch is None else self._end_branch(at))

    async def _begin(self) -> Walk:
        """Where the turn before left off, or the start."""
        if self._saved.at is not None:
            return walks.load(self._info.wiring, self._saved.at)
        alias = self._info.definition["alias"]
        self._log.post("run/entered", "flow.entered", f"The run of {alias} begins", {"definition_alias": alias})
        document = self._info.wiring.document
        objects = await self._session_objects(session_aliases(document))
        data = initial_data(document, self._info.input_data, objects)
        return walks.start(self._info.wiring, data, self._runtime.settings.component_entries)

    async def _session_objects(self, aliases: list[str]) -> dict[str, Any]:
        """What the session holds for its data components now: read once."""
        if not aliases:
            return {}

        async def read(s: WorkflowStepContext) -> dict[str, Any]:
            found = {alias: await self._session_object(alias) for alias in aliases}
            return {alias: value for alias, value in found.items() if value is not None}

        objects: dict[str, Any] = await self._steps.step("begin", read)
        return objects

    async def _session_object(self, alias: str) -> Any:
        where = {"session_id": self._info.session_id, "alias": alias}
        try:
            answer = await self._runtime.hub.query(self._info.revision_id, "download_session_object", **where)
        except ComponentFailed as failed:
            if failed.code == "not_found":
                return None
            raise RunFailed(failed.code, f"the session object {alias}: {failed.message}") from failed
        return answer["object"]["value"]

    async def _go_on(self, walk: Walk, at: Run | Fork) -> Walk:
        if isinstance(at, Fork):
            ends = await branches.run(self._runtime.client, self._steps, self._info, at, self._pause_before)
            return walk.joined(ends)
        self._steps.open()
        if at.component.id in self._pause_before and at.key not in self._info.pins:
            await self._pause(at)
        outcome = await run_component(self._context(at))
        return walk.done(outcome)

    def _context(self, at: Run) -> ComponentContext:
        runtime, info = self._runtime, self._info
        return ComponentContext(
            component=at.component,
            key=at.key,
            inputs=at.inputs,
            round=at.round,
            run=info,
            steps=self._steps,
            log=self._log,
            hub=runtime.hub,
            client=runtime.client,
            sandbox=runtime.sandbox,
        )

    async def _pause(self, at: Run) -> None:
        """Park before the component until somebody continues the run, who may set other breakpoints."""
        self._steps.reserve(3)
        signal = f"continue.{at.key}"[:128]
        where = about(at.component) | {"component_key": at.key}
        self._log.post(f"{at.key}/paused", "processor.paused", f"Paused before {at.component.title}", where)

        async def note(s: WorkflowStepContext) -> None:
            await self._runtime.hub.wait(
                execution_id=self._info.execution_id,
                workflow_id=self._ctx.workflow_id,
                turn=self._ctx.turn,
                signal=signal,
                on="breakpoint",
            )

        await self._steps.step(f"{at.key}{PAUSE}", note)
        heard = await self._steps.wait(f"{at.key}.continue", name=signal, timeout_ms=WAIT_MS)
        if heard.received and heard.value.get("pause_before") is not None:
            self._pause_before = tuple(heard.value["pause_before"])

    # -- the end of the turn -----------------------------------------------------------------------------------------

    async def _continue(self, walk: Walk) -> WorkflowResult[Any]:
        """The next turn goes on here, with what the open component has learned."""
        saved = Saved(
            at=walks.save(walk),
            carried=self._steps.answers,
            executing_ms=self._steps.executing_ms,
            pause_before=self._pause_before,
            branch=self._saved.branch,
        )
        state = await saved.state(self._steps)
        return self._ctx.continue_(state, {"execution_id": self._info.execution_id})

    async def _end(self, walk: Walk, at: Ended | Arrived) -> WorkflowResult[Any]:
        assert isinstance(at, Ended)
        attributes: dict[str, Any] = {"status": at.status, "executing_ms": self._steps.executing_ms}
        data = {"outputs": await closed(self._steps, final_values(walk))}
        kept = {"component_key": END_KEY, "data": data}
        if at.status == "completed":
            self._log.post("run/exited", "flow.exited", "The run is complete", attributes, **kept)
            return WorkflowResult(state=None, result={"status": "completed"})
        fault = at.error or Fault("ended_as_failed", "the run came to a flow.end with the status failed")
        attributes |= {"code": fault.code} | ({"processor_id": at.component_id} if at.component_id else {})
        self._log.post("run/exited", "flow.error", f"The run failed: {fault.message}", attributes, **kept)
        error = {"code": fault.code, "message": fault.message, "component_id": at.component_id}
        return WorkflowResult(state=None, result={"status": "failed", "error": error})

    async def _end_branch(self, at: Ended | Arrived) -> WorkflowResult[Any]:
        """Tell the parent's turn how the branch ended."""
        branch = self._saved.branch
        assert branch is not None
        await branches.tell_parent(self._runtime.client, self._steps, branch, at)
        return WorkflowResult(state=None, result={"status": "completed"})
