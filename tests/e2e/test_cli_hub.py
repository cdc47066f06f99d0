"""`turnbuckle hub` against a real server: blobs, keys, definitions, deployments, runs, sessions."""

import copy
import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import blobhub
from tests.e2e.hub_shell import DOCUMENT, HubShell, hub_shell
from turnbuckle.hub_deploy import files

_NUMBERS = itertools.count(1)
QUESTION = 'question={"type": "text", "text": "Where is order 17?"}'
CODE = {
    "answer.py": (
        "from orders.find import number\n"
        "question = get_data_input('question')['text']\n"
        "post_output_event(f'order {number(question)}')\n"
    ),
    "orders/find.py": "import re\n\n\ndef number(text):\n    return int(re.search('[0-9]+', text).group(0))\n",
}


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubShell]:
    """One server for all tests of this module; each has a blob of its own."""
    with hub_shell(tmp_path_factory.mktemp("hub")) as found:
        yield found


@pytest.fixture
def blob(shell: HubShell) -> str:
    name = f"acme/bot-{next(_NUMBERS)}"
    shell.init(name)
    return name


@pytest.fixture
def manifest(tmp_path: Path, blob: str) -> str:
    """A manifest of one definition whose code is two files."""
    files.write(tmp_path / "answer-question.json", DOCUMENT)
    for name, text in CODE.items():
        (tmp_path / "code" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "code" / name).write_text(text)
    component = {"name": "Answer", "code": {"base_path": "code", "entry_point": "answer.py"}}
    definition = {"alias": "answer-question", "source": "answer-question.json", "components": [component]}
    content = {"type": "workflow_blob_deployment", "version": "1.0", "blob": blob, "revision": "default"}
    files.write(tmp_path / "deploy.yaml", {**content, "definitions": [definition]})
    return str(tmp_path / "deploy.yaml")


def deployed(shell: HubShell, blob: str) -> Any:
    return json.loads(shell.ok("definitions", "download", blob, "answer-question").out)


def code_of(document: Any) -> Any:
    return document["components"][2]["ports"][1]["value"]["message"]


# -- init and keys ---------------------------------------------------------------------------------------------------


def test_init_tells_programs_five_things(shell: HubShell) -> None:
    made = shell.json("init", "acme/five", "--data", str(shell.data))

    assert set(made) == {"org_id", "blob_id", "revision_id", "api_key", "api_url"}
    assert made["api_url"] == shell.url
    with blobhub.connect(api_key=made["api_key"], api_url=made["api_url"]) as client:
        revision = client.blob("acme", "five").revision()
    assert (revision.id, revision.phase, revision.status) == (made["revision_id"], "draft", "ready")


def test_init_again_gives_another_key_for_the_same_blob(shell: HubShell) -> None:
    first, second = (shell.json("init", "acme/again", "--data", str(shell.data)) for _ in range(2))

    assert first["api_key"] != second["api_key"]
    assert {**first, "api_key": ""} == {**second, "api_key": ""}
    refused = shell.refused("init", "acme/again", "--type", "scheduler", "--data", str(shell.data))
    assert refused["code"] == "BLOB_NOT_WORKFLOW"


def test_the_key_of_init_is_for_its_organization_alone(shell: HubShell) -> None:
    shell.init("other/secret")
    key = shell.json("init", "acme/own", "--data", str(shell.data))["api_key"]

    assert shell.refused("revisions", "list", "other/secret", BLOBHUB_API_KEY=key)["code"] == "BLOB_NOT_ACCESSIBLE"
    shell.ok("revisions", "list", "acme/own", BLOBHUB_API_KEY=key)


@pytest.mark.parametrize("name", ["acme", "acme/a/b", "Acme/bot", "acme/", f"acme/{'a' * 65}", f"acme/{'0' * 32}"])
def test_a_name_that_could_not_be_called_is_refused(shell: HubShell, name: str) -> None:
    assert shell.refused("init", name, "--data", str(shell.data))["code"] == "BLOB_REFERENCE_INVALID"


