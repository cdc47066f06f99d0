"""What can be wrong, each code once, with what to do about it (blobhub 6.6)."""

from dataclasses import dataclass
from typing import Final

HINTS: Final[dict[str, str]] = {
    "MANIFEST_NOT_FOUND": "Name the manifest with -f.",
    "MANIFEST_INVALID": "Correct the place that the message names.",
    "MANIFEST_TYPE_MISMATCH": "Use the command for this type of manifest.",
    "MANIFEST_VERSION_UNSUPPORTED": 'Write version: "1.0".',
    "FORMAT_UNSUPPORTED": "Use a file that ends in .json, .yaml or .yml.",
    "FORMAT_PARSE_ERROR": "Correct the file; the message tells where it cannot be read.",
    "SOURCE_NOT_FOUND": "Create the file, or correct its path; `turnbuckle hub pull` writes a definition's.",
    "BLOB_REFERENCE_INVALID": "Write ORG/BLOB.",
    "DEFINITION_ALIAS_INVALID": "Use 6 to 42 of a-z, 0-9, _ and -, and not the form of an id.",
    "DEFINITION_CATEGORY_UNKNOWN": "Write category: workflow or category: playground.",
    "ENTRY_POINT_NOT_FOUND": "Correct base_path and entry_point; entry_point is relative to base_path.",
    "BASE_PATH_ESCAPE": "Keep every module under base_path, or choose a base_path further up.",
    "IMPORT_UNAVAILABLE": "The sandbox has no such module; docs/reference/sandbox.md lists what it has.",
    "IMPORT_NAME_NOT_FOUND": "Define the name at the top level of that file, or correct the import.",
    "IMPORT_CYCLE": "Move what both files need into a third.",
    "SYMBOL_COLLISION": "All files share one namespace: give one of the two another name.",
    "SANDBOX_NAME_SHADOWED": "The sandbox gives this name itself: choose another.",
    "LOCAL_MODULE_IMPORT_FORM": "Modules of your own are inlined, so there is no module object: "
    "write `from module import name`.",
    "UNSUPPORTED_IMPORT_FORM": "Import the module, or the names one by one, at the top of the file.",
    "COMPONENT_NOT_FOUND": "Name a component of the document by its id, or by its name.",
    "COMPONENT_NAME_AMBIGUOUS": "Name the component by its id.",
    "COMPONENT_PORT_MISSING": "Add the port to the component.",
    "LANGUAGE_NOT_PYTHON": "Set the port `language` to the choice `python`.",
    "REMOTE_EDIT": "Somebody edited the code where it is stored: take that over into the files, then use --force.",
    "UNMANAGED_CODE": "The code there was not made from files: --force replaces it.",
    "SCHEDULE_ALIAS_REQUIRED": "Give each schedule an alias.",
    "SCHEDULE_ALIAS_INVALID": "Use 6 to 42 of a-z, 0-9, _ and -, not the form of an id, each once.",
    "SCHEDULE_TARGET_INVALID": "Correct the schedule's target as the message says.",
}


class DeployProblem(Exception):
    """A file, a manifest or a document that cannot be used. `code` is a key of HINTS."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def hint(self) -> str:
        return HINTS[self.code]


@dataclass(frozen=True)
class Advisory:
    """Something to know that stops nothing."""

    code: str
    message: str
