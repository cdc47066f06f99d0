"""Times, sizes and the state of an instance in plain words. Shapes are those of the API's answers."""

import datetime
from collections.abc import Mapping
from typing import Any

from turnbuckle.cli.output import short

Json = Mapping[str, Any]
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_ERROR_WIDTH = 200
_FRESH_MS = 15_000  # a worker with a free slot claims at least every 10 s, the most that a claim waits


def clock(at_ms: int, now_ms: int) -> str:
    """The local time of day, with the date when it is not today's."""
    at, now = (datetime.datetime.fromtimestamp(ms / 1_000) for ms in (at_ms, now_ms))
    return at.strftime("%H:%M:%S" if at.date() == now.date() else "%Y-%m-%d %H:%M:%S")


def age(span_ms: int) -> str:
    """A span in its largest unit: `340 ms`, `12 s`, `3 min`, `2 h`, `5 d`. Clocks that differ give no negative one."""
    if span_ms < 1_000:
        return f"{max(span_ms, 0)} ms"
    seconds = span_ms // 1_000
    size, unit = next((size, unit) for size, unit in _UNITS if seconds >= size)
    return f"{seconds // size} {unit}"


def size(size_bytes: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.1f} {name}"
    return f"{size_bytes} bytes"


def amount(progress: Json) -> str:
    """`index: 340 of 1,200 pages (28 %)`."""
    total, unit = progress.get("total"), progress.get("unit")
    done = f"{progress['done']:,}"
    of = "" if total is None else f" of {total:,}"
    share = "" if not total else f" ({100 * progress['done'] // total} %)"
    return f"{progress['phase']}: {done}{of}{'' if unit is None else ' ' + unit}{share}"


def why(instance: Json, served: Json) -> str:
    """What the instance does or waits for, and who can end that. `served` is the answer of GET .../served."""
    now_ms, turn = served["now_ms"], instance.get("current_turn")
    if instance["status"] == "paused":
        return f"paused by a person; `turnbuckle resume {instance['id']}` goes on"
    if turn is None:
        return "nothing to do: its inbox is empty"
    if turn["status"] == "running":
        return _runs(instance, turn, now_ms)
    if turn["status"] == "failed":
        return f"turn {turn['number']} failed for good: {error(turn)}; retry or skip it"
    if turn["ready_at_ms"] > now_ms:
        return _waits(turn, now_ms)
    return _is_ready(instance, turn, served)


def _runs(instance: Json, turn: Json, now_ms: int) -> str:
    operation = turn.get("operation")
    what = "between steps" if operation is None else f'step "{operation["key"]}"'
    return f"worker {turn['worker']} runs turn {turn['number']}, {what}; {_sign_of_life(instance, turn, now_ms)}"


def _sign_of_life(instance: Json, turn: Json, now_ms: int) -> str:
    if is_silent(instance, now_ms):
        lease = f"its lease ends in {age(turn['deadline_ms'] - now_ms)}"
        return f"no sign of life since {clock(heard_ms(instance), now_ms)}, {lease}"
    return f"last sign of life {age(now_ms - heard_ms(instance))} ago"


def heard_ms(instance: Json) -> int:
    """When the holder of the running turn was last heard: each heartbeat sets the lease anew."""
    heard: int = instance["current_turn"]["deadline_ms"] - instance["lease_ms"]
    return heard


def is_silent(instance: Json, now_ms: int) -> bool:
    """Whether heartbeats are missing: a worker sends one each third of the lease."""
    lease_ms: int = instance["lease_ms"]
    return now_ms - heard_ms(instance) > lease_ms // 2


def _waits(turn: Json, now_ms: int) -> str:
    until = f"until {clock(turn['ready_at_ms'], now_ms)}"
    last = turn["steps"][-1] if turn["steps"] else None
    if last is not None and last.get("wake_at_ms") == turn["ready_at_ms"]:
        if last["kind"] == "signal":
            return f'waits for signal "{last["signal_name"]}" of turn {turn["number"]}, {until}'
        return f'sleeps {until} (step "{last["key"]}")'
    if turn.get("wait") is not None:
        return f"waits {until}, without counting an attempt: {error(turn)}"
    return f"attempt {turn['attempt']} failed, tries again at {clock(turn['ready_at_ms'], now_ms)}: {error(turn)}"


def _is_ready(instance: Json, turn: Json, served: Json) -> str:
    now_ms, pair = served["now_ms"], f"{instance['workflow_type']}@{instance['version']}"
    ready = f"turn {turn['number']} has been ready since {clock(turn['ready_at_ms'], now_ms)}"
    claim = next((one for one in served["pairs"] if f"{one['workflow_type']}@{one['version']}" == pair), None)
    if claim is None:
        since = f"the server started at {clock(served['since_ms'], now_ms)}"
        return f"{ready}; no worker for {pair} has claimed since {since}"
    claimed = clock(claim["claimed_at_ms"], now_ms)
    if claim["waiting"] == 0 and now_ms - claim["claimed_at_ms"] > _FRESH_MS:
        return f"{ready}; no worker for {pair} has claimed since {claimed}"
    return f"{ready}; worker {claim['worker']} claims {pair}, last at {claimed}"


def attempt(turn: Json) -> str:
    return "no attempt yet" if turn["attempt"] == 0 else f"attempt {turn['attempt']}"


def error(turn: Json) -> str:
    return short(turn.get("error") or "no reason given", _ERROR_WIDTH)
