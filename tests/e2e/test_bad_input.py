"""Bad input: each gets its status and code, a message with the field, what was got and what was expected, and changes
nothing, on both stores.
"""

import contextlib
import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import msgspec
import pytest

from tests.e2e.api import BLOBS, CLAIM, CONTROL, CREATE, DELETE, KEY, MESSAGE, PAIRS, WORKFLOWS, Api, lease, ok, serving
from tests.open_store import OpenStore
from tests.tables import dump
from turnbuckle.http.endpoints import ENDPOINTS
from turnbuckle.operations import key as keys
from turnbuckle.store.key import Grant
from turnbuckle.wire import limits
from turnbuckle.wire.errors import ERRORS

TURNS = f"{WORKFLOWS}/turns"
GET = f"{WORKFLOWS}/instances/get"


class World(NamedTuple):
    """An app over a store with a held turn whose first step runs and a second message behind it."""

    api: Api
    lease: dict[str, Any]

    def bodies(self) -> dict[str, dict[str, Any]]:
        """A body that is taken, for every POST route with a JSON body."""
        step = {**self.lease, "key": "s", "position": 0}
        return {
            CREATE: {"id": "b", "workflow_type": "t", "version": "v1", "state": 1},
            MESSAGE: {"workflow_id": "a", "id": "m-9", "message": 1, "origin": {"kind": "manual"}},
            CONTROL: {"workflow_id": "a", "action": "pause"},
            DELETE: {"workflow_id": "a"},
            CLAIM: {"worker": "w", "workflows": PAIRS},
            f"{TURNS}/heartbeat": {**self.lease},
            f"{TURNS}/operation": {**step, "kind": "step", "timeout_ms": 5_000},
            f"{TURNS}/progress": {**self.lease, "key": "s", "sequence": 1, "details": 1, "checkpoint": 1},
            f"{TURNS}/checkpoint": {**step, "kind": "step", "output": 1},
            f"{TURNS}/wait-signal": {**step, "name": "ok", "timeout_ms": 5_000},
            f"{TURNS}/signal": {"workflow_id": "a", "turn": 1, "id": "e", "name": "ok", "value": 1},
            f"{TURNS}/complete": {**self.lease, "state": 1, "result": 1, "continuation": {"message": 1}},
            f"{TURNS}/fail": {**self.lease, "error": "no"},
        }

    @contextlib.asynccontextmanager
    async def unchanged(self) -> AsyncIterator[None]:
        before = dump(self.api.store.location)
        yield
        assert dump(self.api.store.location) == before

    async def is_refused(self, path: str, body: Any, code: str, param: str | None, *words: str, **query: Any) -> None:
        check_refusal(await self.api.post(path, body, **query), code, param, *words)


def check_refusal(answer: httpx.Response, code: str, param: str | None, *words: str) -> None:
    """The one shape of every refusal, with these words in its message."""
    where = f"{answer.request.method} {answer.request.url.path}: {answer.text}"
    assert answer.status_code == ERRORS[code].status, where
    error = answer.json()["error"]
    assert (error["code"], error["param"], error["type"]) == (code, param, ERRORS[code].type), where
    assert error["request_id"] == answer.headers["x-request-id"]
    assert error["doc_url"] is None
    assert error.get("retryable") == ERRORS[code].retryable
    assert [word for word in words if word not in error["message"]] == [], where
    assert error["message"].endswith(ERRORS[code].sentence)


@pytest.fixture
async def world(api: Api) -> World:
    await api.started()
    await api.sent(id="m-1")
    await api.sent(id="m-2")
    held = lease(await api.claimed())
    ok(await api.turn("operation", held, key="s", position=0, kind="step", timeout_ms=300_000))
    return World(api, held)


def post_routes() -> list[str]:
    """With a value for each parameter they need."""
    return [_with_query(e.path, e.query) for e in ENDPOINTS if e.body is not None and e.method == "POST"]


# -- the body as a whole, on every route -------------------------------------------------------------------------

