"""Names of instances that belong to a named workflow: `starter.<name>`, its shards and its fan-in (lbb-engine 8.1)."""

import re

_IDENTITY = re.compile(r"starter\.(?P<name>[^.]+)(?:\.(?P<rest>[^.]+))?\Z")
_SHARD = re.compile(r"[1-9][0-9]*\Z")
_FAN_IN = re.compile(r"[a-z][a-z0-9-]{0,30}\Z")


def workflow_of_identity(id: str) -> str | None:
    """The named workflow an instance works for: `starter.notes`, `starter.notes.2` and `starter.notes.sum` -> `notes`.

    None for any other id, also for shard numbers with a leading zero.
    """
    match = _IDENTITY.match(id)
    if match is None:
        return None
    rest = match["rest"]
    if rest is None or _SHARD.match(rest) or _FAN_IN.match(rest):
        return match["name"]
    return None


def fan_in_identity(name: str, fan_in: str) -> str:
    """The instance that the shards of a named workflow send to.

    ValueError when `fan_in` is not a lower-case letter followed by at most 30 of lower-case letters, digits, hyphen.
    """
    if not _FAN_IN.match(fan_in):
        raise ValueError(
            f"fan_in must be a lower-case letter and up to 30 of lower-case letters, digits, hyphen: got {fan_in!r}"
        )
    return f"starter.{name}.{fan_in}"


def is_fan_in_identity(id: str) -> bool:
    """Whether `id` is a fan-in instance (`starter.<name>.<word>`), not a shard."""
    match = _IDENTITY.match(id)
    return match is not None and match["rest"] is not None and _FAN_IN.match(match["rest"]) is not None
