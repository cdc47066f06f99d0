"""Keys of blobs and who mentions them: engine/blob.py."""

from turnbuckle.engine import blob as blobs

ONE, TWO = "a1" * 32, "b2" * 32


def test_a_key_names_the_workflow_and_the_bytes() -> None:
    assert blobs.key("orders", ONE) == f"instance:orders/{ONE}"
    assert blobs.key("starter.values.3", ONE) == f"values/{ONE}"


def test_every_hash_in_a_value_is_a_mention() -> None:
    """A superset of the keys: nothing in use is ever removed."""
    value = f'{{"pages":["instance:a/{ONE}",{{"deep":"{TWO}"}}],"{ONE}":1}}'.encode()

    assert blobs.mentions(value) == {ONE, TWO}


def test_a_hash_inside_longer_hex_is_a_mention_too_when_it_may_be_one() -> None:
    assert ONE in blobs.mentions(f'"{ONE}00"'.encode())


def test_other_values_mention_nothing() -> None:
    assert blobs.mentions(b'{"n":1,"hex":"a1a1"}') == set()
