"""SIGTERM and SIGINT while `WorkflowWorker.run` serves (lbb-engine 5.10). Only the main thread can have them."""

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_signals(
    loop: asyncio.AbstractEventLoop, *, drain: Callable[[], None], release: Callable[[], None]
) -> Iterator[None]:
    """SIGTERM drains, a second one releases; SIGINT releases, one more raises KeyboardInterrupt.

    The handlers before are restored at the end. Off the main thread nothing is installed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    counts = {signal.SIGTERM: 0, signal.SIGINT: 0}

    def on_signal(number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number)
        counts[name] += 1
        if name is signal.SIGTERM and counts[name] == 1 and not counts[signal.SIGINT]:
            drain()
        elif name is signal.SIGINT and counts[name] > 1:
            raise KeyboardInterrupt
        else:
            release()

    before = {name: signal.getsignal(name) for name in counts}
    with _woken_by_signals(loop):
        try:
            for name in counts:
                signal.signal(name, on_signal)
            yield
        finally:
            for name, handler in before.items():
                signal.signal(name, handler if handler is not None else signal.SIG_DFL)


@contextmanager
def _woken_by_signals(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Let each signal wake the loop.

    The system may hand a signal to any thread. Its Python handler runs in the main one, but a loop that waits for its
    sockets there would not notice.
    Proof: test_a_signal_that_another_thread_takes_is_heard.
    """
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        try:
            loop.add_reader(reader, reader.recv, 4096)
        except NotImplementedError:  # the loop of Windows, which does this by itself
            yield
            return
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(reader)
