"""Tokens of callers without a key: only their hashes are stored."""

from turnbuckle.store.hub_rows import AnonymousToken
from turnbuckle.store.transaction import Transaction


def get(tx: Transaction, token_hash: bytes) -> AnonymousToken | None:
    return tx.one("anonymous_token_get", AnonymousToken, token_hash=token_hash)


def add(tx: Transaction, token: AnonymousToken) -> None:
    tx.insert("anonymous_token_insert", token)


def remove_expired(tx: Transaction, before_ms: int) -> None:
    tx.run("anonymous_token_remove_expired", before_ms=before_ms)