BROKEN: list[tuple[bytes, str | None, str]] = [
    (b"", None, "got '' at character 0, expected JSON"),
    (b"{", None, "got '' at character 1, expected JSON"),
    (b"not json", None, "got 'not json' at character 0, expected JSON"),
    (b"\xff\xfe{}", None, "got byte 0xff at offset 0, expected UTF-8"),
    (b'{"workflow_id":"\xc3\x28"}', None, "got byte 0xc3 at offset 16, expected UTF-8"),
    (b'{"x":NaN}', "x", "$.x: got NaN, expected a JSON value (NaN and Infinity are none)"),
    (b'{"x":[1,-Infinity]}', "x[1]", "$.x[1]: got -Infinity, expected a JSON value"),
    (b'{"x":{"y":1e400}}', "x.y", "$.x.y: got 1e400, expected a number that a 64-bit float can hold"),
    (b'{"x":1,"x":2}', "x", "$.x: got the key 'x' twice, expected each key once"),
    (b'{"x":"\\ud800"}', "x", "$.x: got the lone surrogate \\ud800, expected Unicode text"),
    (b'{"x":' + b"[" * 200 + b"]" * 200 + b"}", "x[0][0][0][0][0][0][0]…", "nesting deeper than the limit"),
    (b'{"x":' + b"9" * 5_000 + b"}", "x", "$.x: got an integer of 5000 digits, expected at most 4300 digits"),
]


@pytest.mark.parametrize(("body", "param", "words"), BROKEN, ids=[str(words)[:40] for _, _, words in BROKEN])
async def test_a_body_that_is_no_json_is_refused_on_every_route(
    world: World, body: bytes, param: str | None, words: str
) -> None:
    """B056, B061: it failed late, in one database, with a driver's trace."""
    async with world.unchanged():
        for path in post_routes():
            await world.is_refused(path, body, "invalid_request", param, words)


@pytest.mark.parametrize("depth", [5_000, 100_000])
async def test_deep_nesting_is_refused_and_the_server_stays_up(world: World, depth: int) -> None:
    """B061: a RecursionError outside the handler, or a crash of the process in C code."""
    for body in (b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth, b"[" * depth):
        await world.is_refused(MESSAGE, body, "invalid_request", _deep(body), "nesting")

    assert (await world.api.get("/health")).status_code == 200


def _deep(body: bytes) -> str:
    return (".a" * 8).removeprefix(".") + "…" if body[:1] == b"{" else "[0]" * 8 + "…"


@pytest.mark.parametrize("body", [b"null", b"1", b'"text"', b"[]", b"true"])
async def test_a_body_that_is_no_object_is_refused_on_every_route(world: World, body: bytes) -> None:
    async with world.unchanged():
        for path in post_routes():
            await world.is_refused(path, body, "invalid_request", None, "Expected `object`")


async def test_an_unknown_field_is_named_on_every_route(world: World) -> None:
    """A typo is not silence."""
    async with world.unchanged():
        for path, body in world.bodies().items():
            await world.is_refused(path, {**body, "max_atempts": 3}, "invalid_param", "max_atempts", "unknown field")


async def test_a_missing_field_is_named_on_every_route(world: World) -> None:
    optional = {"state", "origin", "output", "result", "continuation", "wait_ms"}
    async with world.unchanged():
        for path, body in world.bodies().items():
            for name in set(body) - (optional - {"state"} if path.endswith("complete") else optional):
                rest = {key: value for key, value in body.items() if key != name}
                await world.is_refused(path, rest, "invalid_param", name, "missing required field")


WRONG: list[Any] = [[], {"a": 1}, True, 1.5, None]


async def test_a_field_of_another_type_is_named_with_what_was_got_and_expected(world: World) -> None:
    json_fields = {"state", "message", "output", "result", "value", "details", "checkpoint", "continuation", "origin"}
    async with world.unchanged():
        for path, body in world.bodies().items():
            for name in set(body) - json_fields:
                for wrong in WRONG:
                    shown = json.dumps(wrong, ensure_ascii=False)
                    if name == "workflows" and wrong == []:
                        words = ["got []", "Expected `array` of length >= 1"]
                    else:
                        words = [f"{name}: got {shown}. Expected `"]
                    await world.is_refused(path, {**body, name: wrong}, "invalid_param", name, *words)


async def test_a_body_over_two_megabytes_is_refused_on_every_route_unread(world: World) -> None:
    async with world.unchanged():
        for path, body in world.bodies().items():
            limit = limits.COMPLETION_BYTES if path.endswith("complete") else limits.BODY_BYTES
            over = json.dumps(body).encode().ljust(limit + 1)
            await world.is_refused(path, over, "payload_too_large", "body", f"got {limit + 1} bytes", f"most {limit}")


