"""Data values: JSON objects with a `type` and one member that holds the content (blobhub 5.2).

`{"type": "text", "text": "hi"}`, `{"type": "boolean", "flag": true}`, `{"type": "choice", "id": "a"}`. A value whose
type nobody knows is passed on as it is. Conditions, loops and settings look at plain contents: `"hi"`, `True`, `"a"`.
"""

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from turnbuckle.wire.hub_errors import HubRefused

Value = dict[str, Any]
MEMBERS: Final = {
    "text": "text",
    "string": "string",  # a synonym of text, on input
    "integer": "integer",
    "float": "float",
    "boolean": "flag",
    "choice": "id",
    "json": "json",
    "message": "message",
    "messages": "messages",
    "thread": "thread",
    "graph": "graph",
    "file": "file",
}
ROLES: Final = ("system", "user", "assistant", "interpreter")


def is_value(candidate: Any) -> bool:
    return isinstance(candidate, dict) and isinstance(candidate.get("type"), str)


def check_value(raw: bytes, path: str) -> None:
    """All that a value from outside must be: an object with a text `type`. HubRefused(invalid_request_body)."""
    try:
        msgspec.json.decode(raw, type=_Typed)
    except msgspec.ValidationError as exc:
        raise HubRefused("invalid_request_body", f"{path}: expected an object with a text `type`: {exc}") from exc


class _Typed(msgspec.Struct):
    type: str


def size_bytes(value: Any) -> int:
    """Of the value as JSON."""
    return len(msgspec.json.encode(value))


def plain(value: Any) -> Any:
    """What the value holds: a text, number, flag, choice id, any JSON; the text of a message, the texts of messages.

    Anything that is no data value stands for itself, so a bare text in a setting works too.
    """
    if not is_value(value):
        return value
    kind = value["type"]
    if kind == "message":
        return message_text(value.get("message"))
    if kind == "messages":
        messages = value.get("messages")
        return [message_text(message) for message in messages] if isinstance(messages, list) else []
    return value.get(MEMBERS[kind]) if kind in MEMBERS else value


def message_text(message: Any) -> str:
    """The text blocks of a message object, in order, a line break between them."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(block["text"] for block in blocks if _is_text_block(block))


def _is_text_block(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str)


def create_value(data_type: str, data: Any) -> Value:
    """A value of that type around `data`. ValueError for a type nobody knows."""
    if data_type not in MEMBERS:
        raise ValueError(f"got the data type {data_type!r}, expected one of {', '.join(MEMBERS)}")
    return {"type": data_type, MEMBERS[data_type]: data}


def create_message(role: str, text: str | None = None, attribute_id: str | None = None) -> Value:
    """A message with one text block, or with none."""
    message: dict[str, Any] = {"role": role, "content": [] if text is None else [{"type": "text", "text": text}]}
    if attribute_id is not None:
        message["attributes"] = {"id": attribute_id}
    return {"type": "message", "message": message}


def value_of(data: Any) -> Value:
    """The value that plain data makes: a value stays as it is, a text, flag or number gets its type, else json."""
    if is_value(data):
        return dict(data)
    if isinstance(data, bool):
        return create_value("boolean", data)
    if isinstance(data, str):
        return create_value("text", data)
    if isinstance(data, int):
        return create_value("integer", data)
    if isinstance(data, float):
        return create_value("float", data)
    return create_value("json", data)


def messages_of(value: Any) -> list[dict[str, Any]]:
    """The message objects in a value: of `messages` all, of `message` the one, of a text one by the user."""
    if not is_value(value):
        return []
    if value["type"] == "messages":
        messages = value.get("messages")
        return [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
    if value["type"] == "message":
        return [value["message"]] if isinstance(value.get("message"), dict) else []
    text = plain(value)
    return [create_message("user", text)["message"]] if isinstance(text, str) else []


def convert(value: Any, data_type: str) -> Value:
    """The value's contents as another type, where that loses nothing. ValueError when it cannot be done."""
    if is_value(value) and value["type"] == data_type:
        return dict(value)
    contents = plain(value)
    if data_type == "json":
        return create_value("json", contents)
    if data_type == "messages":
        return create_value("messages", messages_of(value))
    if data_type == "message" and isinstance(contents, str):
        return create_message("user", contents)
    fitting = _CONVERSIONS.get(data_type)
    if fitting is None:
        raise ValueError(f"cannot make {data_type!r} of {contents!r}"[:200])
    return create_value(data_type, fitting(contents))


def _text(contents: Any) -> str:
    return contents if isinstance(contents, str) else msgspec.json.encode(contents).decode()


def _integer(contents: Any) -> int:
    number = _number(contents)
    if number != int(number):
        raise ValueError(f"{contents!r} is no whole number")
    return int(number)


def _number(contents: Any) -> float | int:
    if isinstance(contents, str):
        contents = float(contents) if any(mark in contents for mark in ".eEn") else int(contents)
    if isinstance(contents, bool) or not isinstance(contents, int | float) or not math.isfinite(contents):
        raise ValueError(f"{contents!r} is no number")
    return contents


def _flag(contents: Any) -> bool:
    if isinstance(contents, bool):
        return contents
    if contents in ("true", "false"):
        return bool(contents == "true")
    raise ValueError(f"{contents!r} is neither true nor false")


_CONVERSIONS = {
    "text": _text,
    "string": _text,
    "choice": _text,
    "integer": _integer,
    "float": lambda contents: float(_number(contents)),
    "boolean": _flag,
}
