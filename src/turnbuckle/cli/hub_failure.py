"""How a `hub` command ends when it cannot do its work: a code, a sentence, what to do next (blobhub 6.1, 6.6)."""

import contextlib
import json
from collections.abc import Iterator
from typing import IO, Any

import click

from blobhub import (
    AuthError,
    BlobHubError,
    ConfigError,
    NetworkError,
    PermissionDenied,
    RateLimited,
    RequestNotSent,
    ServerError,
)
from turnbuckle.cli.failure import Failure
from turnbuckle.cli.output import plain
from turnbuckle.hub_deploy.problem import DeployProblem

SCHEMA_VERSION = "1.0"
HINTS = {
    "CREDENTIALS_NOT_FOUND": "`turnbuckle hub init ORG/BLOB --profile NAME` makes a key and keeps it; "
    "or set BLOBHUB_API_KEY.",
    "INSECURE_CREDENTIALS_PERMISSIONS": "Only you may read the file: chmod 600.",
    "AUTH_INVALID": "`turnbuckle hub keys create` makes another key.",
    "PROFILE_NOT_FOUND": "`turnbuckle hub init ORG/BLOB --profile NAME` writes one.",
    "API_RATE_LIMITED": "Nothing was done: wait, then do it again.",
    "API_TRANSIENT_ERROR": "Look before you repeat a write: it may have been done.",
    "API_NETWORK_ERROR": "Look before you repeat a write: it may have been done.",
    "API_COMMAND_FAILED": "Correct what the message names.",
    "BLOB_NOT_ACCESSIBLE": "Check the name, and whether the key may see it; `turnbuckle hub init` makes a blob.",
    "BLOB_NOT_WORKFLOW": "Name a blob of the type that the message expects.",
    "REVISION_NOT_ACCESSIBLE": "`turnbuckle hub revisions list ORG/BLOB` shows those there are.",
    "REVISION_NOT_WRITABLE": "`turnbuckle hub revisions create ORG/BLOB` makes a draft.",
    "DEFINITION_NOT_ACCESSIBLE": "`turnbuckle hub definitions list ORG/BLOB` shows those there are.",
    "DEFINITION_NOT_EXECUTABLE": "Name a workflow; a playground cannot be executed.",
    "ALIAS_IN_USE": "Choose another alias.",
    "LIMIT_EXCEEDED": "Remove something first, or have the limit raised.",
    "CHECK_FAILED": "Nothing was rolled back: correct the definition and deploy again.",
    "WORKFLOW_REFERENCE_INVALID": "Write ORG/BLOB/REVISION/DEFINITION, or DEFINITION with --blob.",
    "INPUT_INVALID": "Write ALIAS=JSON or ALIAS=@FILE; the value is an object with a type.",
    "SESSION_NOT_ACCESSIBLE": "`turnbuckle hub sessions list ORG/BLOB` shows those there are.",
    "SESSION_NOT_OPEN": "`turnbuckle hub sessions open` opens it again, or use another.",
    "EXECUTION_FAILED": "The events above tell why, and the debugger page shows each component.",
    "EXECUTION_OUTCOME_UNKNOWN": "A run may have started: look at the session before you repeat it.",
    "PLAYGROUND_LAYOUT_IMMUTABLE": "A playground keeps the layout that it was created with.",
    "PLAYGROUND_POSITION_INVALID": "Put the component on free cells of the grid.",
    "SCHEDULE_NOT_ACCESSIBLE": "`turnbuckle hub schedules list ORG/BLOB` shows those there are.",
    "SCHEDULE_TARGET_INVALID": "Correct the schedule's target as the message says.",
}
_OF_ERROR = {
    "insecure_credentials_file": "INSECURE_CREDENTIALS_PERMISSIONS",
    "profile_not_found": "PROFILE_NOT_FOUND",
    "alias_in_use": "ALIAS_IN_USE",
    "limit_exceeded": "LIMIT_EXCEEDED",
    "invalid_definition_category": "DEFINITION_NOT_EXECUTABLE",
    "invalid_layout": "PLAYGROUND_LAYOUT_IMMUTABLE",
    "invalid_component_position": "PLAYGROUND_POSITION_INVALID",
    "invalid_invocation_target": "SCHEDULE_TARGET_INVALID",
    "session_not_open": "SESSION_NOT_OPEN",
    "revision_not_writable": "REVISION_NOT_WRITABLE",
    "revision_not_found": "REVISION_NOT_ACCESSIBLE",
}
_OF_CLASS: tuple[tuple[type[BlobHubError], str], ...] = (
    (ConfigError, "CREDENTIALS_NOT_FOUND"),
    (AuthError, "AUTH_INVALID"),
    (RateLimited, "API_RATE_LIMITED"),
    (ServerError, "API_TRANSIENT_ERROR"),
    (RequestNotSent, "API_NETWORK_ERROR"),
    (NetworkError, "API_NETWORK_ERROR"),
)


class HubFailure(Failure):
    """`turnbuckle: CODE: message` and a hint on stderr, one object there under --json; exit code 1."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint or HINTS.get(code, "")
        self.as_json = False

    def show(self, file: IO[Any] | None = None) -> None:
        message = plain(" ".join(self.message.split()))
        if self.as_json:
            told = {"error": message, "hint": self.hint, "code": self.code, "schema_version": SCHEMA_VERSION}
            click.echo(json.dumps(told, ensure_ascii=False), err=True)
            return
        click.echo(f"turnbuckle: {self.code}: {message}", err=True)
        if self.hint:
            click.echo(f"hint: {self.hint}", err=True)


@contextlib.contextmanager
def telling(as_json: bool) -> Iterator[None]:
    """Failures of the SDK and of the compiler become a command's, in the form that was asked."""
    try:
        try:
            yield
        except BlobHubError as error:
            raise _failure(error) from error
        except DeployProblem as problem:
            raise HubFailure(problem.code, problem.message, problem.hint) from problem
    except HubFailure as failure:
        failure.as_json = as_json
        raise


@contextlib.contextmanager
def denied_as(code: str, message: str) -> Iterator[None]:
    """What a 403 means in this place: the server says no more than that."""
    try:
        yield
    except PermissionDenied as error:
        raise HubFailure(code, f"{message} is not there, or the key cannot reach it") from error


def _failure(error: BlobHubError) -> HubFailure:
    by_class = next((code for kind, code in _OF_CLASS if isinstance(error, kind)), "API_COMMAND_FAILED")
    return HubFailure(_OF_ERROR.get(error.error, by_class), str(error))
