"""API keys: only their hashes are stored (decision 20)."""

import msgspec

from turnbuckle.store.transaction import Transaction


class Grant(msgspec.Struct, frozen=True):
    """What a key may do, and where."""

    environment: str
    scope: str  # user, org, blob or runtime
    role: str  # admin, write, read or review
    scope_id: str | None = None  # of the organization or the blob


class Key(msgspec.Struct, frozen=True):
    key_hash: bytes
    label: bytes
    hint: str  # the last four characters
    environment: str
    scope: str
    role: str
    created_at_ms: int
    revoked_at_ms: int | None
    scope_id: str | None = None


def find(tx: Transaction, key_hash: bytes) -> Grant | None:
    """The grant of a key that is not revoked."""
    return tx.one("key_get", Grant, key_hash=key_hash)


def add(tx: Transaction, key_hash: bytes, label: str, hint: str, grant: Grant) -> bool:
    """False when the key is there already."""
    made = tx.run(
        "key_insert",
        key_hash=key_hash,
        label=label.encode(),
        hint=hint,
        environment=grant.environment,
        scope=grant.scope,
        role=grant.role,
        scope_id=grant.scope_id,
        now_ms=tx.now_ms,
    )
    return made == 1


def all_keys(tx: Transaction) -> list[Key]:
    return tx.all("key_page", Key)


def revoke(tx: Transaction, key_hash: bytes) -> bool:
    return tx.run("key_revoke", key_hash=key_hash, now_ms=tx.now_ms) == 1