async def test_a_body_of_exactly_the_limit_is_read(world: World) -> None:
    for path, body in world.bodies().items():
        limit = limits.COMPLETION_BYTES if path.endswith("complete") else limits.BODY_BYTES
        if path in (MESSAGE, f"{TURNS}/complete"):
            assert ok(await world.api.post(path, json.dumps(body).encode().ljust(limit)))["workflow_id"] == "a"


# -- fields ------------------------------------------------------------------------------------------------------

NAME_WORDS = "Expected 1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `-`"
BAD_NAMES = ["", " ", "a b", "a/b", "../x", "a\n", "a\0", "é", "😀", "x" * 129, "x" * 10_000]
BAD_IDS = ["", " ", "\u3000", "a\0b", "a\n", "x" * 257, "x" * 10_000]


async def test_bad_names_are_refused_wherever_one_is_taken(world: World) -> None:
    """B003: an empty, blank or over-long id, or one with a slash, emoji or NUL, became an instance."""
    names = {"id": CREATE, "workflow_type": CREATE, "version": CREATE, "workflow_id": MESSAGE,
             "key": f"{TURNS}/checkpoint", "name": f"{TURNS}/wait-signal"}  # fmt: skip
    async with world.unchanged():
        for name, path in names.items():
            for bad in BAD_NAMES:
                shown = json.dumps(bad, ensure_ascii=False)[:79]
                body = {**world.bodies()[path], name: bad}
                await world.is_refused(path, body, "invalid_param", name, f"{name}: got {shown}", NAME_WORDS)


@pytest.mark.parametrize("path", [MESSAGE, f"{TURNS}/signal"])
async def test_bad_message_and_event_ids_are_refused(world: World, path: str) -> None:
    async with world.unchanged():
        for bad in BAD_IDS:
            body = {**world.bodies()[path], "id": bad}
            check_refusal(await world.api.post(path, body), "invalid_param", "id", "id: got ", "xpected ")


@pytest.mark.parametrize("good", ["../x", "a/b", "😀", " a ", "x" * 256])
async def test_message_and_event_ids_may_hold_slash_and_emoji(world: World, good: str) -> None:
    sent = ok(await world.api.post(MESSAGE, {**world.bodies()[MESSAGE], "id": good}))
    told = ok(await world.api.post(f"{TURNS}/signal", {**world.bodies()[f"{TURNS}/signal"], "id": good}))

    assert (sent["message_id"], told["signals"][0]["id"]) == (good, good)


RANGES: list[tuple[str, str, list[Any], str]] = [
    (CREATE, "lease_ms", [99, 3_600_001, -1, 2**53, 10**30], "Expected `int`"),
    (CREATE, "max_attempts", [0, 101, -1], "Expected `int`"),
    (CREATE, "on_exhausted", ["", "stop", "BLOCK"], "Invalid enum value"),
    (CONTROL, "action", ["", "stop"], "Invalid enum value"),
    (CONTROL, "turn", [-1, 2**53, 10**30], "Expected `int`"),
    (CLAIM, "wait_ms", [-1, 2**53], "Expected `int`"),
    (CLAIM, "worker", ["", " ", "w\n", "w\0", "w" * 129], "xpected "),
    (f"{TURNS}/heartbeat", "turn", [-1, 2**53], "Expected `int`"),
    (f"{TURNS}/heartbeat", "token", ["x" * 257], "Expected `str` of length <= 256"),
    (f"{TURNS}/operation", "position", [-1, 2**53], "Expected `int`"),
    (f"{TURNS}/operation", "timeout_ms", [99, 86_400_001, -1], "Expected `int`"),
    (f"{TURNS}/operation", "heartbeat_timeout_ms", [99, 86_400_001], "Expected `int"),
    (f"{TURNS}/operation", "kind", ["sleep", ""], "Invalid enum value"),
    (f"{TURNS}/progress", "sequence", [0, -1, 2**53], "Expected `int`"),
    (f"{TURNS}/checkpoint", "kind", ["model", ""], "Invalid enum value"),
    (f"{TURNS}/wait-signal", "timeout_ms", [0, 365 * 86_400_000 + 1], "Expected `int`"),
    (f"{TURNS}/fail", "retry_at_ms", [-1, 2**53], "Expected `int"),
    (f"{TURNS}/fail", "non_retryable", [0, "false"], "Expected `bool`"),
]


