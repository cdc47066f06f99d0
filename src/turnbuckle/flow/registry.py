"""Which function runs a component type: ours, and those of packages (blobhub 5.3, decision 51).

A package gives the entry point group `turnbuckle.components` an object with `type`, a `ComponentType`, and
`async run(context) -> Outcome`. Both the server and the runner load them at their start.
"""

import importlib.metadata
import logging
from typing import Final

from turnbuckle.flow.components import BUILT_IN
from turnbuckle.flow.context import ComponentRun
from turnbuckle.flow.failures import RunFailed
from turnbuckle.hub.catalogue import CATALOGUE, ENTRY_POINTS, ComponentType, register

log = logging.getLogger("turnbuckle.flow")
RUNS: Final[dict[str, ComponentRun]] = dict(BUILT_IN)


def component_run(type: str) -> ComponentRun:
    """RunFailed for a type that the catalogue has and this worker cannot run."""
    found = RUNS.get(type)
    if found is None:
        raise RunFailed("unknown_component_type", f"this worker has nothing that runs the component type {type!r}")
    return found


def add_component(type: ComponentType, run: ComponentRun) -> None:
    """ValueError for a type that is taken or malformed."""
    if type.type not in CATALOGUE:
        register(type)
    elif CATALOGUE[type.type] != type or type.type in RUNS:
        raise ValueError(f"component type {type.type!r} is registered already")
    RUNS[type.type] = run


def load_entry_points() -> None:
    """Those of all installed packages, once. A package that cannot be loaded costs its own components only."""
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        try:
            found = entry.load()
            if found.type.type not in RUNS:
                add_component(found.type, found.run)
        except Exception:
            log.exception("the components of entry point %s = %s are left out", entry.name, entry.value)
