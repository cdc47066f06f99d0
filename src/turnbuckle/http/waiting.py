"""The waiting room of long polls: who waits for which topic, and who is told when it is there.

One ready turn wakes one waiter; everybody who waits for a turn's end is told. A waiter that leaves without having used
its call passes it on, so no wake-up is lost with a closed connection.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from turnbuckle.store.transaction import Announcement, Topic

_READY = "ready"


class Waiter:
    def __init__(self, topics: list[Topic]) -> None:
        self.topics = topics
        self.called: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def call(self) -> None:
        if not self.called.done():
            self.called.set_result(None)


class WaitingRoom:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiters: dict[Topic, OrderedDict[Waiter, None]] = {}
        self._timers: dict[Topic, asyncio.TimerHandle] = {}
        self._followers: list[Callable[[list[Announcement]], None]] = []
        self.is_closed = False

    def follow(self, follower: Callable[[list[Announcement]], None]) -> None:
        """Tell it of everything that is announced, on the loop; it does nothing but take a note."""
        self._followers.append(follower)

    def announce(self, announcements: list[Announcement], now_ms: int) -> None:
        """Call those who wait for what is there now; set an alarm for what will be."""
        for follower in self._followers:
            follower(announcements)
        for topic, at_ms in announcements:
            if topic not in self._waiters:
                continue
            if at_ms <= now_ms:
                self._call(topic)
            else:
                self.expect(topic, at_ms - now_ms)

    def expect(self, topic: Topic, in_ms: int) -> None:
        """Call one waiter of the topic in that time, unless an earlier alarm is set."""
        at = self._loop.time() + in_ms / 1_000
        timer = self._timers.get(topic)
        if timer is not None and timer.when() <= at:
            return
        if timer is not None:
            timer.cancel()
        self._timers[topic] = self._loop.call_at(at, self._ring, topic)

    def enter(self, topics: list[Topic]) -> Waiter:
        waiter = Waiter(topics)
        for topic in topics:
            self._waiters.setdefault(topic, OrderedDict())[waiter] = None
        if self.is_closed:
            waiter.call()
        return waiter

    def count(self, topic: Topic) -> int:
        """How many wait for the topic."""
        return len(self._waiters.get(topic, ()))

    def leave(self, waiter: Waiter, *, used_call: bool) -> None:
        """`used_call`: what the waiter was called for is in its hands."""
        for topic in waiter.topics:
            others = self._waiters[topic]
            others.pop(waiter, None)
            if not others:
                del self._waiters[topic]
                if (timer := self._timers.pop(topic, None)) is not None:
                    timer.cancel()
        if waiter.called.done() and not used_call:
            self.call_another(waiter.topics)

    def call_another(self, topics: list[Topic]) -> None:
        """Somebody else may find more of what is ready."""
        for topic in topics:
            if topic[0] == _READY:
                self._call(topic)

    def close(self) -> None:
        """The server stops: everybody goes home."""
        self.is_closed = True
        for waiters in list(self._waiters.values()):
            for waiter in list(waiters):
                waiter.call()

    def _ring(self, topic: Topic) -> None:
        self._timers.pop(topic, None)
        self._call(topic)

    def _call(self, topic: Topic) -> None:
        waiters = self._waiters.get(topic, OrderedDict())
        if topic[0] != _READY:
            for waiter in list(waiters):
                waiter.call()
            return
        for waiter in waiters:
            if not waiter.called.done():
                waiter.call()
                return