@pytest.mark.parametrize(("path", "name", "values", "words"), RANGES, ids=[f"{r[0][14:]} {r[1]}" for r in RANGES])
async def test_a_value_out_of_its_range_is_named_with_the_range(
    world: World, path: str, name: str, values: list[Any], words: str
) -> None:
    async with world.unchanged():
        for bad in values:
            shown = json.dumps(bad, ensure_ascii=False)[:79]
            body = {**world.bodies()[path], name: bad}
            await world.is_refused(path, body, "invalid_param", name, f"{name}: got {shown}", words)


NESTED: list[tuple[str, dict[str, Any], str, str]] = [
    (CLAIM, {"workflows": [{"workflow_type": "t", "version": "v1"}, {"workflow_type": "a/b", "version": "v1"}]},
     "workflows[1].workflow_type", 'got "a/b"'),
    (CLAIM, {"workflows": [{"workflow_type": "t"}]}, "workflows[0].version", "missing required field"),
    (CLAIM, {"workflows": PAIRS * 201}, "workflows", "Expected `array` of length <= 200"),
    (MESSAGE, {"origin": {}}, "origin.kind", "missing required field"),
    (MESSAGE, {"origin": {"kind": "x", "note": "n" * 281}}, "origin.note", "Expected `str` of length <= 280"),
    (MESSAGE, {"origin": {"kind": "x", "typo": 1}}, "origin.typo", "unknown field"),
    (MESSAGE, {"origin": {"kind": "x", "fields": ["a", 1]}}, "origin.fields[1]", "got 1. Expected `str`"),
    (f"{TURNS}/complete", {"continuation": {}}, "continuation.message", "missing required field"),
    (f"{TURNS}/complete", {"continuation": 1}, "continuation", "got 1. Expected `object | null`"),
    (f"{TURNS}/complete", {"usage": {"calls": -1}}, "usage.calls", "got -1. Expected `int"),
    (f"{TURNS}/complete", {"results": {"inputs": [], "counts": {"lost": 1}}}, "results.counts.lost", "unknown field"),
    (f"{TURNS}/fail", {"results": {"inputs": [{"label": "x", "outcome": "done", "values": []}], "counts": {}}},
     "results.inputs[0].outcome", "Invalid enum value"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "change", "param", "words"), NESTED, ids=[param for _, _, param, _ in NESTED])
async def test_a_nested_field_is_named_with_its_whole_path(
    world: World, path: str, change: dict[str, Any], param: str, words: str
) -> None:
    async with world.unchanged():
        await world.is_refused(path, {**world.bodies()[path], **change}, "invalid_param", param, f"{param}: ", words)


async def test_a_result_report_over_its_size_is_refused(world: World) -> None:
    inputs = [{"label": "l" * 500, "outcome": "written", "values": []}] * 1_000
    body = {**world.bodies()[f"{TURNS}/complete"], "results": {"inputs": inputs, "counts": {}}}
    async with world.unchanged():
        await world.is_refused(f"{TURNS}/complete", body, "payload_too_large", "results", "expected at most 524288")


# -- sizes: one below, at and one above each limit ---------------------------------------------------------------

SIZES: list[tuple[str, str, int]] = [
    (CREATE, "state", limits.STATE_BYTES),
    (MESSAGE, "message", limits.MESSAGE_BYTES),
    (f"{TURNS}/progress", "details", limits.DETAILS_BYTES),
    (f"{TURNS}/progress", "checkpoint", limits.CURSOR_BYTES),
    (f"{TURNS}/signal", "value", limits.SIGNAL_BYTES),
    (f"{TURNS}/checkpoint", "output", limits.OUTPUT_BYTES),
    (f"{TURNS}/complete", "state", limits.STATE_BYTES),
]


@pytest.mark.parametrize(("path", "name", "limit"), SIZES, ids=[f"{path[14:]} {name}" for path, name, _ in SIZES])
@pytest.mark.parametrize("by", [-1, 0])
async def test_a_value_up_to_its_limit_is_taken(world: World, path: str, name: str, limit: int, by: int) -> None:
    ok(await world.api.post(path, {**world.bodies()[path], name: "x" * (limit + by - 2)}))


