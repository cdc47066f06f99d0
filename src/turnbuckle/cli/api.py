"""A server as the commands call it: found by LBB_URL, LBB_API_KEY and --graph, its refusals told in one line."""

import functools
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click
import httpx

from lbb import LbbClient, LbbError
from turnbuckle.cli.failure import Failure
from turnbuckle.cli.output import json_option

Command = TypeVar("Command", bound=Callable[..., Any])
DEFAULT_URL = "http://127.0.0.1:7400"
_TIMEOUT_S = 30.0
_KEY_HINT = (
    "This command takes it from LBB_API_KEY; `turnbuckle keys create` makes one, "
    "and that of `turnbuckle dev` is lbb_sk_test_local."
)
_WORKFLOWS = "/v1/workflows"


@dataclass(frozen=True)
class Answer:
    """`text` is the JSON as it came: a number that Python would round stays what it is."""

    data: Any
    text: str


class Api:
    """The workflow routes of one graph, and with `ask` whatever else a client can."""

    def __init__(self, url: str, api_key: str | None, graph: str) -> None:
        self._url = url
        self._content = b""
        try:
            self._client = LbbClient(
                url,
                api_key=api_key,
                graph=graph,
                max_retries=0,  # a person sees the failure at once and decides
                timeout=_TIMEOUT_S,
                event_hooks={"response": [self._keep]},
            )
        except ValueError as exc:
            raise Failure(f"LBB_URL or LBB_API_KEY cannot be used: {exc}") from exc

    def get(self, path: str, **params: Any) -> Answer:
        """GET /v1/workflows/`path`; parameters that are None are left out."""
        return self._call("GET", path, params=params)

    def post(self, path: str, **fields: Any) -> Answer:
        """POST /v1/workflows/`path` with a body of `fields`. A `Verbatim` goes in as it is written."""
        return self._call("POST", path, content=json_object(**fields), content_type="application/json")

    def ask(self, call: Callable[[LbbClient], Any]) -> Answer:
        """What one call of the client answers."""
        try:
            data = call(self._client)
        except LbbError as exc:
            hint = f" {_KEY_HINT}" if exc.code == "unauthorized" else ""
            raise Failure(f"{exc}{hint} ({exc.code})") from exc
        except httpx.ConnectError as exc:
            what = f"no server answers at {self._url} ({exc.__cause__ or exc})"
            raise Failure(f"{what}; start one, such as `turnbuckle dev`, or set LBB_URL") from exc
        except httpx.RequestError as exc:
            raise Failure(f"no answer from {self._url}: {type(exc).__name__} {exc}; look before you repeat it") from exc
        except ValueError as exc:
            raise Failure(f"{self._url} is no server of ours: {exc}") from exc
        return Answer(data, self._content.decode())

    def close(self) -> None:
        self._client.close()

    def _call(self, method: str, path: str, **arguments: Any) -> Answer:
        return self.ask(lambda client: client.raw_request(method, f"{_WORKFLOWS}/{path}", **arguments).data)

    def _keep(self, response: httpx.Response) -> None:
        self._content = response.read()


class Verbatim(str):
    """JSON text that was checked and is sent as it is written."""


def json_object(**fields: Any) -> Verbatim:
    """The fields that are not None as a JSON object; a `Verbatim` goes in as it is written."""
    parts = (f"{json.dumps(name)}:{_part(value)}" for name, value in fields.items() if value is not None)
    return Verbatim("{" + ",".join(parts) + "}")


def _part(value: Any) -> str:
    return value if isinstance(value, Verbatim) else json.dumps(value)


def of_server(command: Command) -> Command:
    """The options of a command that talks to a server, given to it as `api` and `as_json`."""

    @click.option("--graph", envvar="LBB_GRAPH", default="main", show_default=True, help="The graph to work in.")
    @json_option
    @functools.wraps(command)
    def run(graph: str, **options: Any) -> Any:
        api = Api(os.environ.get("LBB_URL") or DEFAULT_URL, os.environ.get("LBB_API_KEY") or None, graph)
        try:
            return command(api=api, **options)
        finally:
            api.close()

    return run  # type: ignore[return-value]  # click's decorators keep the signature they add to


def json_argument(text: str) -> Verbatim:
    """JSON from an argument, from the file `@PATH`, or for `-` from stdin; the numbers stay as they are written."""
    given = _given(text)
    try:
        json.loads(given)
    except (ValueError, RecursionError) as exc:
        raise Failure(f"that is no JSON: {exc}; a text needs its quotes, '\"like this\"'") from exc
    return Verbatim(given)


def _given(text: str) -> str:
    try:
        if text == "-":
            return sys.stdin.buffer.read().decode()
        if text.startswith("@"):
            with open(text[1:], encoding="utf-8") as file:
                return file.read()
    except (OSError, UnicodeDecodeError) as exc:
        raise Failure(f"cannot read {text[1:] or 'stdin'}: {exc}") from exc
    return text
