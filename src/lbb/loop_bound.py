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
        """Close all resources, those of loops in other threads too."""
        while self._held:
            loop, held = self._held.popitem()
            if loop is asyncio.get_running_loop():
                await held.guard.aclose()
            elif loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_finish(held.guard), loop))
            elif loop.is_closed():
                self._forget(held.resource)
            # Else its loop stands still; the guard, no longer referred to, closes the resource when it goes on.

    async def _opened(self) -> _Held[Resource]:
        for loop in [loop for loop in self._held if loop.is_closed()]:
            self._forget(self._held.pop(loop).resource)
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


async def _finish(guard: AsyncGenerator[None, None]) -> None:
    await guard.aclose()