@pytest.mark.parametrize(("path", "name", "limit"), SIZES, ids=[f"{path[14:]} {name}" for path, name, _ in SIZES])
async def test_a_value_over_its_limit_is_refused_with_both_sizes(
    world: World, path: str, name: str, limit: int
) -> None:
    """B062."""
    async with world.unchanged():
        body = {**world.bodies()[path], name: "x" * (limit - 1)}
        words = f"{name}: got {limit + 1} bytes, expected at most {limit}; save it as a blob"
        await world.is_refused(path, body, "payload_too_large", name, words)


async def test_a_continuation_over_its_limit_is_refused(world: World) -> None:
    body = {**world.bodies()[f"{TURNS}/complete"], "continuation": {"message": "x" * limits.MESSAGE_BYTES}}
    async with world.unchanged():
        await world.is_refused(f"{TURNS}/complete", body, "payload_too_large", "continuation.message", "262146")


@pytest.mark.parametrize("by", [-1, 0, 1])
async def test_a_blob_has_eight_megabytes(world: World, by: int) -> None:
    data = b"x" * (limits.BLOB_BYTES + by)
    answer = await world.api.post(BLOBS, data, workflow_id="a")

    if by == 1:
        check_refusal(answer, "payload_too_large", "body", f"got {limits.BLOB_BYTES + 1} bytes")
    else:
        got = await world.api.get(BLOBS, key=ok(answer)["key"])
        assert (got.content == data, got.headers["content-type"]) == (True, "application/octet-stream")


# -- values that are unusual and fine ----------------------------------------------------------------------------


async def test_unusual_values_are_kept_exactly(world: World) -> None:
    spelled = b'{"big":9007199254740993,"huge":%d,"nul":"a\\u0000b","zero":-0.0,"e":1E2}' % 10**40
    body = b'{"workflow_id":"a","id":"unusual","message":' + spelled + b"}"

    answer = await world.api.post(MESSAGE, body)

    assert spelled in answer.content


# -- the same id with another body -------------------------------------------------------------------------------


async def test_an_id_in_use_is_told_with_both(world: World) -> None:
    """B011, B082."""
    instance = {"id": "a", "workflow_type": "t", "version": "v1"}
    message = {"workflow_id": "a", "id": "m-1"}
    event = {"workflow_id": "a", "turn": 1, "id": "e-1", "name": "ok"}
    ok(await world.api.post(f"{TURNS}/signal", {**event, "value": 1}))
    async with world.unchanged():
        await world.is_refused(CREATE, {**instance, "version": "v2"}, "conflict", None, "t@v1", "t@v2")
        await world.is_refused(CREATE, {**instance, "state": 2}, "conflict", None, "request ", ", now ")
        await world.is_refused(MESSAGE, {**message, "message": 2}, "conflict", None, "turn 1", "content ", ", now ")
        await world.is_refused(f"{TURNS}/signal", {**event, "value": 2}, "conflict", None, '"ok"', "now as")
        for path, body in ((CREATE, instance), (MESSAGE, {**message, "message": 1.0})):
            ok(await world.api.post(path, body))


# -- turns -------------------------------------------------------------------------------------------------------


async def test_a_token_that_lost_is_told_on_every_route(world: World) -> None:
    async with world.unchanged():
        for path, body in world.bodies().items():
            if "token" in body:
                await world.is_refused(path, {**body, "token": "lost"}, "turn_lease_lost", None, "does not hold turn 1")
                await world.is_refused(path, {**body, "turn": 2}, "turn_lease_lost", None, "its current turn is 1")


async def test_what_is_not_there_is_told_on_every_route(world: World) -> None:
    """B079."""
    async with world.unchanged():
        for path, body in world.bodies().items():
            if path not in (CREATE, CLAIM, DELETE):
                await world.is_refused(path, {**body, "workflow_id": "nobody"}, "instance_not_found", None, "'nobody'")
        signal = {**world.bodies()[f"{TURNS}/signal"], "turn": 9}
        await world.is_refused(f"{TURNS}/signal", signal, "turn_not_found", None, "a has no turn 9")
        cancel = {"workflow_id": "a", "action": "cancel_turn", "turn": 9}
        await world.is_refused(CONTROL, cancel, "turn_not_found", None, "its last turn is 2")


