"""Keys: made once, found by their hash, revoked (decision 20)."""

import contextlib

import pytest

from tests.store.calls import Store, refused
from tests.tables import dump
from turnbuckle.operations import key
from turnbuckle.store.database import open_database, read, write
from turnbuckle.store.key import Grant

ADMIN = Grant("test", "user", "admin")


def create(store: Store, environment: str = "test", scope: str = "user", role: str = "admin") -> str:
    return write(store.database, lambda tx: key.create(tx, "laptop", environment, scope, role))


def find(store: Store, text: str) -> Grant | None:
    return read(store.database, lambda tx: key.find(tx, key.hash_of(text)))


@pytest.mark.parametrize(("environment", "kind"), [("test", "lbb_sk_test_"), ("live", "lbb_sk_live_")])
def test_a_new_key_says_what_kind_it_is_and_finds_its_grant(store: Store, environment: str, kind: str) -> None:
    made = create(store, environment, "org", "read")

    assert made.startswith(kind)
    assert len(made) > len(kind) + 30
    assert find(store, made) == Grant(environment, "org", "read")


def test_the_key_itself_is_nowhere_in_the_store(store: Store) -> None:
    made = create(store)

    assert made not in repr(dump(store.location))
    assert made.removeprefix("lbb_sk_test_") not in repr(dump(store.location))


@pytest.mark.parametrize("text", ["", "lbb_sk_test_", "x" * 10_000, "\0", "\udcff"])
def test_another_key_finds_nothing(store: Store, text: str) -> None:
    create(store)

    assert find(store, text) is None


def test_a_revoked_key_finds_nothing_and_is_still_listed(store: Store) -> None:
    made, other = create(store), create(store)

    first, second = (write(store.database, lambda tx: key.revoke(tx, made)) for _ in range(2))

    assert (first and first.hint, second) == (made[-4:], None)

    assert (find(store, made), find(store, other)) == (None, ADMIN)
    listed = read(store.database, key.all_keys)
    assert sorted((one.hint, one.revoked_at_ms is None) for one in listed) == sorted(
        [(made[-4:], False), (other[-4:], True)]
    )


def test_the_same_key_added_again_stays_as_it_was(store: Store) -> None:
    for role in ("admin", "read"):
        write(store.database, lambda tx, r=role: key.add(tx, "text", "label", Grant("test", "user", r)))  # type: ignore[misc]

    assert find(store, "text") == ADMIN


@pytest.mark.parametrize(("scope", "role", "param"), [("team", "admin", "scope"), ("user", "owner", "role")])
def test_unknown_scopes_and_roles_are_refused_with_those_there_are(
    store: Store, scope: str, role: str, param: str
) -> None:
    with refused("invalid_param", f"{param}: got .*, expected one of .*") as info:
        create(store, "test", scope, role)

    assert info.value.param == param


def test_a_key_made_beside_the_server_is_known_to_it(store: Store) -> None:
    with contextlib.closing(open_database(store.location)) as beside:
        made = write(beside, lambda tx: key.create(tx, "laptop", "test", "user", "admin"))

    assert find(store, made) == ADMIN
