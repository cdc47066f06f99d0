"""What a component gets when it runs: its inputs and settings, durable steps, events, the session.

A component is an `async def run(c: ComponentContext) -> Outcome`. Outside of steps it must be a function of its inputs
and of what its steps answered, since after a crash it runs again from its top.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from lbb import AsyncLbbClient
from lbb.workflows import WorkflowSignalResult, WorkflowStepContext
from turnbuckle.flow.failures import ComponentFailed
from turnbuckle.flow.hub_calls import HubCalls
from turnbuckle.flow.run_info import RunInfo
from turnbuckle.flow.run_log import RunLog, about
from turnbuckle.flow.turn_steps import WAIT_MS, TurnSteps
from turnbuckle.hub.document import Component
from turnbuckle.hub.position import Outcome
from turnbuckle.hub.value import plain
from turnbuckle.hub.wiring import Wiring

if TYPE_CHECKING:
    from turnbuckle.flow.sandbox import SandboxPool

T = TypeVar("T")


@dataclass
class ComponentContext:
    component: Component
    key: str  # of this run of the component: its step keys start with it
    inputs: Mapping[str, Any]  # route -> data value or None
    round: int  # of a loop
    run: RunInfo
    steps: TurnSteps
    log: RunLog
    hub: HubCalls
    client: AsyncLbbClient
    sandbox: "SandboxPool"
    _told: dict[str, int] = field(default_factory=dict)
    _inside: str = ""  # the step whose function runs

    # -- what it was given -------------------------------------------------------------------------------------------

    @property
    def wiring(self) -> Wiring:
        return self.run.wiring

    @property
    def is_dry_run(self) -> bool:
        """Whether effects on the outside are to be told instead of done: see `captured`."""
        return self.run.is_dry_run

    def setting(self, route: str, default: Any = None) -> Any:
        """The plain contents of a setting."""
        found = self.component.setting(route)
        return default if found is None else found

    def text_setting(self, route: str) -> str:
        """ComponentFailed when it is no text, or empty."""
        found = self.setting(route)
        if not isinstance(found, str) or not found:
            raise ComponentFailed("missing_setting", f"the setting `{route}` is {found!r:.100}, expected a text")
        return found

    def whole_setting(self, route: str, default: int | None, least: int, most: int) -> int | None:
        """A whole number; ComponentFailed when it is none, or out of bounds."""
        found = self.setting(route, default)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= most:
            what = f"the setting `{route}` is {found!r:.100}, expected a whole number from {least} to {most}"
            raise ComponentFailed("bad_setting", what)
        return found

    def plain(self, route: str) -> Any:
        """The plain contents of an input: a text, number, flag, any JSON; None without a value."""
        return plain(self.inputs.get(route))

    def credential(self, route: str = "credential") -> str | None:
        """The name of the secret that is lent to a provider input; the secret itself stays in the server."""
        provider = self.wiring.providers_of(self.component.index).get(route)
        if provider is None or provider.type != "provider.credential":
            return None
        name = provider.setting("name")
        return name if isinstance(name, str) and name else None

    # -- what it may do ----------------------------------------------------------------------------------------------

    async def step(
        self, name: str, fn: Callable[[WorkflowStepContext], Awaitable[T]], *, timeout_s: float | None = None
    ) -> T:
        """The answer of `fn`, saved once: JSON. `name` is unique in the component; "" for its only step."""

        async def run(s: WorkflowStepContext) -> T:
            self._inside = name or "."
            try:
                return await fn(s)
            finally:
                self._inside = ""

        answer: T = await self.steps.step(self._key(name), run, timeout_s=timeout_s)
        return answer

    async def sleep(self, name: str, milliseconds: int) -> None:
        """Holds no worker."""
        await self.steps.sleep(self._key(name), milliseconds)

    async def wait(self, name: str, *, signal: str, timeout_ms: int | None) -> WorkflowSignalResult:
        """A signal of this turn; None waits for ever. Reserve the step before you say where to send the signal."""
        timeout_ms = WAIT_MS if timeout_ms is None else timeout_ms
        return await self.steps.wait(self._key(name), name=signal, timeout_ms=timeout_ms)

    def reserve(self, steps: int) -> None:
        """Begin again in a new turn unless so many steps are left: before anything learns the number of this turn."""
        self.steps.reserve(steps)

    def post_event(self, type: str, message: str, attributes: Mapping[str, Any] | None = None, **more: Any) -> None:
        """Into the log of the run. Inside a step it is saved with the step's answer."""
        scope = f"{self.key}/{self._inside}" if self._inside else self.key
        number = self._told[scope] = self._told.get(scope, 0) + 1
        self.log.post(f"{scope}/{number}", type, message, {**(attributes or {}), **about(self.component)}, **more)

    def captured(self, what: str, **attributes: Any) -> None:
        """Tell of an effect that a dry run does not have."""
        self.post_event("processor.output", f"Dry run: {what}", {"dry_run": True, **attributes})

    async def query(self, command: str, **arguments: Any) -> dict[str, Any]:
        """A query of the data channel in the run's own session; inside a step."""
        session_id = self.run.session_id
        return await self.hub.query(self.run.revision_id, command, session_id=session_id, **arguments)

    async def command(self, command: str, **arguments: Any) -> dict[str, Any]:
        """A command there; inside a step."""
        session_id = self.run.session_id
        return await self.hub.command(self.run.revision_id, command, session_id=session_id, **arguments)

    def _key(self, name: str) -> str:
        return f"{self.key}.{name}" if name else self.key


ComponentRun = Callable[[ComponentContext], Awaitable[Outcome]]