async def test_step_mistakes_are_told_with_keys_and_positions(world: World) -> None:
    """B073, B076, B088."""
    save = {**world.lease, "kind": "step", "output": 1}
    ok(await world.api.post(f"{TURNS}/checkpoint", {**save, "key": "s", "position": 0}))
    async with world.unchanged():
        for path, more in ((f"{TURNS}/checkpoint", save), (f"{TURNS}/operation", {**save, "timeout_ms": 5_000})):
            more = {key: value for key, value in more.items() if path.endswith("checkpoint") or key != "output"}
            twice = {**more, "key": "s", "position": 1}
            await world.is_refused(path, twice, "conflict", None, 'key "s" is used twice: at position 0 and at 1')
            renamed = {**more, "key": "renamed", "position": 0}
            await world.is_refused(
                path, renamed, "conflict", None, 'step 0 was saved as "s" (step), now "renamed" (step)'
            )
            far = {**more, "key": "far", "position": 2}
            await world.is_refused(path, far, "conflict", None, "came at position 2; the next position is 1")
        sleeping = {**world.lease, "key": "s", "position": 0, "kind": "sleep", "delay_ms": 5}
        await world.is_refused(f"{TURNS}/checkpoint", sleeping, "conflict", None, 'as "s" (step), now "s" (sleep)')
        for delay_ms in (-1, 365 * 86_400_000 + 1):
            await world.is_refused(
                f"{TURNS}/checkpoint", {**sleeping, "delay_ms": delay_ms}, "invalid_param", "delay_ms", str(delay_ms)
            )
    for position in range(1, 64):
        ok(await world.api.post(f"{TURNS}/checkpoint", {**save, "key": f"s{position}", "position": position}))
    async with world.unchanged():
        last = {**save, "key": "s64", "position": 64}
        await world.is_refused(
            f"{TURNS}/checkpoint", last, "conflict", None, "number 65", "at most 64 steps", "continue_"
        )


async def test_a_type_that_no_worker_serves_is_seen_and_burns_no_attempt(world: World) -> None:
    """B071."""
    await world.api.started("later", workflow_type="later", version="v2")
    await world.api.sent(to="later")
    for _ in range(3):
        assert await world.api.claimed() is None

    seen = ok(await world.api.get(f"{WORKFLOWS}/inbox", workflow_type="later"))

    assert [(one["workflow_id"], one["status"], one["head"]["attempt"]) for one in seen["instances"]] == [
        ("later", "queued", 0)
    ]


# -- routes, methods, queries ------------------------------------------------------------------------------------


async def test_an_unknown_route_is_told(world: World) -> None:
    for method, path in (("GET", "/v1"), ("POST", f"{CREATE}/"), ("GET", f"{WORKFLOWS}/nothing"),
                         ("POST", "/v1/workflows/turns/execution-credential"), ("DELETE", "/x")):  # fmt: skip
        answer = await world.api.ask(method, path)
        check_refusal(answer, "not_found", None, f"no route for {path}")


async def test_a_wrong_method_is_told_on_every_path(world: World) -> None:
    taken: dict[str, set[str]] = {"/": {"GET"}, "/docs": {"GET"}, "/openapi.json": {"GET"}}
    for endpoint in ENDPOINTS:
        taken.setdefault(endpoint.path, set()).add(endpoint.method)
    async with world.unchanged():
        for path, methods in taken.items():
            for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - methods:
                answer = await world.api.ask(method, path)
                check_refusal(answer, "method_not_allowed", None, f"{path} does not take {method}")
                assert answer.headers["allow"] == ", ".join(sorted(methods))


