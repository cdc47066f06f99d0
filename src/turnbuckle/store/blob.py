"""Blobs: bytes under their SHA-256, inside the store so that a backup is one file."""

import msgspec

from turnbuckle.store.transaction import Transaction


class OldBlob(msgspec.Struct, frozen=True):
    graph_id: str
    key: str
    sha256: str
    unused_since_ms: int | None


class User(msgspec.Struct, frozen=True):
    """An instance whose values may mention blobs."""

    graph_id: str
    instance_id: str
    head: int | None
    state_turn: int
    last_turn: int


def get(tx: Transaction, graph_id: str, key: str) -> bytes | None:
    row = tx.row("blob_get", graph_id=graph_id, key=key)
    return None if row is None else bytes(row[0])


def put(tx: Transaction, graph_id: str, key: str, sha256: str, data: bytes) -> bool:
    """Whether the bytes are new; bytes that are there begin their day anew."""
    if tx.run("blob_insert", graph_id=graph_id, key=key, sha256=sha256, bytes=data, now_ms=tx.now_ms) == 1:
        return True
    tx.run("blob_refresh", graph_id=graph_id, key=key, now_ms=tx.now_ms)
    return False


def not_written_since(tx: Transaction, before_ms: int) -> list[OldBlob]:
    return tx.all("blob_old", OldBlob, before_ms=before_ms)


def users(tx: Transaction, graph_id: str, after: str, limit: int) -> list[User]:
    return tx.all("blob_users", User, graph_id=graph_id, after=after, limit=limit)


def values(tx: Transaction, user: User) -> list[bytes]:
    """Every JSON value of the instance that keeps a blob alive."""
    rows = tx.rows("blob_values", graph_id=user.graph_id, instance_id=user.instance_id, state_turn=user.state_turn)
    return [value for (value,) in rows if value is not None]


def mark(tx: Transaction, blob: OldBlob, is_used: bool) -> None:
    if is_used:
        tx.run("blob_unmark", graph_id=blob.graph_id, key=blob.key)
    else:
        tx.run("blob_mark", graph_id=blob.graph_id, key=blob.key, now_ms=tx.now_ms)


def remove_unused(tx: Transaction, blob: OldBlob, before_ms: int, unused_before_ms: int) -> bool:
    """Remove a blob that was unused at an earlier sweep and that nobody has written since."""
    return (
        tx.run(
            "blob_remove",
            graph_id=blob.graph_id,
            key=blob.key,
            before_ms=before_ms,
            unused_before_ms=unused_before_ms,
        )
        == 1
    )
