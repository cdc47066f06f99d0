"""docs/reference/limits.md"""

import inspect
import re

from reference_pages.markdown import generated_from, table
from turnbuckle.wire import limits


def limits_page() -> str:
    """One table per group of `turnbuckle.wire.limits`, in its order and with its comments."""
    groups = "".join(
        f"\n## {group}\n\n" + table(("limit", "value", "name", ""), rows) for group, rows in _limit_groups().items()
    )
    return (
        generated_from("turnbuckle.wire.limits")
        + "# Limits\n\n"
        + "Sizes are bytes of UTF-8 JSON as it came.\n"
        + "Two numbers are the least and the most.\n"
        + "What is over a size is refused with [`payload_too_large`](errors.md#payload_too_large), "
        + "what is out of range with [`invalid_param`](errors.md#invalid_param).\n"
        + groups
    )


def _limit_groups() -> dict[str, list[tuple[str, str, str, str]]]:
    groups: dict[str, list[tuple[str, str, str, str]]] = {}
    rows: list[tuple[str, str, str, str]] = []
    for line in inspect.getsource(limits).splitlines():
        if heading := re.fullmatch(r"# (\w.*)", line):
            rows = groups.setdefault(heading[1], [])
        elif found := re.fullmatch(r"([A-Z_]+) = .*?(?:  # (.*))?", line):
            rows.append((_words(found[1]), _amount(found[1]), f"`{found[1]}`", found[2] or ""))
    return groups


def _words(name: str) -> str:
    return re.sub(r"_(ms|bytes|chars|pattern)$", "", name.lower()).replace("_", " ")


def _amount(name: str) -> str:
    value = getattr(limits, name)
    return " to ".join(_with_unit(name, part) for part in (value if isinstance(value, tuple) else (value,)))


def _with_unit(name: str, value: int | str) -> str:
    if isinstance(value, str):
        return f"`{value}`"
    units: tuple[tuple[int, str], ...] = ()
    if name.endswith("_BYTES"):
        units = ((limits.MIB, "MiB"), (limits.KIB, "KiB"))
    elif name.endswith("_MS"):
        units = (
            (limits.DAY_MS, "d"),
            (limits.HOUR_MS, "h"),
            (limits.MINUTE_MS, "min"),
            (limits.SECOND_MS, "s"),
            (1, "ms"),
        )
    elif name.endswith("_CHARS"):
        units = ((1, "characters"),)
    for size, unit in units:
        if value >= size and value % size == 0:
            return f"{value // size:,} {unit}"
    return f"{value:,}"