QUERIES: list[tuple[str, str, str, str | None, str]] = [
    (GET, "id=a&typo=1", "invalid_param", "typo", "unknown field"),
    (GET, "", "invalid_param", "id", "missing required field"),
    (GET, "id=", "invalid_param", "id", NAME_WORDS),
    (GET, "id=a/b", "invalid_param", "id", 'got "a/b"'),
    (GET, "id=a%00", "invalid_param", "id", NAME_WORDS),
    (GET, "id=a%0A", "invalid_param", "id", NAME_WORDS),
    (GET, "id=a&id=b", "invalid_request", None, "got a parameter twice"),
    (GET, "id=%ff", "invalid_request", None, "no UTF-8"),
    (GET, "id=a&graph=Main", "invalid_param", "graph", "graph: got 'Main', expected 1 to 63 of a-z"),
    (GET, "id=a&graph=", "invalid_param", "graph", "graph: got ''"),
    (GET, "id=a&graph=a%0A", "invalid_param", "graph", "graph: got"),
    (GET, "garbage&id=a", "invalid_param", "garbage", "unknown field"),
    (CREATE, "limit=0", "invalid_param", "limit", 'got "0"'),
    (CREATE, "limit=201", "invalid_param", "limit", 'got "201"'),
    (CREATE, "limit=ten", "invalid_param", "limit", 'got "ten"'),
    (CREATE, "limit=", "invalid_param", "limit", 'got ""'),
    (CREATE, "status=gone", "invalid_param", "status", "enum"),
    (CREATE, "after=%20", "invalid_param", "after", NAME_WORDS),
    (f"{WORKFLOWS}/instances/history", "id=a&limit=51", "invalid_param", "limit", 'got "51"'),
    (f"{WORKFLOWS}/instances/history", "id=a&after=-1", "invalid_param", "after", 'got "-1"'),
    (f"{WORKFLOWS}/instances/history", "id=a&after=99999999999999999999", "invalid_param", "after", "got"),
    (f"{WORKFLOWS}/instances/inbox", "id=a&payloads=maybe", "invalid_param", "payloads", 'got "maybe"'),
    (f"{WORKFLOWS}/instances/turn", "id=a&turn=x", "invalid_param", "turn", 'got "x"'),
    (f"{WORKFLOWS}/instances/turn", "id=a&turn=1&wait_ms=-1", "invalid_param", "wait_ms", 'got "-1"'),
    (f"{WORKFLOWS}/instances/turn", "id=a&turn=9", "turn_not_found", None, "a has no turn 9"),
    (f"{WORKFLOWS}/instances/run", "id=a&run=%00", "invalid_param", "run", "no control characters"),
    (f"{WORKFLOWS}/instances/run", "id=a&run=x", "workflow_run_not_found", None, "has no run 'x'"),
    (f"{WORKFLOWS}/instances/runs", "id=a&after=%00", "invalid_param", "after", "no control characters"),
    (BLOBS, "key=%00", "invalid_param", "key", "no control characters"),
    (BLOBS, "key=x/y", "blob_not_found", None, "there is no blob 'x/y'"),
    (f"{WORKFLOWS}/inbox", "version=v1", "invalid_param", "workflow_type", "missing required field"),
    (f"{WORKFLOWS}/status", "verbose=1", "invalid_param", "verbose", "unknown field"),
]


@pytest.mark.parametrize(
    ("path", "query", "code", "param", "words"), QUERIES, ids=[f"{q[0][14:]}?{q[1]}" for q in QUERIES]
)
async def test_a_bad_query_is_named(
    world: World, path: str, query: str, code: str, param: str | None, words: str
) -> None:
    check_refusal(await world.api.ask("GET", f"{path}?{query}"), code, param, words)


async def test_a_query_that_nobody_reads_is_refused_on_every_post(world: World) -> None:
    async with world.unchanged():
        for path, body in world.bodies().items():
            await world.is_refused(path, body, "invalid_param", "verbose", "unknown field", verbose="1")


async def test_a_blob_needs_to_know_whose_it_is(world: World) -> None:
    async with world.unchanged():
        await world.is_refused(BLOBS, b"bytes", "invalid_param", "workflow_id", "missing required field")
        await world.is_refused(BLOBS, b"bytes", "invalid_param", "workflow_id", NAME_WORDS, workflow_id="a/b")


# -- keys, roles, environments -----------------------------------------------------------------------------------


async def test_without_a_valid_key_nothing_is_told_and_nothing_done(world: World) -> None:
    bad = [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Basic {KEY}",
        KEY,
        f"Bearer {KEY}x",
        f"bearer  x{KEY}",
        "Bearer é",
    ]
    async with world.unchanged():
        for endpoint in ENDPOINTS:
            if endpoint.roles is None:
                continue
            for header in bad:
                headers = [(b"authorization", header.encode("latin-1"))]
                answer = await world.api.ask(endpoint.method, endpoint.path, headers=headers, content=b"{}")
                check_refusal(answer, "unauthorized", None, "key")


async def test_the_key_works_in_both_headers(world: World) -> None:
    for headers in ({"authorization": f"bearer {KEY}"}, {"authorization": "", "x-api-key": KEY}):
        assert (await world.api.ask("GET", f"{CREATE}", headers=headers)).status_code == 200


