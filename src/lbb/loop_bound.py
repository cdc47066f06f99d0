"""One resource per running event loop, for a client that is used from one loop after another (decision 24)."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Resource = TypeVar("Resource")


@dataclass(frozen=True, slots=True)
class _Held(Generic[Resource]):
    resource: Resource
    guard: AsyncGenerator[None, None]


class LoopBound(Generic[Resource]):
    """Opens a resource at its first use in a loop and closes it with that loop.

    How it learns of a loop's end: `asyncio.run` finishes the loop's async generators before it closes the loop, and
    each resource is guarded by one. A loop that was closed without that has its resource forgotten by `forget`.
    """

    def __init__(
        self,
        open_resource: Callable[[], Resource],
        close: Callable[[Resource], Awaitable[None]],
        forget: Callable[[Resource], None],
    ) -> None:
        self._open = open_resource
        self._close = close
        self._forget = forget
        self._held: dict[asyncio.AbstractEventLoop, _Held[Resource]] = {}

    async def current(self) -> Resource:
        """The resource of the running loop."""
        held = self._held.get(asyncio.get_running_loop())
        return (await self._opened()).resource if held is None else held.resource

    async def aclose(self) -> None:
        """Close the running loop's resource, and let every other loop close its own when it comes to it."""
        while self._held:
            loop, held = self._held.popitem()
            if loop is asyncio.get_running_loop():
                await held.guard.aclose()
            elif loop.is_closed():
                self._forget(held.resource)
            # Else the loop runs in another thread, or stands still. A guard that nobody refers to any more is finished
            # by its loop, in that loop's thread. Proof: test_closing_reaches_the_loop_of_another_thread.

    async def _opened(self) -> _Held[Resource]:
        # A worker's heartbeat thread may open its own at the same moment: copy in one step, forget each loop once.
        for loop in [loop for loop in list(self._held) if loop.is_closed()]:
            if (ended := self._held.pop(loop, None)) is not None:
                self._forget(ended.resource)
        resource = self._open()
        held = _Held(resource, _guard(resource, self._close))
        self._held[asyncio.get_running_loop()] = held
        await anext(held.guard)  # runs to its yield without suspending, so no second task opens another
        return held


async def _guard(resource: Resource, close: Callable[[Resource], Awaitable[None]]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await close(resource)
