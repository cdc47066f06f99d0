"""From a call's arguments to the bytes that are sent, without sending them (lbb-engine 2.3 to 2.5)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypedDict
from urllib.parse import quote

from lbb.effect_mark import HEADER, mark_for
from lbb.settings import ClientSettings
from lbb.wire_json import dump_body

# True: repeat after a refusal that may pass and after no answer. "rate_limited": only after a 429. False: send once.
RetryClass = bool | Literal["rate_limited"]

_RETRY_CLASSES = (True, False, "rate_limited")
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class RequestOptions(TypedDict, total=False):
    """What one call may set differently from its client. `headers` override every header of the SDK."""

    max_retries: int
    retry: RetryClass
    retry_budget_ms: float
    timeout: float  # seconds
    headers: Mapping[str, str]


_OPTION_NAMES = RequestOptions.__optional_keys__
_NO_OPTIONS: RequestOptions = {}


class RequestArguments(TypedDict, total=False):
    """The keyword arguments of `raw_request`."""

    params: Mapping[str, Any] | None  # None values are left out; True is `true`; a list repeats its name
    body: Any  # JSON; see `wire_json`
    content: bytes | str | None  # raw
    content_type: str | None
    idempotency_key: str | None
    options: RequestOptions | None


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    retry: RetryClass
    max_retries: int
    base_delay: float  # seconds
    budget_ms: float


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request as it goes out, the same bytes on every try."""

    method: str  # upper case
    path: str
    url: str  # percent-encoded
    headers: Mapping[str, str]  # names in lower case
    content: bytes | None
    timeout: float  # seconds, for connecting, and between two bytes
    policy: RetryPolicy


class RequestBuilder:
    """Builds the requests of one client. What they share is made once."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._base_url = settings.base_url
        self._query = settings.query()
        self._query_text = _query_text(self._query)
        self._headers = settings.headers()
        self._json_headers = self._headers | {"content-type": "application/json"}

    def build(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        content: bytes | str | None = None,
        content_type: str | None = None,
        idempotency_key: str | None = None,
        options: RequestOptions | None = None,
    ) -> PreparedRequest:
        """ValueError for `body` and `content` together, a path with a query, unknown options, `max_retries` below 0."""
        if body is not None and content is not None:
            raise ValueError("pass body= (JSON) or content= (raw bytes), not both")
        options = _checked(options) if options else _NO_OPTIONS
        method = method.upper()
        return PreparedRequest(
            method=method,
            path=path,
            url=self._base_url + _encoded_path(path) + self._query_of(params),
            headers=self._headers_of(body, content, content_type, idempotency_key, mark_for(method, path), options),
            content=_content(body, content),
            timeout=options.get("timeout", self._settings.timeout),
            policy=self._policy_of(options, method in _SAFE_METHODS or idempotency_key is not None),
        )

    def _query_of(self, params: Mapping[str, Any] | None) -> str:
        given = {name: value for name, value in params.items() if value is not None} if params else None
        return _query_text({**self._query, **given}) if given else self._query_text

    def _headers_of(
        self,
        body: Any,
        content: bytes | str | None,
        content_type: str | None,
        idempotency_key: str | None,
        effect_mark: str | None,
        options: RequestOptions,
    ) -> Mapping[str, str]:
        headers = self._headers
        if content is not None:
            headers = headers | {"content-type": content_type or "application/octet-stream"}
        elif body is not None:
            headers = self._json_headers if content_type is None else headers | {"content-type": content_type}
        if idempotency_key is not None:
            headers = headers | {"idempotency-key": idempotency_key}
        if effect_mark is not None:
            headers = headers | {HEADER: effect_mark}
        if "headers" in options:
            headers = headers | {name.lower(): value for name, value in options["headers"].items()}
        return headers

    def _policy_of(self, options: RequestOptions, is_repeatable: bool) -> RetryPolicy:
        settings = self._settings
        policy = RetryPolicy(
            options.get("retry", is_repeatable),
            options.get("max_retries", settings.max_retries),
            settings.retry_delay,
            options.get("retry_budget_ms", settings.retry_budget_ms),
        )
        if policy.max_retries < 0:
            raise ValueError(f"max_retries must be 0 or more, got {policy.max_retries}")
        return policy


def _content(body: Any, content: bytes | str | None) -> bytes | None:
    if body is not None:
        return dump_body(body)
    return content.encode() if isinstance(content, str) else content


def _checked(options: RequestOptions) -> RequestOptions:
    if not options.keys() <= _OPTION_NAMES:
        raise ValueError(f"unknown request options: {', '.join(sorted(options.keys() - _OPTION_NAMES))}")
    if options.get("retry", True) not in _RETRY_CLASSES:
        raise ValueError(f'the option retry is True, False or "rate_limited", got {options["retry"]!r}')
    return options


@lru_cache(maxsize=512)
def _encoded_path(path: str) -> str:
    if not path.startswith("/") or "?" in path or "#" in path:
        raise ValueError(f"a path starts with / and has no query (pass params=), got {path!r}")
    return quote(path, safe="/%:@!$&'()*+,;=~")


def _query_text(params: Mapping[str, Any]) -> str:
    text = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in _pairs(params))
    return f"?{text}" if text else ""


def _pairs(params: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in params.items():
        for item in value if isinstance(value, list | tuple) else (value,):
            yield name, str(item).lower() if isinstance(item, bool) else str(item)
