"""Client, Blob, Revision and Operation (blobhub 2.4, 4.3 to 4.6)."""

import itertools
from typing import Any

import httpx
import pytest

from blobhub import Conflict, NotFound, OperationFailed, ServerError, WaitTimeout
from tests.unit.blobhub_scripted import (
    BLOB,
    KEY,
    ORG,
    REVISION,
    URL,
    MovedTime,
    Script,
    blob_of,
    client_of,
    ok,
    refused,
    revision_of,
)

RECORD = {"id": BLOB, "org_id": ORG, "type": "x.y", "alias": "bot", "visibility": "public", "status": "active"}


def sent(request: httpx.Request) -> str:
    return f"{request.method} {request.url.raw_path.decode().removeprefix('/v1/')}"


def test_a_request_carries_the_key_and_the_json_as_given() -> None:
    script = Script(ok(a=1))

    client_of(script).request("post", "//things", json={"ü": None, "n": [1, {"a": 2.5}]})

    request = script.request
    assert str(request.url) == f"{URL}/things"
    assert request.method == "POST"
    assert request.headers["x-api-key"] == KEY
    assert "authorization" not in request.headers
    assert request.headers["content-type"] == "application/json"
    assert request.content == '{"ü":null,"n":[1,{"a":2.5}]}'.encode()


def test_parameters_that_are_none_are_left_out() -> None:
    script = Script()

    client_of(script).request("GET", "things", params={"limit": 5, "cursor": None, "q": "a b"})
    client_of(script).request("GET", "things", params={"cursor": None})

    assert [sent(request) for request in script.requests] == ["GET things?limit=5&q=a+b", "GET things"]
    assert script.requests[0].content == b""


@pytest.mark.parametrize(
    "path", ["http://elsewhere.test/x", "https:x", "HTTP://h", "../x", "a/../b", "a/./b", "..", "/../x?y"]
)
def test_a_path_that_leaves_the_api_is_refused(path: str) -> None:
    script = Script()

    with pytest.raises(ValueError, match="path"):
        client_of(script).request("GET", path)

    assert script.requests == []


@pytest.mark.parametrize("body", [float("nan"), float("inf"), "\ud800"])
def test_what_json_cannot_say_is_not_sent(body: Any) -> None:
    script = Script()

    with pytest.raises(ValueError, match=r"JSON|surrogates"):
        client_of(script).request("POST", "x", json={"a": body})

    assert script.requests == []


def test_whoami_is_the_user_of_the_key() -> None:
    script = Script(ok(user={"id": "u", "name": "Ada"}))

    assert client_of(script).whoami() == {"id": "u", "name": "Ada"}
    assert sent(script.request) == "GET users/me"


def test_an_anonymous_client_is_nobody_without_a_request() -> None:
    script = Script()

    assert client_of(script, key=None).whoami() is None
    assert script.requests == []


def test_no_repr_shows_the_key() -> None:
    client = client_of(Script())
    revision = revision_of(client)

    for thing in (client, client.identity, client._settings, revision, revision.blob, revision.typed()):
        assert KEY not in repr(thing)


def test_leaving_the_client_closes_it() -> None:
    with client_of(Script()) as client:
        client.request("GET", "x")

    with pytest.raises(RuntimeError, match="closed"):
        client.request("GET", "x")


# Blobs.


def test_a_blob_is_read_by_the_names_given() -> None:
    script = Script(ok(blob=RECORD | {"default_revision_id": None}))

    blob = client_of(script).blob("acme corp", "a/b")

    assert sent(script.request) == "GET blobs/acme%20corp/a%2Fb"
    assert (blob.id, blob.alias, blob.org_id, blob.type) == (BLOB, "bot", ORG, "x.y")
    assert (blob.visibility, blob.status, blob.default_revision_id) == ("public", "active", None)
    assert blob.record == RECORD | {"default_revision_id": None}


@pytest.mark.parametrize("segment", ["", ".", ".."])
def test_a_segment_that_names_nothing_is_refused(segment: str) -> None:
    script = Script()
    client = client_of(script)

    for send in (
        lambda: client.blob(segment, "b"),
        lambda: client.blob("o", segment),
        lambda: client.operation(segment),
        lambda: blob_of(client).revision(segment),
    ):
        with pytest.raises(ValueError, match="address"):
            send()
    assert script.requests == []


