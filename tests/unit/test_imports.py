"""The arrows between the rooms of `src` (docs/explanation/architecture.md), as one table."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"

# What each room may import besides the standard library and itself. The most specific row counts.
ARROWS: dict[str, set[str]] = {
    "turnbuckle.wire": {"msgspec"},
    "turnbuckle.engine": {"turnbuckle.wire", "msgspec"},
    "turnbuckle.graph": {"turnbuckle.wire", "msgspec", "blake3", "cronsim"},
    "turnbuckle.hub": {"turnbuckle.wire", "msgspec"},
    "turnbuckle.sparql": {"turnbuckle.graph.projection", "msgspec", "pyoxigraph"},
    "turnbuckle.store": {
        "turnbuckle.engine",
        "turnbuckle.graph",
        "turnbuckle.hub",
        "turnbuckle.wire",
        "turnbuckle.migrations",
        "apsw",
        "msgspec",
        "psycopg",
        "psycopg_pool",
    },
    "turnbuckle.migrations": set(),
    "turnbuckle.models": {
        "turnbuckle.wire",
        "httpx",
        "jsonschema",
        "msgspec",
        "pydantic",  # its regular expressions match in linear time
        "pydantic_core",
        "referencing",
        "safetensors",
        "tokenizers",
    },
    "turnbuckle.outside": {"httpx", "msgspec"},
    "turnbuckle.operations": {
        "turnbuckle.store",
        "turnbuckle.engine",
        "turnbuckle.graph",
        "turnbuckle.hub",
        "turnbuckle.wire",
        "msgspec",
    },
    "turnbuckle.http": {
        "turnbuckle.operations",
        "turnbuckle.models",  # a model is called between two operations
        "turnbuckle.outside",  # and so is a host
        "httpx",  # its URLs
        "turnbuckle.sparql",
        "turnbuckle.graph.projection",  # the number of a point
        "turnbuckle.wire",
        "turnbuckle.config",
        # It hands operations to the database and waits for what they announce; it sees no rows and no statements.
        "turnbuckle.store.database",
        "turnbuckle.store.transaction",
        "turnbuckle.store.key.Grant",
        "turnbuckle.store.migrate",  # the number of the format, for /version
        "msgspec",
        "uvicorn",  # its protocol, made to bound what it reads and to write at once
    },
    "turnbuckle.flow": {"turnbuckle.hub", "turnbuckle.wire", "lbb", "httpx", "msgspec"},
    "turnbuckle.flow.sandbox": {"pydantic_monty"},
    "turnbuckle.hub_deploy": {
        "turnbuckle.hub",
        "turnbuckle.flow.sandbox.names",  # what code finds there, and how names are looked up
        "turnbuckle.flow.sandbox.scopes",
        "yaml",
    },
    # The modules at the top compose the rooms; the two below also use the SDK as a user would.
    "turnbuckle": {"msgspec", "uvicorn"},
    "turnbuckle.testing": {"turnbuckle", "lbb", "httpx"},
    "turnbuckle.cli": {"turnbuckle", "lbb", "blobhub", "httpx", "click", "rich", "uvicorn", "watchfiles"},
    "lbb": {"httpx", "pydantic", "aiohttp", "blake3", "certifi", "yarl"},
    "blobhub": {"httpx", "yaml"},
}
SDKS = ("lbb", "blobhub")
DISTRIBUTIONS = {"yaml": "PyYAML"}  # where it is not called as the import is


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SRC.rglob("*.py")):
        yield ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"), path


def room_of(module: str) -> str:
    return max((room for room in ARROWS if _within(module, room)), key=len)


def imports_of(path: Path, module: str) -> Iterator[str]:
    """Dotted names the file imports, also inside functions and under TYPE_CHECKING."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively; write the whole name"
            # `from turnbuckle import wire` names a room, `from turnbuckle import __version__` does not.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_allowed(imported: str, room: str) -> bool:
    if imported.split(".")[0] in sys.stdlib_module_names or _within(imported, room):
        return True
    if _is_fact(imported):
        return room not in SDKS
    return any(_within(imported, allowed) for allowed in ARROWS[room])


def _within(module: str, room: str) -> bool:
    return module == room or module.startswith(room + ".")


def _is_fact(imported: str) -> bool:
    """A constant of the package itself, such as `turnbuckle.__version__`, that every room of it may read."""
    package, _, name = imported.partition(".")
    return package == "turnbuckle" and (name.isupper() or name.endswith("__"))


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=str)
def test_imports_follow_the_arrows(module: str, path: Path) -> None:
    """wire <- engine <- store <- operations <- http; an SDK imports neither the server nor the other SDK."""
    room = room_of(module)

    strangers = [imported for imported in imports_of(path, module) if not is_allowed(imported, room)]

    assert strangers == [], f"{room} may import {sorted(ARROWS[room])}"


@pytest.mark.parametrize(
    ("imported", "room"),
    [
        ("turnbuckle.store.turn", "turnbuckle.engine"),
        ("turnbuckle.http.app", "turnbuckle.operations"),
        ("lbb.client", "turnbuckle.http"),
        ("turnbuckle.wire", "lbb"),
        ("turnbuckle.__version__", "lbb"),
        ("turnbuckle.hub", "blobhub"),
        ("turnbuckle.__version__", "blobhub"),
        ("lbb.errors", "blobhub"),
        ("blobhub.errors", "lbb"),
        ("starlette.routing", "turnbuckle.engine"),
    ],
)
def test_an_import_against_the_arrows_is_seen(imported: str, room: str) -> None:
    assert not is_allowed(imported, room)


def test_the_sdks_declare_what_they_import() -> None:
    """A package that only comes along with another may stop coming along."""
    project = tomllib.loads((SRC.parent / "pyproject.toml").read_text("utf-8"))["project"]

    declared = {re.split(r"[^\w-]", line)[0] for line in project["dependencies"]}

    assert declared == {DISTRIBUTIONS.get(name, name) for sdk in SDKS for name in ARROWS[sdk]}


def test_every_room_exists() -> None:
    """A row for a room that is gone would guard nothing."""
    rooms = {room_of(module) for module, _ in modules()}

    assert set(ARROWS) <= rooms