def test_a_profile_lets_a_bare_connect_work(shell: HubShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = HubShell(shell.data, tmp_path, shell.url)
    for name in ("BLOBHUB_API_KEY", "BLOBHUB_API_URL", "BLOBHUB_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    words = ("init", "acme/profiles", "--data", str(shell.data), "--profile")
    first, second = (home.json(*words, name) for name in ("work", "play"))

    file = tmp_path / ".blobhub" / "credentials.yaml"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert files.read(file) == {
        "default": "work",
        "profiles": {
            "work": {"key": first["api_key"], "url": shell.url},
            "play": {"key": second["api_key"], "url": shell.url},
        },
    }
    with blobhub.connect() as client:
        assert client.blob("acme", "profiles").id == first["blob_id"]
    assert os.listdir(file.parent) == ["credentials.yaml"]


def test_a_profile_file_that_others_can_read_is_not_touched(shell: HubShell, tmp_path: Path) -> None:
    """And no key is made that could not be kept."""
    file = tmp_path / ".blobhub" / "credentials.yaml"
    files.write(file, {"profiles": {}})
    before = file.read_text()

    refused = HubShell(shell.data, tmp_path, shell.url).refused(
        "init", "acme/closed", "--data", str(shell.data), "--profile", "work"
    )

    assert refused["code"] == "INSECURE_CREDENTIALS_PERMISSIONS"
    assert file.read_text() == before
    assert shell.refused("revisions", "list", "acme/closed")["code"] == "BLOB_NOT_ACCESSIBLE"


def test_a_reader_of_one_blob_reads_that_alone(shell: HubShell, blob: str) -> None:
    key = shell.json("keys", "create", blob, "--role", "read", "--data", str(shell.data))["key"]

    shell.ok("definitions", "list", blob, BLOBHUB_API_KEY=key)
    assert shell.run("revisions", "commit", blob, "default", BLOBHUB_API_KEY=key).code == 1
    shell.init("acme/another")
    assert shell.refused("revisions", "list", "acme/another", BLOBHUB_API_KEY=key)["code"] == "BLOB_NOT_ACCESSIBLE"
    nobody = shell.refused("keys", "create", "nobody/here", "--data", str(shell.data))
    assert nobody["code"] == "BLOB_NOT_ACCESSIBLE"


# -- how commands fail -----------------------------------------------------------------------------------------------


def test_without_a_key_it_is_told_how_to_get_one(shell: HubShell, tmp_path: Path) -> None:
    done = HubShell(shell.data, tmp_path, shell.url).run("revisions", "list", "acme/bot")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("turnbuckle: CREDENTIALS_NOT_FOUND: there is no key\nhint: `turnbuckle hub init")


@pytest.mark.parametrize(
    ("code", "words", "environment"),
    [
        ("AUTH_INVALID", ("revisions", "list", "acme/x"), {"BLOBHUB_API_KEY": "wrong"}),
        ("PROFILE_NOT_FOUND", ("revisions", "list", "acme/x", "--profile", "nobody"), {}),
        ("API_NETWORK_ERROR", ("revisions", "list", "acme/x"), {"BLOBHUB_API_URL": "http://127.0.0.1:1/v1"}),
        ("BLOB_REFERENCE_INVALID", ("revisions", "list", "bot"), {}),
        ("BLOB_NOT_ACCESSIBLE", ("revisions", "list", "acme/nowhere"), {}),
        ("MANIFEST_NOT_FOUND", ("deploy", "-f", "nowhere.yaml"), {}),
        ("WORKFLOW_REFERENCE_INVALID", ("run", "a/b"), {}),
        ("WORKFLOW_REFERENCE_INVALID", ("run", "answer-question"), {}),
        ("INPUT_INVALID", ("run", "acme/b/default/d", "--input", "question"), {}),
        ("INPUT_INVALID", ("run", "acme/b/default/d", "--input", "question=1"), {}),
        ("FORMAT_PARSE_ERROR", ("run", "acme/b/default/d", "--input", "question=hello"), {}),
        ("SOURCE_NOT_FOUND", ("run", "acme/b/default/d", "--input", "question=@nowhere.json"), {}),
    ],
)
def test_a_refusal_has_its_code(
    shell: HubShell, blob: str, code: str, words: tuple[str, ...], environment: dict[str, str]
) -> None:
    refused = shell.refused(*words, **environment)

    assert refused["code"] == code, refused
    assert set(refused) == {"error", "hint", "code", "schema_version"}
    assert refused["hint"]


def test_a_bare_name_gets_its_organization(shell: HubShell, blob: str) -> None:
    bare = blob.split("/")[1]

    assert shell.json("revisions", "list", bare, "--org", "acme") == shell.json("revisions", "list", blob)
    assert shell.json("revisions", "list", bare, BLOBHUB_ORG="acme") == shell.json("revisions", "list", blob)


# -- revisions -------------------------------------------------------------------------------------------------------


def test_a_draft_is_committed_branched_and_made_the_default(shell: HubShell, blob: str, manifest: str) -> None:
    shell.ok("deploy", "-f", manifest)
    first = shell.json("revisions", "commit", blob, "default", "--comment", "first")["revision"]
    assert shell.refused("deploy", "-f", manifest)["code"] == "REVISION_NOT_WRITABLE"

    draft = shell.json("revisions", "create", blob, "--comment", "second")["revision"]

    assert (first["phase"], draft["phase"], draft["parent_id"]) == ("commit", "draft", first["id"])
    assert shell.json("revisions", "list", blob)["default_revision_id"] == first["id"]
    shell.ok("revisions", "set-default", blob, draft["id"])
    assert shell.json("revisions", "list", blob)["default_revision_id"] == draft["id"]
    assert f"*  {draft['id']}" in shell.ok("revisions", "list", blob).out
    assert shell.json("deploy", "-f", manifest)["unchanged"] == ["answer-question"]
    absent = shell.refused("revisions", "set-default", blob, "00000000-0000-4000-8000-000000000000")
    assert absent["code"] == "REVISION_NOT_ACCESSIBLE"


# -- definitions -----------------------------------------------------------------------------------------------------


def test_a_document_goes_up_and_comes_down_as_it_is(shell: HubShell, blob: str, tmp_path: Path) -> None:
    files.write(tmp_path / "answer-question.json", DOCUMENT)

    up = shell.json("definitions", "upload", blob, str(tmp_path / "answer-question.json"))
    shell.ok("definitions", "download", blob, "answer-question", "--output", str(tmp_path / "down.yaml"))
    again = shell.json("definitions", "upload", blob, str(tmp_path / "down.yaml"), "--alias", "answer-question")

    assert (up["created"], again["created"]) == (True, False)
    assert files.read(tmp_path / "down.yaml") == DOCUMENT
    assert deployed(shell, blob) == DOCUMENT
    assert shell.json("definitions", "show", blob, up["definition_id"])["document"] == DOCUMENT
    listed = shell.json("definitions", "list", blob)["definitions"]
    assert [(one["alias"], one["category"]) for one in listed] == [("answer-question", "workflow")]
    assert shell.json("definitions", "list", blob, "--category", "playground")["definitions"] == []


def test_people_see_components_and_connections(shell: HubShell, blob: str, tmp_path: Path) -> None:
    files.write(tmp_path / "answer-question.json", DOCUMENT)
    shell.ok("definitions", "upload", blob, str(tmp_path / "answer-question.json"))

    shown = shell.ok("definitions", "show", blob, "answer-question").out

    assert "logic.code" in shown
    assert "Start --next--> Answer\nQuestion --value to question--> Answer\n" in shown


def test_a_check_tells_what_is_wrong(shell: HubShell, blob: str, tmp_path: Path) -> None:
    files.write(tmp_path / "broken.json", {**DOCUMENT, "components": DOCUMENT["components"][1:]})
    shell.ok("definitions", "upload", blob, str(tmp_path / "broken.json"), "--alias", "broken-one")

    done = shell.run("definitions", "check", blob, "broken-one", "--json")

    assert (done.code, done.refusal["code"]) == (1, "CHECK_FAILED")
    assert "no_start" in {event["code"] for event in done.json["events"]}
    assert "no_start" in shell.run("definitions", "check", blob, "broken-one").out


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("DEFINITION_NOT_ACCESSIBLE", ("show", "BLOB", "nobody-knows")),
        ("DEFINITION_NOT_ACCESSIBLE", ("download", "BLOB", "nobody-knows")),
        ("DEFINITION_NOT_ACCESSIBLE", ("check", "BLOB", "nobody-knows")),
        ("FORMAT_UNSUPPORTED", ("upload", "BLOB", "definition.toml")),
        ("SOURCE_NOT_FOUND", ("upload", "BLOB", "nowhere-at-all.json")),
    ],
)
def test_a_definition_that_cannot_be_had_is_refused(
    shell: HubShell, blob: str, code: str, words: tuple[str, ...]
) -> None:
    words = tuple(blob if word == "BLOB" else word for word in words)

    assert shell.refused("definitions", *words)["code"] == code


