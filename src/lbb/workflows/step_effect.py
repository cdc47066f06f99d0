"""An outside effect that a step declares, so that the ledger knows of it before it happens (ours)."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Literal

from lbb.workflows import limits
from lbb.workflows.errors import WorkflowError

TARGET_CHARS = 512
State = Literal["intended", "confirmed"]
Declare = Callable[[str, str, State], Awaitable[None]]


class StepEffect:
    """What `s.effect(kind, target)` gives.

    `async with` it on the loop, or `with` it in a step thread: the server has saved the intention when the block
    begins, and hears that it happened when the block ends without an exception. `await` it to declare only: the saved
    step then confirms it. An attempt that ends in between leaves it in doubt.
    """

    def __init__(self, kind: str, target: str, declare: Declare | None, loop: asyncio.AbstractEventLoop | None) -> None:
        """WorkflowError for a kind or target that the ledger does not take. Without `declare` nothing is told."""
        if not isinstance(kind, str) or not limits.NAME.match(kind):
            raise WorkflowError(f"the kind of an effect is 1 to 128 of A-Z a-z 0-9 _ . -, not {kind!r:.100}")
        if not isinstance(target, str) or not 0 < len(target) <= TARGET_CHARS:
            raise WorkflowError(f"the target of an effect is 1 to {TARGET_CHARS} characters, not {target!r:.100}")
        self._kind = kind
        self._target = target
        self._declare = declare
        self._loop = loop

    def __await__(self) -> Generator[Any, None, None]:
        return self._tell("intended").__await__()

    async def __aenter__(self) -> None:
        await self._tell("intended")

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            await self._tell("confirmed")

    def __enter__(self) -> None:
        self._tell_from_thread("intended")

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self._tell_from_thread("confirmed")

    async def _tell(self, state: State) -> None:
        if self._declare is not None:
            await self._declare(self._kind, self._target, state)

    def _tell_from_thread(self, state: State) -> None:
        if self._loop is None:
            return
        if self._is_on_loop():
            raise WorkflowError("on the event loop an effect is declared with `async with s.effect(...)`")
        asyncio.run_coroutine_threadsafe(self._tell(state), self._loop).result()

    def _is_on_loop(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:  # a thread without a loop
            return False