@pytest.mark.parametrize(
    "answer", [{}, {"blob": None}, {"blob": []}, {"blob": {"id": 5}}, {"blob": {"id": "b"}},
               {"blob": {"id": "b", "org_id": "o", "type": None}}],
)  # fmt: skip
def test_an_answer_without_the_blob_cannot_be_used(answer: dict[str, Any]) -> None:
    with pytest.raises(ServerError) as caught:
        client_of(Script(ok(**answer))).blob("o", "b")

    assert caught.value.error == "invalid_response"


def test_a_blob_is_read_again_by_its_ids() -> None:
    script = Script(ok(blob=RECORD | {"alias": "new"}))

    blob = blob_of(client_of(script))

    assert blob.refresh() is blob
    assert blob.alias == "new"
    assert sent(script.request) == f"GET blobs/{ORG}/{BLOB}"


def test_a_revision_is_the_default_or_the_one_named() -> None:
    script = Script(ok(revision={"id": "r1", "status": "ready", "phase": "draft", "comment": "c", "parent_id": "p"}))
    blob = blob_of(client_of(script))

    revision = blob.revision()
    blob.revision("r1")

    assert [sent(request) for request in script.requests] == [
        f"GET blobs/{ORG}/{BLOB}/revisions/default",
        f"GET blobs/{ORG}/{BLOB}/revisions/r1",
    ]
    assert (revision.blob, revision.id, revision.status, revision.phase) == (blob, "r1", "ready", "draft")
    assert (revision.comment, revision.parent_id, revision.updated_at) == ("c", "p", None)


def test_a_blob_without_a_default_revision_is_told() -> None:
    with pytest.raises(NotFound, match="revision_not_found"):
        blob_of(client_of(Script(refused(404, "revision_not_found")))).revision()


def test_revisions_are_read_page_by_page_as_they_are_needed() -> None:
    script = Script(ok(revisions=[{"id": "r3"}, {"id": "r2"}], cursor="c/1"), ok(revisions=[{"id": "r1"}], cursor=None))

    revisions = blob_of(client_of(script)).revisions(page_size=2)
    assert script.requests == []
    assert [revision.id for revision in itertools.islice(revisions, 2)] == ["r3", "r2"]
    assert len(script.requests) == 1
    assert [revision.id for revision in revisions] == ["r1"]

    queries = [dict(request.url.params) for request in script.requests]
    assert queries == [{"limit": "2"}, {"limit": "2", "cursor": "c/1"}]


def test_a_cursor_that_comes_back_ends_the_listing() -> None:
    page = ok(revisions=[], cursor="c")

    with pytest.raises(ServerError) as caught:
        list(blob_of(client_of(Script(page, ok(revisions=[], cursor="d"), page))).revisions())

    assert caught.value.error == "cursor_loop"


@pytest.mark.parametrize("page", [{}, {"revisions": {}}, {"revisions": ["r"]}, {"revisions": [], "cursor": 5}])
def test_a_page_that_is_none_cannot_be_used(page: dict[str, Any]) -> None:
    with pytest.raises(ServerError) as caught:
        list(blob_of(client_of(Script(ok(**page)))).revisions())

    assert caught.value.error == "invalid_response"


def test_a_new_revision_is_given_once_it_is_ready() -> None:
    time = MovedTime()
    script = Script(
        ok(revision_id="r2"),
        ok(revision={"id": "r2", "status": "creating", "phase": "draft"}),
        ok(revision={"id": "r2", "status": "ready", "phase": "draft"}),
    )

    revision = blob_of(client_of(script, time)).create_revision("a change")

    assert (revision.id, revision.status) == ("r2", "ready")
    assert script.bodies[0] == {"comment": "a change"}
    assert [sent(request) for request in script.requests] == [
        f"POST blobs/{ORG}/{BLOB}/revisions",
        "GET revisions/r2",
        "GET revisions/r2",
    ]
    assert time.slept == [2.0]


