"""From an error of Monty to what the author of the code reads."""

from pydantic_monty import Frame, MontyCrashedError, MontyError, MontyRuntimeError, MontySyntaxError

from turnbuckle.flow.sandbox import names
from turnbuckle.flow.sandbox.limits import Limit, SandboxLimits, breach_sentence
from turnbuckle.flow.sandbox.outcome import CodeError
from turnbuckle.flow.sandbox.program import Program

# Exceptions that code cannot raise by itself: their names are not in its namespace.
_LIMIT_OF: dict[type[BaseException], Limit] = {
    MemoryError: "memory",
    TimeoutError: "time",
    RecursionError: "recursion",
}
_FRAMES = 20
_MESSAGE_CHARACTERS = 4_000


def breached(limit: Limit, limits: SandboxLimits, line: int | None = None, traceback: str = "") -> CodeError:
    return CodeError("limit", "LimitReached", breach_sentence(limit, limits), line, traceback, limit)


def crashed(exc: MontyCrashedError, limits: SandboxLimits) -> CodeError:
    if exc.timed_out:
        return breached("time", limits)
    return CodeError("crashed", "SandboxCrashed", "The sandbox's process ended while it ran this code.")


def raised(exc: MontyError, program: Program, limits: SandboxLimits, limit: Limit | None) -> CodeError:
    """What the code raised, or the limit it met. `limit` is one that the host saw broken."""
    inner = exc.exception()
    frames = _own_frames(exc, program)
    line = frames[-1][0] if frames else None
    limit = limit or next((name for kind, name in _LIMIT_OF.items() if isinstance(inner, kind)), None)
    if limit is not None:
        return breached(limit, limits, line, _traceback(frames))
    kind, message = type(inner).__name__, str(inner)[:_MESSAGE_CHARACTERS]
    if isinstance(exc, MontySyntaxError) or _is_of_the_parser(exc):
        return CodeError("refused", "unsupported_syntax", message, line)
    kind = names.CARRIED.get(kind, kind)
    return CodeError("exception", kind, message, line, f"{_traceback(frames)}{kind}: {message}")


def _is_of_the_parser(exc: MontyError) -> bool:
    """Nothing ran yet, so no frame belongs to a function or to the module."""
    frames = exc.traceback() if isinstance(exc, MontyRuntimeError) else []
    return bool(frames) and all(frame.function_name is None for frame in frames)


def _own_frames(exc: MontyError, program: Program) -> list[tuple[int, Frame]]:
    """Frames in the author's code with their lines, outermost first; helpers of ours are left out."""
    if not isinstance(exc, (MontyRuntimeError, MontySyntaxError)):
        return []
    numbered = [(program.author_line(frame.line), frame) for frame in exc.traceback()]
    return [(line, frame) for line, frame in numbered if line is not None]


def _traceback(frames: list[tuple[int, Frame]]) -> str:
    if not frames:
        return ""
    lines = ["Traceback (most recent call last):"]
    if len(frames) > _FRAMES:
        lines.append(f"  ({len(frames) - _FRAMES} more)")
    lines += [f"  line {line}, in {frame.function_name or '<module>'}" for line, frame in frames[-_FRAMES:]]
    return "\n".join(lines) + "\n"
