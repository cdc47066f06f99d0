"""`Workflow.execute`: references, input data, the session, the run (blobhub 3.5, 4.8, 4.9)."""

import math
from types import MappingProxyType
from typing import Any

import httpx
import pytest

from blobhub import (
    BlobHubError,
    CommandError,
    Conflict,
    NetworkError,
    PermissionDenied,
    RateLimited,
    RequestNotSent,
    ServerError,
)
from blobhub.types.workflow import Execution, Workflow
from tests.unit.blobhub_scripted import Answer, MovedTime, Script, client_of, ok, refused, revision_of

ID = "5f2c0c6e-8a1b-4c5d-9e7f-0123456789ab"
IDS = [ID, ID.upper(), ID.replace("-", ""), "{" + ID + "}", f"urn:uuid:{ID}"]
OPEN = ok(session={"id": "s1", "status": "open"})
RUN = ok(execution={"id": "e1", "session_id": "s1", "status": "creating"})
ABSENT = refused(403, "access_denied", "Not allowed or not there")
MESSAGE = {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "Where is my order?"}]}}


def execute(script: Script, reference: Any = "answer-question", key: str | None = "k", **arguments: Any) -> Execution:
    workflow = Workflow(revision_of(client_of(script, key=key)))
    return workflow.execute(reference, **arguments)


def sent_reference(reference: Any) -> Any:
    script = Script(OPEN, RUN)
    execute(script, reference)
    return script.bodies[1]["workflow"]


# The reference.


@pytest.mark.parametrize(
    ("reference", "workflow"),
    [
        ("answer-question", {"definition": "answer-question"}),
        (ID, {"definition": ID}),
        (" padded ", {"definition": " padded "}),
        ("x" * 64, {"definition": "x" * 64}),
        (f"{ID}/default/answer", {"blob": ID, "revision": "default", "definition": "answer"}),
        ("acme/faq-bot/default/a", {"org": "acme", "blob": "faq-bot", "revision": "default", "definition": "a"}),
        (f"acme/{ID}/{ID}/{ID}", {"org": "acme", "blob": ID, "revision": ID, "definition": ID}),
        *((f"acme/bot/{spelling}/a", {"org": "acme", "blob": "bot", "revision": spelling, "definition": "a"})
          for spelling in IDS),
    ],
)  # fmt: skip
def test_a_reference_is_sent_by_its_parts(reference: str, workflow: dict[str, str]) -> None:
    """As text and as a mapping."""
    assert sent_reference(reference) == sent_reference(MappingProxyType(workflow)) == workflow


MALFORMED: list[Any] = [
    "", " ", "\t", "a/b", f"{ID}/default", "a/b/default/d/e", "/", "//", "///", "x" * 65,
    "acme//default/a", "acme/bot//a", "acme/bot/default/", "acme/bot/default/ ", "/bot/default/a",
    "acme/bot/latest/a", "acme/bot/Default/a", "acme/bot/default /a", "acme/bot/" + ID[:-1] + "/a",
    "acme/bot/" + "0123456789abcdef_0123456789abcde" + "/a",
    "faq-bot/default/answer", f"{ID.upper()}/default/answer", f"{ID.replace('-', '')}/default/answer",
    f"acme/bot/default/{'x' * 65}", f"{'x' * 65}/bot/default/a",
    {}, {"definition": ""}, {"definition": " "}, {"definition": 5}, {"definition": None}, {"definition": "x" * 65},
    {"definition": "a", "extra": "b"}, {"blob": ID, "definition": "a"}, {"revision": "default", "definition": "a"},
    {"org": "acme", "revision": "default", "definition": "a"}, {"org": "acme", "blob": "b", "revision": "default"},
    {"blob": "faq-bot", "revision": "default", "definition": "a"}, {"blob": ID, "revision": "x", "definition": "a"},
    {"org": "a", "blob": "b", "revision": None, "definition": "d"}, {1: "a"},
    None, 5, b"answer", ["answer"], ("acme", "bot", "default", "a"), ...,
]  # fmt: skip


@pytest.mark.parametrize("reference", MALFORMED, ids=repr)
def test_a_malformed_reference_is_refused_before_anything_is_sent(reference: Any) -> None:
    script = Script()

    with pytest.raises(ValueError, match=r"reference|organization"):
        execute(script, reference, session="sdk-demo")

    assert script.requests == []


# Input data.


@pytest.mark.parametrize(
    ("input_data", "sent"),
    [
        ({"question": MESSAGE}, [{"alias": "question", "value": MESSAGE}]),
        ({}, []),
        (
            {"b": {"type": "integer", "integer": 1}, "a": {"odd": None}},
            [{"alias": "b", "value": {"type": "integer", "integer": 1}}, {"alias": "a", "value": {"odd": None}}],
        ),
        (MappingProxyType({"a": MappingProxyType({"type": "x"})}), [{"alias": "a", "value": {"type": "x"}}]),
        ({"": {}}, [{"alias": "", "value": {}}]),
    ],
)
def test_input_data_is_sent_in_order_and_untouched(input_data: Any, sent: Any) -> None:
    script = Script(OPEN, RUN)

    execute(script, input_data=input_data)

    assert script.bodies[1]["input_data"] == sent


