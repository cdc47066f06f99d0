"""Callers without a key: a token for an hour, and another that gets new ones for a day (blobhub 2.3)."""

import hashlib
import secrets
import uuid
from typing import Any

from turnbuckle.store import anonymous_token as tokens
from turnbuckle.store.hub_rows import AnonymousToken
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.hub_errors import HubRefused

ACCESS_MS = limits.HOUR_MS
REFRESH_MS = limits.DAY_MS
_PREFIX = "anon_"


def mint(tx: Transaction, environment: str) -> dict[str, Any]:
    """A new caller's tokens; they read public blobs of one environment."""
    user_id = str(uuid.uuid4())
    refresh_token = _add(tx, "refresh", environment, user_id, REFRESH_MS)
    return {"refresh_token": refresh_token, **_access(tx, environment, user_id)}


def refresh(tx: Transaction, refresh_token: str) -> dict[str, Any]:
    """A new access token. HubRefused(unauthorized) when the refresh token is unknown or expired."""
    known = find(tx, "refresh", refresh_token)
    if known is None:
        raise HubRefused("unauthorized", "the refresh token is unknown or expired")
    return _access(tx, known.environment, known.user_id)


def find(tx: Transaction, kind: str, token: str) -> AnonymousToken | None:
    """The row of a token that is valid now."""
    if not token.startswith(_PREFIX):
        return None
    known = tokens.get(tx, _hash(token))
    return known if known is not None and known.kind == kind and tx.now_ms < known.expires_at_ms else None


def remove_expired(tx: Transaction) -> bool:
    """Upkeep: tokens that nobody can use any more."""
    tokens.remove_expired(tx, tx.now_ms)
    return False


def _access(tx: Transaction, environment: str, user_id: str) -> dict[str, Any]:
    return {
        "access_token": _add(tx, "access", environment, user_id, ACCESS_MS),
        "expires_at": tx.now_ms + ACCESS_MS,
    }


def _add(tx: Transaction, kind: str, environment: str, user_id: str, for_ms: int) -> str:
    token = _PREFIX + secrets.token_urlsafe(32)
    tokens.add(tx, AnonymousToken(_hash(token), kind, environment, user_id, tx.now_ms + for_ms))
    return token


def _hash(token: str) -> bytes:
    """Tokens are long and random, so a plain hash keeps them out of a stolen store."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
