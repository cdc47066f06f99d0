"""What a client was built with (lbb-engine 2.2), checked once. Reads no environment variable."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from lbb.retry_event import RetryEvent
from lbb.version import USER_AGENT


@dataclass(frozen=True, kw_only=True)
class ClientSettings:
    """The constructor arguments of a client, without its transport: two clients with equal settings send alike.

    ValueError for a `base_url` that is no http(s) URL, carries a user or a query or ends in /v1, and for a key that no
    header can carry. Another path is kept: a proxy may serve under it.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    graph: str | None = None
    environment: str | None = None
    api_version: str
    max_retries: int
    retry_delay: float  # seconds
    retry_budget_ms: float
    on_retry: Callable[[RetryEvent], object] | None = None
    timeout: float  # seconds
    default_consistency: str | None = None  # for graph reads
    integrations_url: str | None = None  # for the integrations namespace

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", _base_url(self.base_url))
        # A newline from a key file is the usual mistake; the message must not show the key.
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise ValueError("api_key has a line break, a control or a non-ASCII character; strip it first")

    @property
    def is_secure(self) -> bool:
        return self.base_url.startswith("https://")

    def headers(self) -> dict[str, str]:
        """The headers of every request, names in lower case."""
        headers = {"lbb-version": self.api_version, "user-agent": USER_AGENT}
        if self.api_key is not None:
            headers["authorization"] = f"Bearer {self.api_key}"
        return headers

    def query(self) -> Mapping[str, str]:
        """The query parameters of every request. The environment is `stack` on the wire."""
        named = {"graph": self.graph, "stack": self.environment}
        return {name: value for name, value in named.items() if value is not None}


def _base_url(given: str) -> str:
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"base_url must be an http:// or https:// URL, got {given!r}")
    if parts.query or parts.fragment or parts.username is not None:
        raise ValueError("base_url takes no user, query or fragment; pass the key as api_key=")
    if parts.path.rstrip("/").endswith("/v1"):
        raise ValueError(f"base_url ends before /v1, which every call adds by itself; got {given!r}")
    return quote(given.rstrip("/"), safe=":/[]%@!$&'()*+,;=~")