def test_a_new_revision_that_fails_names_what_failed() -> None:
    failed = {"id": "r2", "status": "failed", "phase": "draft", "failed_operation": "copy"}

    with pytest.raises(OperationFailed, match="copy") as caught:
        blob_of(client_of(Script(ok(revision_id="r2"), ok(revision=failed)))).create_revision("c")

    assert caught.value.error == "revision_failed"


def test_a_new_revision_that_takes_too_long_goes_on() -> None:
    time = MovedTime()
    creating = ok(revision={"id": "r2", "status": "creating"})

    with pytest.raises(WaitTimeout, match="r2"):
        blob_of(client_of(Script(ok(revision_id="r2"), creating), time)).create_revision("c", timeout=5)

    assert time.slept == [2.0, 2.0, 2.0]


# Revisions.


def test_a_commit_ends_when_the_revision_is_ready_and_frozen() -> None:
    """A read that lags behind may still show the ready draft."""
    time = MovedTime()
    states = [("ready", "draft"), ("committing", "draft"), ("ready", "commit")]
    answers = [ok(revision={"id": REVISION, "status": status, "phase": phase}) for status, phase in states]
    script = Script(ok(), *answers)
    revision = revision_of(client_of(script, time))

    assert revision.commit("done") is revision

    assert (revision.status, revision.phase) == ("ready", "commit")
    assert (sent(script.requests[0]), script.bodies[0]) == (
        f"POST revisions/{REVISION}/commit",
        {"comment": "done"},
    )
    assert time.slept == [2.0, 2.0]


def test_a_commit_without_a_comment_sends_an_empty_object() -> None:
    script = Script(ok(), ok(revision={"id": REVISION, "status": "ready", "phase": "commit"}))

    revision_of(client_of(script)).commit()

    assert script.requests[0].content == b"{}"


def test_a_commit_that_fails_is_raised() -> None:
    failed = ok(revision={"id": REVISION, "status": "failed", "failed_operation": "commit"})

    with pytest.raises(OperationFailed) as caught:
        revision_of(client_of(Script(ok(), failed))).commit()

    assert caught.value.error == "revision_failed"


def test_a_data_call_is_flat_and_leaves_out_what_is_none() -> None:
    script = Script(ok(rows=[1]))
    revision = revision_of(client_of(script))

    assert revision.query("list_things", limit=5, cursor=None, empty="", off=False) == {
        "status": "success",
        "rows": [1],
    }
    revision.command("make_thing", value={"a": None})

    assert [sent(request) for request in script.requests] == [
        f"POST revisions/{REVISION}/data/query",
        f"POST revisions/{REVISION}/data/command",
    ]
    assert script.bodies == [
        {"command": "list_things", "limit": 5, "empty": "", "off": False},
        {"command": "make_thing", "value": {"a": None}},
    ]


def test_the_name_of_a_command_always_wins() -> None:
    script = Script()

    revision_of(client_of(script)).command("real", command="other", a=1)

    assert script.bodies == [{"command": "real", "a": 1}]


def test_a_revision_that_is_not_ready_is_a_conflict() -> None:
    with pytest.raises(Conflict, match="revision_not_ready"):
        revision_of(client_of(Script(refused(409, "revision_not_ready")))).query("get_session", session_id="s")


# Operations.


def operation(status: str) -> httpx.Response:
    return ok(operation={"id": "o1", "status": status, "type": "upload", "revision_id": "r"})


def test_an_operation_is_waited_for() -> None:
    time = MovedTime()
    script = Script(operation("pending"), operation("running"), operation("completed"))

    job = client_of(script, time).operation("o1")
    assert job.wait(interval=3) is job

    assert (job.id, job.status, job.type, job.revision_id) == ("o1", "completed", "upload", "r")
    assert time.slept == [3]
    assert {sent(request) for request in script.requests} == {"GET operations/o1"}


def test_an_operation_that_fails_is_raised() -> None:
    with pytest.raises(OperationFailed) as caught:
        client_of(Script(operation("failed"))).operation("o1").wait()

    assert caught.value.error == "operation_failed"


def test_an_operation_that_takes_too_long_goes_on() -> None:
    time = MovedTime()

    with pytest.raises(WaitTimeout) as caught:
        client_of(Script(operation("running")), time).operation("o1").wait(timeout=3)

    assert caught.value.error == "wait_timeout"
    assert time.slept == [2.0, 2.0]
