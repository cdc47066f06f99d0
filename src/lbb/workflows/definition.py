"""A workflow: a name, a version and the handler that runs its turns (lbb-engine 8.1)."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from lbb.workflows.errors import WorkflowError
from lbb.workflows.json_rules import copy_json
from lbb.workflows.limits import NAME

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient
    from lbb.workflows.context import WorkflowContext
    from lbb.workflows.handle import WorkflowHandle

State = TypeVar("State")

LEASE_MS = 60_000
MAX_ATTEMPTS = 3


@dataclass(frozen=True)
class WorkflowResult(Generic[State]):
    """What a handler returns: the new state, a reply, and with `ctx.continue_` the message that goes on."""

    state: State
    result: Any = None
    continuation: Mapping[str, Any] | None = None  # {"message": ...}


@dataclass(frozen=True)
class WorkflowSignalResult:
    """How a signal wait ended: with the signal's value, or with its timeout."""

    received: bool
    value: Any


Handler = Callable[["WorkflowContext", Any, Any], Awaitable[Any]]


class WorkflowDefinition:
    """A workflow that a worker can run and instances can be started of.

    WorkflowError for a name or version that the server does not take, a handler that is no async function, and an
    `initial_state` that is no JSON.
    """

    def __init__(self, name: str, version: str, initial_state: Any, handler: Handler) -> None:
        for what, given in (("name", name), ("version", version)):
            if not isinstance(given, str) or not NAME.match(given):
                raise WorkflowError(f"a workflow's {what} is 1 to 128 of A-Z a-z 0-9 _ . -, not {given!r:.150}")
        check_handler(handler, f'the handler of workflow "{name}"', ("ctx", "state", "message"))
        self.name = name
        self.version = version
        self.initial_state = copy_json(initial_state, "initial_state")
        self._handler = handler

    async def execute(self, ctx: "WorkflowContext", state: Any, message: Any) -> Any:
        """Run the handler once. WorkflowError when it is not async."""
        returned = self._handler(ctx, state, message)
        if not inspect.isawaitable(returned):
            raise WorkflowError(f'the handler of workflow "{self.name}" must be an async function')
        return await returned

    async def start(
        self,
        client: "AsyncLbbClient",
        id: str,
        *,
        lease_ms: int = LEASE_MS,
        max_attempts: int = MAX_ATTEMPTS,
        on_exhausted: Literal["block", "skip"] | None = None,
    ) -> "WorkflowHandle":
        """Create the instance, or find the one that the same request created. LbbError 409 for another with its id."""
        return await client.workflows.start(
            self, id, lease_ms=lease_ms, max_attempts=max_attempts, on_exhausted=on_exhausted
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.version!r})"


def check_handler(handler: Any, what: str, takes: tuple[str, ...]) -> None:
    """WorkflowError for what cannot be called with `takes`, or is surely no async function: its line is still in sight.

    A lambda and an object that is called may return an awaitable; their first turn shows it.
    """
    if not callable(handler):
        raise WorkflowError(f"{what} is a {type(handler).__name__}, no function")
    function = inspect.unwrap(handler)
    is_def = (inspect.isfunction(function) or inspect.ismethod(function)) and function.__name__ != "<lambda>"
    if is_def and not inspect.iscoroutinefunction(function):
        raise WorkflowError(f"{what} must be an async function: write `async def {function.__name__}`, without yield")
    try:
        inspect.signature(handler).bind(*takes)
    except TypeError:
        got = inspect.signature(handler)
        raise WorkflowError(f"{what} is called with ({', '.join(takes)}), and it takes {got}") from None
    except ValueError:  # one written in C may not tell
        return


def refuse_bare(bare: tuple[Any, ...], decorator: str) -> None:
    """TypeError for a handler given by position."""
    if bare:
        raise TypeError(f"{decorator} takes names: `@{decorator}(name=..., version=...)` above `async def`")


@overload
def workflow(
    *, name: str, version: str, initial_state: Any, on_message: None = ...
) -> Callable[[Handler], WorkflowDefinition]: ...


@overload
def workflow(*, name: str, version: str, initial_state: Any, on_message: Handler) -> WorkflowDefinition: ...


def workflow(
    *bare: Any, name: str, version: str, initial_state: Any, on_message: Handler | None = None
) -> WorkflowDefinition | Callable[[Handler], WorkflowDefinition]:
    """Define a workflow by its handler `async (ctx, state, message) -> WorkflowResult`.

    Without `on_message` it is a decorator. The step order of a version must not change while turns of it run.
    `bare` is there for `@workflow` without its arguments: Python then says which of them are missing.
    """
    refuse_bare(bare, "workflow")
    if on_message is not None:
        return WorkflowDefinition(name, version, initial_state, on_message)
    return lambda handler: WorkflowDefinition(name, version, initial_state, handler)


def accepted(returned: Any) -> WorkflowResult[Any]:
    """A handler's return value: a WorkflowResult, or a mapping with `state` and at most `result` and `continuation`.

    WorkflowError for anything else.
    """
    if isinstance(returned, WorkflowResult):
        result = returned
    elif isinstance(returned, Mapping) and "state" in returned and not returned.keys() - _FIELDS:
        result = WorkflowResult(**returned)
    else:
        raise WorkflowError(f"a handler returns WorkflowResult(state=...), not {_shown(returned)}")
    continuation = result.continuation
    if continuation is not None and not (isinstance(continuation, Mapping) and continuation.keys() == {"message"}):
        raise WorkflowError(f'a continuation is a mapping {{"message": ...}}, not {_shown(continuation)}')
    return result


_FIELDS = frozenset({"state", "result", "continuation"})


def _shown(value: Any) -> str:
    return f"a mapping with the keys {sorted(map(str, value))}" if isinstance(value, Mapping) else type(value).__name__
