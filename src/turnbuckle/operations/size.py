"""The one check of a value's size."""

from turnbuckle.wire.errors import Refused


def check(param: str, value: bytes, most: int) -> bytes:
    """`value` as it is. Refused(payload_too_large) with both sizes when it is over `most` bytes."""
    if len(value) > most:
        raise Refused(
            "payload_too_large",
            f"{param}: got {len(value)} bytes, expected at most {most}; save it as a blob and send its key",
            param=param,
        )
    return value
