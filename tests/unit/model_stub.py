"""A stub of a model provider: a local server that speaks the OpenAI wire form, well or badly."""

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

from tests.unit.local_server import CLOSED, Behaviour, LocalServer, Received, answer

JsonObject = dict[str, Any]
SECRET = "sk-do-not-tell-4711"


def body_of(received: Received) -> JsonObject:
    found: JsonObject = json.loads(received.body)
    return found


def chat(content: Any, *, finish: str = "stop", logprobs: Any = None, **message: Any) -> JsonObject:
    """A completion whose text is `content`, as JSON unless it is a text."""
    text = content if isinstance(content, str | None) else json.dumps(content)
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
    if logprobs is not None:
        choice["logprobs"] = {"content": logprobs}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return {"object": "chat.completion", "model": "large-1-2027", "choices": [choice], "usage": usage}


def token(*likeliest: tuple[str, float]) -> JsonObject:
    """A written token with its likeliest ones as (text, natural logarithm of the probability)."""
    rows = [{"token": text, "logprob": logprob} for text, logprob in likeliest]
    return {**rows[0], "top_logprobs": rows}


def embeddings(*vectors: Any) -> JsonObject:
    """In reverse order: the index counts."""
    data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    return {"object": "list", "model": "embed-1", "data": data[::-1], "usage": {"prompt_tokens": 5}}


def always(told: JsonObject) -> Behaviour:
    return lambda connection, received: answer(connection, json.dumps(told).encode())


def by_request(tell: Callable[[JsonObject], JsonObject]) -> Behaviour:
    return lambda connection, received: answer(connection, json.dumps(tell(body_of(received))).encode())


def error(status: str, message: str = "no", *headers: str) -> Behaviour:
    body = json.dumps({"error": {"message": message, "type": "x"}}).encode()
    return lambda connection, received: answer(connection, body, *headers, status=status)


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """One after the other; the last one stays."""
    left = list(behaviours)
    lock = threading.Lock()

    def behave(connection: socket.socket, received: Received) -> str | None:
        with lock:
            chosen = left.pop(0) if len(left) > 1 else left[0]
        return chosen(connection, received)

    return behave


def raw(content: bytes) -> Behaviour:
    return lambda connection, received: answer(connection, content)


def hang_up(connection: socket.socket, received: Received) -> str:
    """The connection ends without an answer."""
    return CLOSED


def cut_short(connection: socket.socket, received: Received) -> str:
    """The connection ends in the middle of the answer."""
    connection.sendall(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{"choices": [')
    return CLOSED


def held(until: threading.Event, then: Behaviour) -> Behaviour:
    """Slow: the answer comes when the test says so."""

    def behave(connection: socket.socket, received: Received) -> str | None:
        until.wait(30)
        return then(connection, received)

    return behave


def dripping(until: threading.Event) -> Behaviour:
    """A byte now and then, so that no single read is slow."""

    def behave(connection: socket.socket, received: Received) -> str:
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9000\r\n\r\n")
        while not until.wait(0.02):
            connection.sendall(b" ")
        return CLOSED

    return behave


def asked(server: LocalServer) -> list[JsonObject]:
    """The bodies that came."""
    return [body_of(received) for received in server.received]