# -- deploy, diff, pull ----------------------------------------------------------------------------------------------


def test_a_deployment_goes_from_files_to_a_run(shell: HubShell, blob: str, manifest: str) -> None:
    before = shell.json("diff", "-f", manifest)["definitions"][0]
    assert (before["presence"], before["state"], before["compile_error"]) == ("local_only", None, None)
    assert shell.json("deploy", "-f", manifest, "--dry-run")["planned"] == ["answer-question"]
    assert shell.json("definitions", "list", blob)["definitions"] == []

    told = shell.json("deploy", "-f", manifest)

    names = ["answer-question"]
    assert told == {
        "created": names,
        "uploaded": names,
        "unchanged": [],
        "planned": [],
        "skipped_check": [],
        "checked": names,
        "dry_run": False,
        "drift": [],
        "schema_version": "1.0",
    }
    assert [block["text"].split("\n")[0] for block in code_of(deployed(shell, blob))["content"]] == [
        "# blobhub:source orders/find.py",
        "# blobhub:source answer.py",
    ]
    assert shell.json("deploy", "-f", manifest)["unchanged"] == names
    after = shell.json("diff", "-f", manifest)["definitions"][0]
    assert (after["presence"], after["is_equal"], after["state"]) == ("both", True, "MANAGED_CLEAN")
    ran = shell.ok("run", f"{blob}/default/answer-question", "--input", QUESTION, "--watch")
    assert "Answer: order 17\n" in ran.out
    assert ran.out.endswith("completed\n")


