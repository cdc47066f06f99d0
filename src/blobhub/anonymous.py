"""The token of a client without a key (blobhub 2.3). It lives in memory only."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from blobhub.answer import invalid_response
from blobhub.errors import AuthError, PermissionDenied
from blobhub.request import ApiRequest, json_request
from blobhub.wire_json import Envelope

REFRESH_LEAD_MS = 60_000
HINT = "; you are anonymous: set BLOBHUB_API_KEY or add a profile to ~/.blobhub/credentials.yaml"


@dataclass(frozen=True, slots=True)
class _Token:
    refresh: str = field(repr=False)
    access: str = field(repr=False)
    expires_at_ms: float | None

    def is_due(self, now_ms: float) -> bool:
        return self.expires_at_ms is not None and now_ms >= self.expires_at_ms - REFRESH_LEAD_MS


class AnonymousToken:
    """Minted on first use, refreshed a minute before it ends, minted anew when it cannot be refreshed.

    `ask` sends a request without a credential.
    """

    def __init__(self, ask: Callable[[ApiRequest], Envelope], wall_clock: Callable[[], float]) -> None:
        self._ask = ask
        self._wall_clock = wall_clock
        self._token: _Token | None = None

    def header(self) -> dict[str, str]:
        """The header of a request that is sent now."""
        if self._token is None:
            self._token = self._mint()
        elif self._token.is_due(self._wall_clock() * 1000):
            self._token = self._refresh(self._token)
        return _bearer(self._token)

    def renewed_header(self) -> dict[str, str]:
        """The same with a new token, after a 401."""
        self._token = self._mint() if self._token is None else self._refresh(self._token)
        return _bearer(self._token)

    def _mint(self) -> _Token:
        answer = self._ask(json_request("GET", "auth/core/anonymous"))
        return _Token(_text(answer, "refresh_token"), _text(answer, "access_token"), _expires_at_ms(answer))

    def _refresh(self, token: _Token) -> _Token:
        try:
            answer = self._ask(json_request("POST", "auth/core/refresh", {"refresh_token": token.refresh}))
        except AuthError:
            answer = None
        if answer is None:
            return self._mint()
        return replace(token, access=_text(answer, "access_token"), expires_at_ms=_expires_at_ms(answer))


def add_hint(error: AuthError | PermissionDenied) -> None:
    """Tell an anonymous caller, once, what would help."""
    if not error.message.endswith(HINT):
        error.message += HINT


def _bearer(token: _Token) -> dict[str, str]:
    return {"authorization": f"Bearer {token.access}"}


def _text(answer: Envelope, key: str) -> str:
    value = answer.get(key)
    if not isinstance(value, str) or not value:
        raise invalid_response(f"the answer has no {key}")
    return value


def _expires_at_ms(answer: Envelope) -> float | None:
    value = answer.get("expires_at")
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