async def test_a_role_may_do_what_its_row_says_and_no_more(world: World) -> None:
    """Decision 20, on every endpoint."""
    for role in keys.ROLES:
        grant = Grant("test", "user", role)
        await world.api.app.store.write(partial(keys.add, key=f"key {role}", label=role, grant=grant))
    async with world.unchanged():
        for endpoint in ENDPOINTS:
            for role in set(keys.ROLES) - (endpoint.roles or set(keys.ROLES)):
                headers = {"authorization": f"Bearer key {role}"}
                answer = await world.api.ask(endpoint.method, endpoint.path, headers=headers, content=b"{}")
                needed = ", ".join(sorted(endpoint.roles or ()))
                check_refusal(answer, "forbidden", None, f"the key's role is {role}", needed)
    for role in ("read", "review"):
        answer = await world.api.get(GET, headers={"authorization": f"Bearer key {role}"}, id="a")
        assert answer.status_code == 200


async def test_a_key_of_another_environment_sees_and_does_nothing(world: World) -> None:
    await world.api.app.store.write(lambda tx: keys.add(tx, "other", "other", Grant("live", "user", "admin")))
    headers = {"authorization": "Bearer other"}
    async with world.unchanged():
        answer = await world.api.get(GET, headers=headers, id="a")
        check_refusal(answer, "instance_not_found", None, "'a'")
        answer = await world.api.post(MESSAGE, world.bodies()[MESSAGE], headers=headers)
        check_refusal(answer, "instance_not_found", None, "'a'")
        answer = await world.api.get(GET, headers=headers, id="a", stack="test")
        check_refusal(answer, "stack_endpoint_mismatch", "stack", "stack: got 'test', the key belongs to 'live'")
    assert (await world.api.get(GET, id="a", stack="test")).status_code == 200


async def test_a_refused_request_makes_no_graph(world: World) -> None:
    """A graph is made by its first use; what was refused is none."""
    async with world.unchanged():
        for path, body in world.bodies().items():
            await world.is_refused(path, {**body, "typo": 1}, "invalid_param", "typo", "unknown field", graph="new")
            if path not in (CREATE, CLAIM, DELETE):
                await world.is_refused(path, body, "instance_not_found", None, "there is no instance", graph="new")
        body = {**world.bodies()[CREATE], "state": "x" * limits.STATE_BYTES}
        await world.is_refused(CREATE, body, "payload_too_large", "state", "bytes", graph="new")
        assert ok(await world.api.post(DELETE, {"workflow_id": "a"}, graph="new")) == {"deleted": False}
        assert ok(await world.api.get(CREATE, graph="new")) == {"instances": []}


@pytest.mark.parametrize("route", ["create", "claim", "blob"])
async def test_a_graph_is_made_by_its_first_use(world: World, route: str) -> None:
    before = len(dump(world.api.store.location)["graph"])
    for _ in range(2):
        if route == "blob":
            ok(await world.api.post(BLOBS, b"bytes", workflow_id="a", graph="new"))
        else:
            path = CREATE if route == "create" else CLAIM
            ok(await world.api.post(path, world.bodies()[path], graph="new"))

    assert len(dump(world.api.store.location)["graph"]) == before + 1


# -- the engine switched off -------------------------------------------------------------------------------------


async def test_with_the_engine_off_every_route_of_it_says_so(open_store: OpenStore) -> None:
    """P32."""
    async with serving(open_store, workflows=False) as api:
        before = dump(open_store.location)
        for endpoint in ENDPOINTS:
            path = _with_query(endpoint.path, endpoint.query)
            if endpoint.is_of_engine:
                answer = await api.ask(endpoint.method, path, content=b"{}")
                check_refusal(answer, "workflows_disabled", None, "switched off")
            elif endpoint.method == "GET":
                assert "workflows_disabled" not in (await api.ask("GET", path)).text
        assert dump(open_store.location) == before
        assert ok(await api.get("/version"))["capabilities"] == []


def _with_query(path: str, query: Any) -> str:
    """With a value for each required parameter."""
    values = {"turn": "1", "graph": "main"}
    needed = [field.name for field in msgspec.structs.fields(query) if field.required]
    params = "&".join(f"{name}={quote(values.get(name, 'a'))}" for name in needed)
    return f"{path}?{params}" if needed else path
