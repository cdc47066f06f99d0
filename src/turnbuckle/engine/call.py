"""A call of a model as the log keeps it. Source: lbb-graph 3.6."""

import json

import msgspec

from turnbuckle.wire import limits


class Call(msgspec.Struct, frozen=True):
    graph_id: str
    id: str
    at_ms: int
    job: str
    provider: str
    model: bytes
    error: bytes | None
    summary: bytes
    is_test: int
    workflow: str | None
    instance_id: str | None
    turn: int | None
    run_id: bytes | None
    step: str | None
    instance: bytes | None
    tokens_in: int
    tokens_out: int
    cost_micro_usd: int
    ms: int
    input: bytes
    output: bytes
    truncated: int


def call_id(at_ms: int, random: str) -> str:
    """Ids sort by time."""
    return f"call_{at_ms:013d}_{random}"


def bounds(from_ms: int, until_ms: int) -> tuple[str, str]:
    """Ids of the calls in [from, until) are between these."""
    return call_id(from_ms, ""), call_id(until_ms, "")


def cut(value: bytes) -> tuple[bytes, bool]:
    """A JSON value as the log keeps it, and whether it is only the start of its text."""
    if len(value) <= limits.CALL_BYTES:
        return value, False
    text = value.decode(errors="replace")
    most = limits.CALL_BYTES // 2
    while len(start := json.dumps(text[:most], ensure_ascii=False).encode()) > limits.CALL_BYTES:
        most = most * 2 // 3  # escapes and other scripts take more bytes than characters
    return start, True


def summary(label: str | None, text: str) -> str:
    """One line that tells calls apart: the label, then how the input begins."""
    line = " ".join(text[: 4 * limits.CALL_SUMMARY_CHARS].split())
    whole = f"{label}: {line}" if label else line
    return whole if len(whole) <= limits.CALL_SUMMARY_CHARS else whole[: limits.CALL_SUMMARY_CHARS - 1] + "…"