def test_no_input_data_is_left_out() -> None:
    script = Script(OPEN, RUN)

    execute(script)

    assert script.bodies[1] == {
        "command": "create_execution",
        "target": {"session": "s1"},
        "workflow": {"definition": "answer-question"},
    }


def circle() -> dict[str, Any]:
    value: dict[str, Any] = {"type": "x"}
    value["self"] = value
    return value


def deep() -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(100_000):
        value = {"v": value}
    return value


@pytest.mark.parametrize(
    "input_data",
    [
        [("question", MESSAGE)], "question", 5, [], {5: MESSAGE}, {None: MESSAGE}, {"question": "text"},
        {"question": None}, {"question": [MESSAGE]}, {"a": MESSAGE, "b": 5}, {"q": {"x": math.nan}},
        {"q": {"x": [math.inf]}}, {"q": {"x": ...}}, {"q": {"x": b"bytes"}}, {"q": {"x": {1, 2}}},
        {"q": {"x": "\ud800"}}, {"q": {(1, 2): 3}}, {"q": circle()}, {"q": deep()},
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_other_input_data_is_refused_before_anything_is_sent(input_data: Any) -> None:
    script = Script()

    with pytest.raises(TypeError):
        execute(script, input_data=input_data, session="sdk-demo")

    assert script.requests == []


# The session.


def steps(script: Script) -> list[tuple[str, Any]]:
    return [(body.pop("command"), body) for body in script.bodies if body["command"] != "create_execution"]


GET = ("get_session", {"session_id": "sdk-demo"})
MAKE = ("create_session", {"alias": "sdk-demo"})


def test_without_a_session_a_new_one_is_made_whatever_its_status() -> None:
    script = Script(ok(session={"id": "s1"}), RUN)

    run = execute(script)

    assert steps(script) == [("create_session", {})]
    assert run.session_id == "s1"


@pytest.mark.parametrize("session", ["sdk-demo", *IDS])
def test_an_open_session_is_used(session: str) -> None:
    script = Script(OPEN, RUN)

    execute(script, session=session)

    assert steps(script) == [("get_session", {"session_id": session})]
    assert script.bodies[1]["target"] == {"session": "s1"}


def test_an_alias_nobody_has_makes_a_session() -> None:
    script = Script(ABSENT, OPEN, RUN)

    execute(script, session="sdk-demo")

    assert steps(script) == [GET, MAKE]
    assert len(script.requests) == 3


def test_who_loses_the_race_for_an_alias_uses_the_winners_session() -> None:
    script = Script(ABSENT, refused(400, "alias_in_use"), ok(session={"id": "theirs", "status": "open"}), RUN)

    execute(script, session="sdk-demo")

    assert steps(script) == [GET, MAKE, GET]
    assert script.bodies[3]["target"] == {"session": "theirs"}


@pytest.mark.parametrize("session", IDS)
def test_an_id_nobody_has_is_denied_and_never_made(session: str) -> None:
    script = Script(ABSENT)

    with pytest.raises(PermissionDenied, match="absent or not accessible") as caught:
        execute(script, session=session)

    assert (caught.value.error, caught.value.status) == ("access_denied", 403)
    assert caught.value.__context__ is None
    assert script.commands == ["get_session"]


def test_an_anonymous_caller_keeps_the_hint_there() -> None:
    script = Script(ok(refresh_token="r", access_token="a"), ABSENT)

    with pytest.raises(PermissionDenied, match=r"absent or not accessible.*BLOBHUB_API_KEY"):
        execute(script, session=ID, key=None)


@pytest.mark.parametrize("alias", ["0123456789abcdef_0123456789abcde", ID[:-1], f"{ID}0", "cafe-babe"])
def test_an_alias_that_only_resembles_an_id_is_an_alias(alias: str) -> None:
    script = Script(ABSENT, OPEN, RUN)

    execute(script, session=alias)

    assert script.commands == ["get_session", "create_session", "create_execution"]


@pytest.mark.parametrize("status", ["closing", "closed", "deleting", None])
@pytest.mark.parametrize(
    "before", [[], [ABSENT], [ABSENT, refused(400, "alias_in_use")]], ids=["found", "made", "lost the race"]
)
def test_a_session_that_is_not_open_is_a_conflict_before_anything_is_run(
    before: list[Answer], status: str | None
) -> None:
    script = Script(*before, ok(session={"id": "s1", "status": status}), RUN)

    with pytest.raises(Conflict) as caught:
        execute(script, session="sdk-demo")

    assert (caught.value.error, caught.value.status) == ("session_not_open", None)
    assert "create_execution" not in script.commands


@pytest.mark.parametrize("session", ["", " ", "\n", 5, b"sdk-demo", ["sdk-demo"], True])
def test_a_session_that_is_blank_or_no_text_is_refused_before_anything_is_sent(session: Any) -> None:
    script = Script()

    with pytest.raises(ValueError, match="session"):
        execute(script, session=session)

    assert script.requests == []


@pytest.mark.parametrize(
    ("answers", "cls", "code"),
    [
        ([refused(404, "not_found")], BlobHubError, "not_found"),
        ([refused(409, "revision_not_ready")], Conflict, "revision_not_ready"),
        ([ABSENT, refused(400, "limit_exceeded")], CommandError, "limit_exceeded"),
        ([ABSENT, refused(400, "invalid_request_body")], CommandError, "invalid_request_body"),
        ([ABSENT, refused(409, "revision_not_writable")], Conflict, "revision_not_writable"),
        ([ABSENT, refused(403, "access_denied")], PermissionDenied, "access_denied"),
        ([ABSENT, refused(503, "down")], ServerError, "down"),
        ([ABSENT, httpx.ReadError("x")], NetworkError, "network_error"),
        ([ABSENT, refused(400, "alias_in_use"), refused(403, "access_denied")], PermissionDenied, "access_denied"),
        ([ok()], ServerError, "invalid_response"),
        ([ok(session={"status": "open"})], ServerError, "invalid_response"),
        ([ABSENT, ok(session=None)], ServerError, "invalid_response"),
    ],
)
def test_any_other_failure_of_a_session_step_is_raised(answers: list[Answer], cls: type[Exception], code: str) -> None:
    script = Script(*answers)

    with pytest.raises(cls) as caught:
        execute(script, session="sdk-demo")

    assert getattr(caught.value, "error", None) == code
    assert "create_execution" not in script.commands


# The run.


def test_the_run_is_given_as_soon_as_it_exists() -> None:
    script = Script(OPEN, RUN)

    run = execute(script, session="sdk-demo", input_data={"question": MESSAGE})

    assert (run.id, run.session_id, run.status) == ("e1", "s1", "creating")
    assert script.commands == ["get_session", "create_execution"]


@pytest.mark.parametrize(
    ("answer", "cls", "code", "may_have_run"),
    [
        (ABSENT, PermissionDenied, "access_denied", False),
        (refused(409, "session_not_open"), Conflict, "session_not_open", False),
        (refused(409, "revision_not_writable"), Conflict, "revision_not_writable", False),
        (refused(400, "invalid_definition_category"), CommandError, "invalid_definition_category", False),
        (refused(400, "limit_exceeded", limit={"id": "x", "value": 1}), CommandError, "limit_exceeded", False),
        (refused(429), RateLimited, "no", False),
        (httpx.ConnectError("x"), RequestNotSent, "request_not_sent", False),
        (refused(503, "down"), ServerError, "down", True),
        (httpx.ReadTimeout("x"), NetworkError, "network_error", True),
        (ok(), ServerError, "invalid_response", True),
        (ok(execution={"status": "creating"}), ServerError, "invalid_response", True),
    ],
)
def test_each_failure_to_create_a_run_has_its_class_and_is_never_repeated_when_it_may_have_run(
    answer: Answer, cls: type[BlobHubError], code: str, may_have_run: bool
) -> None:
    script = Script(OPEN, answer)

    with pytest.raises(cls) as caught:
        execute(script, session="sdk-demo")

    assert (type(caught.value), caught.value.error) == (cls, code)
    if may_have_run:
        assert script.commands.count("create_execution") == 1


def test_a_run_that_was_only_held_up_is_created_once() -> None:
    script = Script(OPEN, refused(429), httpx.ConnectError("x"), RUN)
    time = MovedTime()

    run = Workflow(revision_of(time.client(script))).execute("a", session="sdk-demo")

    assert run.id == "e1"
    assert time.slept == [0.25, 0.5]


def test_our_own_arguments_are_sent_only_when_they_are_given() -> None:
    script = Script(OPEN, RUN, OPEN, RUN)

    execute(script, pause_before=("c1", "c2"), dry_run=True)
    execute(script, pause_before=[], dry_run=False)

    first, second = (body for body in script.bodies if body["command"] == "create_execution")
    assert (first["pause_before"], first["dry_run"]) == (["c1", "c2"], True)
    assert (second["pause_before"], "dry_run" in second) == ([], False)


@pytest.mark.parametrize("pause_before", ["c1", [1], [None]])
def test_components_to_pause_before_are_a_list_of_ids(pause_before: Any) -> None:
    script = Script()

    with pytest.raises(TypeError, match="pause_before"):
        execute(script, pause_before=pause_before)

    assert script.requests == []
