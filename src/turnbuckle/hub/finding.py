"""What is wrong with a definition, or may be (blobhub 5.8)."""

from typing import Final, Literal, Protocol

import msgspec

Level = Literal["error", "warning"]
# code -> (level, what it means); docs/reference/components.md lists them
FINDINGS: Final[dict[str, tuple[Level, str]]] = {
    "bad_document": ("error", "A part of the document cannot be read."),
    "no_start": ("error", "There is no `flow.start`."),
    "several_starts": ("error", "There is more than one `flow.start`."),
    "unknown_component_type": ("error", "Nobody registered this component type."),
    "duplicate_component_id": ("error", "Two components have one id."),
    "duplicate_port": ("error", "A component has a port of one category and route twice."),
    "dangling_connection": ("error", "An end of a connection is not in the document."),
    "bad_connection": ("error", "A connection joins ports that do not fit."),
    "missing_setting": ("error", "A required setting or input is absent."),
    "bad_setting": ("error", "A setting has a value that it cannot have."),
    "read_only_data": ("error", "An output leads into a data component whose persistence is `definition`."),
    "cycle_without_exit": ("error", "Components follow each other in a circle, and no result leads out of it."),
    "bad_language": ("error", "The language of the code is not `python`."),
    "code_syntax_error": ("error", "The code does not parse."),
    "code_import": ("error", "The code has an import statement; modules are there by their names."),
    "code_too_long": ("error", "The code is longer than the sandbox takes."),
    "unsupported_syntax": ("error", "The code has syntax that the sandbox does not have."),
    "unsupported_name": ("error", "The code uses a name of Python that the sandbox does not have."),
    "unknown_name": ("error", "The code uses a name that nothing defines."),
    "name_redefined": ("error", "The code defines a name of the sandbox anew at its top."),
    "duplicate_alias": ("warning", "Two inputs have one alias; both get its value."),
    "duplicate_input": ("warning", "Two sources lead into one input; the newer value counts."),
    "unreachable_component": ("warning", "No path from the start leads here."),
    "unhandled_route": ("warning", "Some results of the component lead on, this one does not: the path ends there."),
    "unknown_route": ("warning", "The component never has this result."),
}


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """`type`, `code`, `message` and, where there is one, `component_id`: an item of `check_definition`'s `events`."""

    type: Level
    code: str
    message: str
    component_id: str | None = None
    line: int | None = None  # of the code, from 1


class CodeFinding(Protocol):
    """What the sandbox says of one code; `code` is a key of FINDINGS, `line` counts from 1."""

    @property
    def code(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def message(self) -> str: ...


def finding(code: str, message: str, component_id: str | None = None, line: int | None = None) -> Finding:
    return Finding(FINDINGS[code][0], code, message, component_id, line)


def status_of(findings: list[Finding]) -> Literal["success", "failure"]:
    return "failure" if any(found.type == "error" for found in findings) else "success"
