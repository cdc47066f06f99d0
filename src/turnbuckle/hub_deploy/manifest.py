"""The manifest `workflow_blob_deployment`: which files make which definitions of a blob (blobhub 6.3).

type: workflow_blob_deployment
version: "1.0"
blob: acme/support-bot
revision: default
definitions:
  - alias: answer-question
    source: answer-question.json
    components:
      - name: Answer
        code: {base_path: code, entry_point: answer.py}
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from turnbuckle.hub.alias import is_alias, lenient_id
from turnbuckle.hub.document import PLAYGROUND, WORKFLOW
from turnbuckle.hub_deploy import files
from turnbuckle.hub_deploy.problem import DeployProblem

TYPE: Final = "workflow_blob_deployment"
SCHEDULER_TYPE: Final = "scheduler_blob_deployment"
VERSION: Final = "1.0"
DEFAULT: Final = "default"
CATEGORIES: Final = {"workflow": WORKFLOW, "playground": PLAYGROUND}


@dataclass(frozen=True)
class CodeBinding:
    base_path: Path
    entry_point: str  # relative to base_path


@dataclass(frozen=True)
class ValueBinding:
    source: Path


@dataclass(frozen=True)
class ComponentBinding:
    id: str | None  # exactly one of id and name
    name: str | None
    content: CodeBinding | ValueBinding | None

    @property
    def title(self) -> str:
        return self.id or self.name or ""


@dataclass(frozen=True)
class DefinitionEntry:
    alias: str
    source: Path
    category: str | None  # None: as the document's type says
    components: tuple[ComponentBinding, ...] = ()


@dataclass(frozen=True)
class BlobPlace:
    org: str | None  # None: of a bare name
    blob: str
    revision: str  # `default` or an id


@dataclass(frozen=True)
class Manifest:
    path: Path
    place: BlobPlace
    definitions: tuple[DefinitionEntry, ...]


def read(path: Path) -> Manifest:
    """DeployProblem MANIFEST_* | FORMAT_* | BLOB_REFERENCE_INVALID | DEFINITION_*."""
    top = read_top(path, TYPE, {"definitions"})
    definitions = top.items("definitions")
    if not definitions:
        raise top.wrong("definitions", "expected at least one")
    entries = tuple(_definition(item, path.parent) for item in definitions)
    aliases = [entry.alias for entry in entries]
    for index, entry in enumerate(entries):
        if entry.alias in aliases[:index]:
            raise top.wrong(f"definitions[{index}].alias", f"{entry.alias!r} stands twice")
    return Manifest(path, place_of(top), entries)


# -- what both types of manifest share -------------------------------------------------------------------------------


class Part:
    """A mapping of the manifest that knows where it stands, so that a problem can name the place."""

    def __init__(self, path: Path, where: str, value: Any, known: set[str]) -> None:
        self._path, self._where = path, where
        if not isinstance(value, Mapping):
            raise self.wrong("", f"got {type(value).__name__}, expected a mapping")
        self.value: Mapping[str, Any] = value
        unknown = sorted(str(key) for key in value if key not in known)
        if unknown:
            raise self.wrong(unknown[0], f"an unknown key; expected some of {', '.join(sorted(known))}")

    def wrong(self, key: str, what: str, code: str = "MANIFEST_INVALID") -> DeployProblem:
        place = ".".join(part for part in (self._where, key) if part)
        return DeployProblem(code, f"{self._path}: {place + ': ' if place else ''}{what}")

    def text(self, key: str) -> str:
        found = self.optional_text(key)
        if found is None:
            raise self.wrong(key, "missing")
        return found

    def optional_text(self, key: str) -> str | None:
        found = self.value.get(key)
        if found is None:
            return None
        if not isinstance(found, str) or not found.strip():
            raise self.wrong(key, f"got {found!r}, expected a text")
        return found

    def part(self, key: str, known: set[str]) -> "Part | None":
        return None if key not in self.value else self.at(key, self.value[key], known)

    def at(self, key: str, value: Any, known: set[str]) -> "Part":
        return Part(self._path, ".".join(part for part in (self._where, key) if part), value, known)

    def items(self, key: str) -> list["Item"]:
        found = self.value.get(key, [])
        if not isinstance(found, list):
            raise self.wrong(key, f"got {type(found).__name__}, expected a list")
        return [Item(self, f"{key}[{index}]", one) for index, one in enumerate(found)]


@dataclass(frozen=True)
class Item:
    """One of a list, not looked at yet."""

    of: Part
    where: str
    value: Any

    def part(self, known: set[str]) -> Part:
        return self.of.at(self.where, self.value, known)


def read_top(path: Path, expected: str, known: set[str]) -> Part:
    """The manifest's outermost mapping, of the expected type and version; they are looked at first."""
    if not path.exists():
        raise DeployProblem("MANIFEST_NOT_FOUND", f"there is no manifest {path}")
    content = files.read(path)
    given = content if isinstance(content, Mapping) else {}
    if given.get("type", expected) != expected:
        raise DeployProblem("MANIFEST_TYPE_MISMATCH", f"{path}: got the type {given['type']!r}, expected {expected}")
    if given.get("version", VERSION) != VERSION:
        what = f'{path}: got the version {given["version"]!r}, expected the text "{VERSION}"'
        raise DeployProblem("MANIFEST_VERSION_UNSUPPORTED", what)
    top = Part(path, "", content, {"type", "version", "blob", "revision"} | known)
    for key in ("type", "version"):
        top.text(key)
    return top