def test_a_dry_run_leaves_the_files_as_they_are(shell: HubShell, manifest: str) -> None:
    folder = Path(manifest).parent
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    shell.ok("deploy", "-f", manifest, "--dry-run")
    shell.ok("diff", "-f", manifest)

    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_changed_code_is_seen_and_deployed(shell: HubShell, blob: str, manifest: str) -> None:
    shell.ok("deploy", "-f", manifest)
    answer = Path(manifest).parent / "code" / "answer.py"
    answer.write_text(answer.read_text().replace("order {", "your order {"))

    difference = shell.json("diff", "-f", manifest)["definitions"][0]

    assert (difference["code_changed"], difference["connections_changed"]) == (["c"], False)
    assert shell.json("deploy", "-f", manifest)["uploaded"] == ["answer-question"]
    assert "your order" in code_of(deployed(shell, blob))["content"][1]["text"]


def test_an_edit_on_the_server_is_not_lost(shell: HubShell, blob: str, manifest: str, tmp_path: Path) -> None:
    shell.ok("deploy", "-f", manifest)
    edited = deployed(shell, blob)
    code_of(edited)["content"][1]["text"] += "\n# edited"
    files.write(tmp_path / "edited.json", edited)
    shell.ok("definitions", "upload", blob, str(tmp_path / "edited.json"), "--alias", "answer-question")

    assert shell.json("diff", "-f", manifest)["definitions"][0]["state"] == "REMOTE_EDIT"
    assert shell.refused("deploy", "-f", manifest)["code"] == "REMOTE_EDIT"
    assert shell.json("pull", "-f", manifest, "--dry-run")["planned"] == ["answer-question"]
    assert shell.json("pull", "-f", manifest)["pulled"] == ["answer-question"]
    assert files.read(tmp_path / "answer-question.json") == edited
    assert shell.refused("deploy", "-f", manifest)["code"] == "REMOTE_EDIT"
    assert shell.json("deploy", "-f", manifest, "--force")["uploaded"] == ["answer-question"]
    assert shell.json("diff", "-f", manifest)["definitions"][0]["state"] == "MANAGED_CLEAN"


def test_nothing_is_uploaded_when_something_cannot_be_built(shell: HubShell, blob: str, manifest: str) -> None:
    content = files.read(Path(manifest))
    content["definitions"].append({**copy.deepcopy(content["definitions"][0]), "alias": "second-one"})
    content["definitions"][1]["components"][0]["code"]["entry_point"] = "nowhere.py"
    files.write(Path(manifest), content)

    assert shell.refused("deploy", "-f", manifest)["code"] == "ENTRY_POINT_NOT_FOUND"
    assert shell.json("definitions", "list", blob)["definitions"] == []
    errors = [one["compile_error"] for one in shell.json("diff", "-f", manifest)["definitions"]]
    assert (errors[0], errors[1]["code"]) == (None, "ENTRY_POINT_NOT_FOUND")


