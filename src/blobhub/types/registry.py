"""Which module is for which type of blob. They are imported when they are needed."""

from importlib import import_module

from blobhub.types.typed_module import TypedModule

_MODULES: dict[str, tuple[str, str]] = {
    "blobhub.compute.workflow": ("blobhub.types.workflow", "Workflow"),
}


def registered() -> dict[str, tuple[str, str]]:
    """A copy of the map: type of blob -> (module, name of the class)."""
    return dict(_MODULES)


def resolve(blob_type: str) -> type[TypedModule] | None:
    """The typed module of this type of blob; None when there is none."""
    if blob_type not in _MODULES:
        return None
    module, name = _MODULES[blob_type]
    found: type[TypedModule] = getattr(import_module(module), name)
    return found
