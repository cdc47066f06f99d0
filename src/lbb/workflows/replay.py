"""Which step of a turn is replayed and which runs: the saved steps go in, four answers come out (lbb-engine 5.5).

No I/O, no clock. Steps are compared by position, key and log kind. The first refusal is kept: a turn whose code broke
a rule cannot complete, whatever its handler catches.
"""

from dataclasses import dataclass
from typing import Any, Literal

from lbb.workflows import limits

LogKind = Literal["step", "sleep", "signal"]


@dataclass(frozen=True, slots=True)
class Saved:
    """The step was saved by an earlier attempt: return its output and run nothing."""

    output: Any


@dataclass(frozen=True, slots=True)
class Run:
    """The step is new: run it, then call `save`."""

    position: int


@dataclass(frozen=True, slots=True)
class Park:
    """The sleep or the signal wait is new: ask the server, which lets the turn go or has the signal already."""

    position: int


@dataclass(frozen=True, slots=True)
class Diverged:
    """The code does not do what the saved steps say, or breaks a rule: the turn fails for good."""

    reason: str


class Replay:
    """The steps of one turn in one attempt.

    `saved` is the turn's log as the task brought it: mappings with `key`, `kind`, `output`, `delay_ms`, `signal_name`.
    `begun_key` is the step that an earlier attempt had begun and not saved.
    """

    def __init__(self, saved: list[dict[str, Any]], begun_key: str | None = None) -> None:
        self._saved = saved
        self._logged = len(saved)
        self._positions = {step["key"]: position for position, step in enumerate(saved)}
        self._gap_ran = begun_key is not None and begun_key not in self._positions
        self._calls = 0
        self._open: str | None = None  # the new step that is not saved
        self._open_failed = False
        self._broken: str | None = None

    @property
    def is_replaying(self) -> bool:
        """Whether the code now running ran in an earlier attempt already.

        True until the last logged step was asked for. A step that an earlier attempt had begun shows that the code
        before it ran as well.
        """
        if self._calls < self._logged:
            return True
        return self._gap_ran and self._calls == self._logged

    def step(self, key: str) -> Saved | Run | Diverged:
        answer = self._ask(key, "step", None, None)
        return answer if answer is not None else Run(self._begin(key))

    def sleep(self, key: str, delay_ms: int) -> Saved | Park | Diverged:
        answer = self._ask(key, "sleep", delay_ms, None)
        return answer if answer is not None else Park(self._begin(key))

    def wait_for_signal(self, key: str, name: str, timeout_ms: int) -> Saved | Park | Diverged:
        answer = self._ask(key, "signal", timeout_ms, name)
        return answer if answer is not None else Park(self._begin(key))

    def save(self, key: str) -> None:
        """The new step `key` is saved: the code may ask for the next."""
        self._open = None
        self._positions[key] = self._calls - 1

    def fail(self) -> None:
        """The new step raised. Its position is used and never saved, so the turn cannot complete any more."""
        self._open_failed = True

    def break_off(self, reason: str) -> None:
        """A rule was broken outside of the log, for instance by a bad argument. The first reason is kept."""
        self._broken = self._broken or reason

    def unfinished(self) -> str | None:
        """Why a turn whose handler has returned cannot complete; None when it can."""
        if self._broken is not None:
            return self._broken
        if self._open is not None:
            return self._open_reason()
        if self._calls < self._logged:
            return (
                f"the handler returned after {self._calls} step calls, but the turn has {self._logged} saved steps; "
                f"step {self._calls + 1} is {_named(self._saved[self._calls])}: the step order changed. {_HINT}"
            )
        return None

    def _ask(self, key: str, kind: LogKind, delay_ms: int | None, name: str | None) -> Saved | Diverged | None:
        reason = self._refusal(key)
        if reason is None and self._calls < self._logged:
            saved = self._saved[self._calls]
            reason = _difference(self._calls, saved, key, kind, delay_ms, name)
            if reason is None:
                self._calls += 1
                return Saved(saved.get("output"))
        elif reason is None and key in self._positions:
            reason = (
                f'step key "{key}" is used twice in one turn: it is step {self._positions[key] + 1} and is asked for '
                f"again as step {self._calls + 1}. Give each step of a turn its own key"
            )
        if reason is None:
            return None
        self.break_off(reason)
        return Diverged(reason)

    def _refusal(self, key: str) -> str | None:
        """Why no step may be asked for now, whatever the log says."""
        if self._broken is not None:
            return self._broken
        if self._open is not None:
            return self._open_reason(key)
        if not limits.NAME.match(key):
            return f"a step key is 1 to 128 of A-Z a-z 0-9 _ . -, not {key!r:.150}"
        if self._calls >= limits.STEPS_PER_TURN:
            return (
                f'step "{key}" would be step {self._calls + 1} of the turn, which holds at most '
                f"{limits.STEPS_PER_TURN}: return ctx.continue_(state, message) to go on in another turn"
            )
        return None

    def _open_reason(self, key: str | None = None) -> str:
        then = f'asked for step "{key}"' if key is not None else "returned"
        if self._open_failed:
            return (
                f'step "{self._open}" failed, and the handler went on and {then}: let the exception of a step leave '
                "the handler, or catch it inside the step's function and return a value that says so"
            )
        return f'the handler {then} while step "{self._open}" ran: await the steps of a turn one after the other'

    def _begin(self, key: str) -> int:
        position = self._calls
        self._calls += 1
        self._open = key
        return position


_HINT = (
    "While turns of a version run, its step order must stay: serve the new order as a new version, and the old one "
    "until its turns are finished, or skip this turn"
)


def _difference(
    position: int, saved: dict[str, Any], key: str, kind: LogKind, delay_ms: int | None, name: str | None
) -> str | None:
    wanted = {"key": key, "kind": kind, "delay_ms": delay_ms, "signal_name": name}
    if all(saved.get(field) == value for field, value in wanted.items()):
        return None
    return (
        f"step {position + 1} was saved as {_named(saved)}, the code now asks for {_named(wanted)}: "
        f"the step order changed. {_HINT}"
    )


def _named(step: dict[str, Any]) -> str:
    """`"approve" (signal "approval", 5000 ms)`"""
    kind = str(step.get("kind"))
    name = f' "{step["signal_name"]}"' if step.get("signal_name") is not None else ""
    delay = f", {step['delay_ms']} ms" if step.get("delay_ms") is not None else ""
    return f'"{step["key"]}" ({kind}{name}{delay})'
