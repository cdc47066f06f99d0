"""What the sandbox asks of its host. Whoever runs code answers here and keeps the answers (decision 41)."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

# Asked for by the modules `time`, `datetime`, `uuid` and by `current_time_utc_iso`.
CLOCK = "clock"  # () -> int: microseconds since 1970, UTC
RANDOM_BYTES = "random_bytes"  # (count: int) -> str: that many bytes in hexadecimal
SLEEP = "sleep"  # (seconds: float) -> None, after that time
AMBIENT = frozenset({CLOCK, RANDOM_BYTES, SLEEP})  # answered without leaving the worker

# Helpers that reach the session (blobhub 5.6): each is one durable step of the runner.
OUTWARD = frozenset(
    {
        "download_session_object",
        "upload_session_object",
        "delete_session_object",
        "list_session_objects",
        "post_session_thread_item",
        "list_session_thread_items",
        "get_session_thread_item",
        "apply_session_graph_mutations",
        "query_session_graph",
        "list_session_graph_elements",
        "get_session_graph_element",
        "get_session_graph_elements",
        "list_session_graph_neighbors",
    }
)


class Host(Protocol):
    """Answers one question at a time, in the order the code asks.

    After a crash the code runs again from its top, so the same questions come again and must get the same answers.
    """

    async def call(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The answer as JSON data. `name` is one of AMBIENT or OUTWARD.

        args and kwargs of an OUTWARD question are JSON data of at most `value_bytes`, and otherwise whatever the code
        gave: check them, and refuse with HostRefusal("ValueError", ...).
        HostRefusal is raised inside the code, where it can be caught; any other exception ends the run of the code
        and comes out of `run_code`.
        """


class HostRefusal(Exception):
    """The answer is no: the code gets the exception of that name, one of those in blobhub 5.6, or ValueError."""

    def __init__(self, exception: str, message: str) -> None:
        super().__init__(message)
        self.exception = exception
        self.message = message


class CodeDiverged(Exception):
    """Run again, the code asked something else than the recorded question at this position."""

    def __init__(self, position: int, recorded: str, asked: str) -> None:
        super().__init__(
            f"Question {position} of the code was recorded as {recorded}, now it is {asked}."
            " The code or its inputs changed since this run began."
        )
        self.position = position