def test_a_module_that_the_blob_does_not_allow_is_refused(shell: HubShell, manifest: str) -> None:
    (Path(manifest).parent / "code" / "orders" / "find.py").write_text("import numpy\nnumber = numpy")

    assert shell.refused("deploy", "-f", manifest)["code"] == "IMPORT_UNAVAILABLE"


def test_a_deployment_that_is_not_sound_stays_and_is_told(shell: HubShell, blob: str, manifest: str) -> None:
    document = {**DOCUMENT, "components": DOCUMENT["components"][1:]}
    files.write(Path(manifest).parent / "answer-question.json", document)

    refused = shell.refused("deploy", "-f", manifest)

    assert refused["code"] == "CHECK_FAILED"
    assert "no_start" in refused["error"]
    assert len(deployed(shell, blob)["components"]) == 2


def test_what_the_manifest_does_not_name_is_told_and_stays(
    shell: HubShell, blob: str, manifest: str, tmp_path: Path
) -> None:
    files.write(tmp_path / "other-one.json", DOCUMENT)
    shell.ok("definitions", "upload", blob, str(tmp_path / "other-one.json"))

    assert shell.json("deploy", "-f", manifest)["drift"] == ["other-one"]
    assert shell.json("diff", "-f", manifest)["drift"] == ["other-one"]
    assert shell.refused("pull", "-f", manifest, "--definition", "other-one")["code"] == "DEFINITION_NOT_ACCESSIBLE"


def test_pull_writes_a_file_that_is_not_there(shell: HubShell, blob: str, manifest: str) -> None:
    assert shell.json("pull", "-f", manifest)["absent"] == ["answer-question"]
    shell.ok("deploy", "-f", manifest)
    source = Path(manifest).parent / "answer-question.json"
    source.unlink()
    assert shell.refused("deploy", "-f", manifest)["code"] == "SOURCE_NOT_FOUND"
    assert shell.json("diff", "-f", manifest)["definitions"][0]["presence"] == "remote_only"

    shell.ok("pull", "-f", manifest)

    assert files.read(source) == deployed(shell, blob)


def test_a_playground_is_made_with_its_layout_and_not_checked(shell: HubShell, manifest: str) -> None:
    document = {"type": "playground_definition", "version": "1.1.0", "components": [], "connections": []}
    source = Path(manifest).parent / "screen.json"
    files.write(source, {**document, "layout": {"type": "free_form"}})
    content = files.read(Path(manifest))
    content["definitions"] = [{"alias": "answer-question", "source": "screen.json"}]
    files.write(Path(manifest), content)

    told = shell.json("deploy", "-f", manifest)

    assert (told["created"], told["skipped_check"], told["checked"]) == (["answer-question"], ["answer-question"], [])
    files.write(source, {**document, "layout": {"type": "grid", "columns": 12}})
    assert shell.refused("deploy", "-f", manifest)["code"] == "PLAYGROUND_LAYOUT_IMMUTABLE"