def place_of(top: Part) -> BlobPlace:
    org, blob = split_blob(top.text("blob"))
    revision = top.text("revision")
    if revision == "latest":
        raise top.wrong("revision", "`latest` is called `default` now")
    if revision != DEFAULT and lenient_id(revision) is None:
        raise top.wrong("revision", f"got {revision!r}, expected `{DEFAULT}` or the id of a revision")
    return BlobPlace(org, blob, revision)


def split_blob(text: str) -> tuple[str | None, str]:
    """`acme/support-bot` in its two parts; the first is None for a bare name. DeployProblem BLOB_REFERENCE_INVALID."""
    parts = text.split("/")
    if len(parts) > 2 or not all(part.strip() == part and part not in ("", ".", "..") for part in parts):
        raise DeployProblem("BLOB_REFERENCE_INVALID", f"got {text!r}, expected ORG/BLOB or BLOB")
    return (None, parts[0]) if len(parts) == 1 else (parts[0], parts[1])


# -- definitions -----------------------------------------------------------------------------------------------------


def _definition(item: Item, folder: Path) -> DefinitionEntry:
    part = item.part({"alias", "source", "category", "components"})
    alias, category = part.text("alias"), part.optional_text("category")
    if not is_alias(alias):
        raise part.wrong("alias", f"got {alias!r}", "DEFINITION_ALIAS_INVALID")
    if category not in (None, *CATEGORIES):
        raise part.wrong("category", f"got {category!r}", "DEFINITION_CATEGORY_UNKNOWN")
    source = folder / part.text("source")
    files.check_format(source)
    components = tuple(_component(one, folder) for one in part.items("components"))
    return DefinitionEntry(alias, source, category, components)


def _component(item: Item, folder: Path) -> ComponentBinding:
    part = item.part({"id", "name", "code", "value"})
    component_id, name = part.optional_text("id"), part.optional_text("name")
    if (component_id is None) == (name is None):
        raise part.wrong("", "expected exactly one of `id` and `name`")
    if "code" in part.value and "value" in part.value:
        raise part.wrong("", "expected at most one of `code` and `value`")
    return ComponentBinding(component_id, name, _content(part, folder))


def _content(part: Part, folder: Path) -> CodeBinding | ValueBinding | None:
    code = part.part("code", {"base_path", "entry_point"})
    if code is not None:
        return CodeBinding(folder / code.text("base_path"), code.text("entry_point"))
    value = part.part("value", {"source"})
    return None if value is None else ValueBinding(folder / value.text("source"))


def category_of(entry: DefinitionEntry, document: Any | None) -> str:
    """As written, else by the type of the document, else `workflow`.

    DeployProblem MANIFEST_INVALID when both say something and not the same, DEFINITION_CATEGORY_UNKNOWN for a document
    of another type.
    """
    if document is None:
        return entry.category or "workflow"
    kind = document.get("type") if isinstance(document, Mapping) else None
    found = next((category for category, type_ in CATEGORIES.items() if type_ == kind), None)
    if found is None:
        what = f"{entry.source}: got the type {kind!r}, expected one of {', '.join(CATEGORIES.values())}"
        raise DeployProblem("DEFINITION_CATEGORY_UNKNOWN", what)
    if entry.category not in (None, found):
        what = f"{entry.alias}: the category is {entry.category}, and {entry.source} is a {found}"
        raise DeployProblem("MANIFEST_INVALID", what)
    return found
