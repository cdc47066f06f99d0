"""What a client was built with: whom it speaks as, and to which server (blobhub 4.2, 4.3)."""

from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit


class Identity(NamedTuple):
    """Where the credential came from: `argument`, `env`, `profile:<name>` or `anonymous`. It never holds the key."""

    source: str
    api_url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """`api_key` None means an anonymous client. A trailing slash of the URL is dropped.

    ValueError for a URL that is no http(s) URL or carries a user, a query or a fragment, and for a key that no header
    can carry. The texts show neither: both may be secret.
    """

    api_url: str
    source: str
    api_key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "api_url", _checked_url(self.api_url))
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise ValueError(f"the API key ({self.source}) has a line break, a control or a non-ASCII character")

    @property
    def identity(self) -> Identity:
        return Identity(self.source, self.api_url)


def _checked_url(given: str) -> str:
    try:
        parts = urlsplit(given)
        names_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, half an IPv6 address
        names_server = False
    if not names_server:
        raise ValueError("the API URL must start with http:// or https:// and name a host")
    if parts.query or parts.fragment or parts.username is not None:
        raise ValueError("the API URL takes no user, query or fragment")
    return given.rstrip("/")