def test_the_page_about_deploying_holds(shell: HubShell, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/howto/deploy-a-definition.md").read_text()
    for name, text in re.findall(r"^`([\w./-]+)`:\n\n```[\w ]+\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shell.init("acme/support-bot")
    shell.init("acme/timer", "--type", "scheduler")

    assert shell.json("deploy", "-f", str(tmp_path / "deploy.yaml"))["checked"] == ["answer-question"]
    ran = shell.ok("run", "acme/support-bot/default/answer-question", "--input", QUESTION, "--watch")
    assert "Order 17 is on its way." in ran.out
    assert shell.json("schedules", "deploy", "-f", str(tmp_path / "timer.yaml"))["created"] == ["each-morning"]


# -- run and sessions ------------------------------------------------------------------------------------------------


def test_a_run_tells_programs_where_it_is(shell: HubShell, blob: str, manifest: str, tmp_path: Path) -> None:
    shell.ok("deploy", "-f", manifest)
    (tmp_path / "question.json").write_text('{"type": "text", "text": "Where is order 17?"}')
    reference = f"{blob}/default/answer-question"

    told = shell.json("run", reference, "--input", f"question=@{tmp_path / 'question.json'}", "--session", "sdk-demo")
    again = shell.json(
        "run", "answer-question", "--blob", blob, "--session", "sdk-demo", "--input", QUESTION, "--watch"
    )

    assert set(told) == {
        "execution_id",
        "session_id",
        "session_created",
        "definition",
        "status",
        "url",
        "schema_version",
    }
    assert (told["session_created"], again["session_created"]) == (True, False)
    assert told["session_id"] == again["session_id"]
    assert told["execution_id"] in told["url"]
    assert again["status"] == "completed"


def test_a_definition_runs_beside_another_blob(shell: HubShell, blob: str, manifest: str) -> None:
    shell.ok("deploy", "-f", manifest)
    shell.ok("revisions", "commit", blob, "default")
    home = f"{blob}-home"
    shell.init(home)
    reference = f"{blob}/default/answer-question"

    told = shell.json("run", reference, "--blob", home, "--input", QUESTION, "--watch")

    assert told["status"] == "completed"
    assert len(shell.json("sessions", "list", home)["sessions"]) == 1
    assert shell.refused("run", reference, "--input", QUESTION)["code"] == "REVISION_NOT_WRITABLE"


def test_a_watched_run_that_fails_ends_with_one(shell: HubShell, blob: str, manifest: str) -> None:
    shell.ok("deploy", "-f", manifest)

    done = shell.run("run", f"{blob}/default/answer-question", "--watch", "--json")

    assert done.code == 1
    assert (done.json["status"], done.refusal["code"]) == ("failed", "EXECUTION_FAILED")
    assert done.refusal["error"] != "the run failed: it does not say why"


def test_a_watch_that_ends_early_leaves_the_run_alone(shell: HubShell, blob: str, manifest: str) -> None:
    (Path(manifest).parent / "code" / "answer.py").write_text("time.sleep(30)")
    shell.ok("deploy", "-f", manifest)
    words = ("run", f"{blob}/default/answer-question", "--session", "long-one", "--watch", "--timeout", "0")

    done = shell.ok(*words)

    assert "warning: EXECUTION_WATCH_TIMEOUT: the run goes on after 0 s" in done.err
    assert done.out.splitlines()[-1] in ("creating", "running")
    shell.ok("sessions", "close", blob, "long-one")


def test_what_cannot_run_is_refused(shell: HubShell, blob: str, manifest: str) -> None:
    shell.ok("deploy", "-f", manifest)
    reference, absent = f"{blob}/default/answer-question", "00000000-0000-4000-8000-000000000000"

    assert shell.refused("run", f"{blob}/default/nobody-knows")["code"] == "DEFINITION_NOT_ACCESSIBLE"
    assert shell.refused("run", reference, "--session", absent)["code"] == "SESSION_NOT_ACCESSIBLE"
    shell.ok("run", reference, "--input", QUESTION, "--session", "closed-one", "--watch")
    shell.ok("sessions", "close", blob, "closed-one")
    assert shell.refused("run", reference, "--session", "closed-one")["code"] == "SESSION_NOT_OPEN"


def test_sessions_are_listed_closed_opened_and_deleted(shell: HubShell, blob: str, manifest: str) -> None:
    shell.ok("deploy", "-f", manifest)
    run = ("run", f"{blob}/default/answer-question", "--input", QUESTION, "--watch", "--session")
    ids = [shell.json(*run, alias)["session_id"] for alias in ("first-one", "second-one")]

    assert [one["id"] for one in shell.json("sessions", "list", blob)["sessions"]] == ids[::-1]
    assert [one["alias"] for one in shell.json("sessions", "list", blob, "--limit", "1")["sessions"]] == ["second-one"]
    assert shell.json("sessions", "close", blob, "first-one")["status"] == "closed"
    assert shell.json("sessions", "open", blob, ids[0])["status"] == "open"
    assert shell.json("sessions", "delete", blob, "first-one")["status"] == "gone"
    assert [one["id"] for one in shell.json("sessions", "list", blob)["sessions"]] == [ids[1]]
    assert "second-one" in shell.ok("sessions", "list", blob).out
    assert shell.refused("sessions", "close", blob, "first-one")["code"] == "SESSION_NOT_ACCESSIBLE"
