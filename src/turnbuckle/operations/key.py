"""Keys: made, listed and revoked by the command line on the store itself, looked up by every request."""

import hashlib
import secrets

from turnbuckle.store import graph as graphs
from turnbuckle.store import key as keys
from turnbuckle.store.key import Grant, Key
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.errors import Refused

DEV_KEY = "lbb_sk_test_local"  # the key of `turnbuckle dev`, known to everybody: loopback only
SCOPES = ("user", "org", "blob", "runtime")
ROLES = ("admin", "write", "read", "review")


def create(tx: Transaction, label: str, environment: str, scope: str, role: str, scope_id: str | None = None) -> str:
    """A new key, the only time it is seen. `scope_id` is that of the organization or blob it is for."""
    kind = "test" if environment == "test" else "live"
    key = f"lbb_sk_{kind}_{secrets.token_urlsafe(24)}"
    add(tx, key, label, Grant(environment, scope, role, scope_id))
    return key


def add(tx: Transaction, key: str, label: str, grant: Grant) -> None:
    """Make a given key valid, where it is not."""
    if grant.scope not in SCOPES:
        raise Refused(
            "invalid_param", f"scope: got {grant.scope!r}, expected one of {', '.join(SCOPES)}", param="scope"
        )
    if grant.role not in ROLES:
        raise Refused("invalid_param", f"role: got {grant.role!r}, expected one of {', '.join(ROLES)}", param="role")
    graphs.add_environment(tx, grant.environment)
    keys.add(tx, hash_of(key), label, key[-4:], grant)


def all_keys(tx: Transaction) -> list[Key]:
    return keys.all_keys(tx)


def revoke(tx: Transaction, key_or_hint: str) -> Key | None:
    """Revoke the key whose whole text or last four characters are given; None when no valid key is meant.

    Refused(conflict) when two keys end alike.
    """
    meant = [
        key
        for key in keys.all_keys(tx)
        if key.revoked_at_ms is None and (key.hint == key_or_hint or key.key_hash == hash_of(key_or_hint))
    ]
    if len(meant) > 1:
        raise Refused("conflict", f"{len(meant)} keys end in {key_or_hint!r}; give the whole key")
    for key in meant:
        keys.revoke(tx, key.key_hash)
    return meant[0] if meant else None


def revoke_labelled(tx: Transaction, label: str, environment: str) -> None:
    """Revoke all valid keys of that label in the environment."""
    for key in keys.all_keys(tx):
        if key.label == label.encode() and key.environment == environment and key.revoked_at_ms is None:
            keys.revoke(tx, key.key_hash)


def find(tx: Transaction, key_hash: bytes) -> Grant | None:
    return keys.find(tx, key_hash)


def hash_of(key: str) -> bytes:
    """Keys are long and random, so a plain hash is enough to keep them out of a stolen store."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
