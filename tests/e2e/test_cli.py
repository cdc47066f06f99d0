"""The command line as a person uses it, against a real server.

Commands that only talk to the server run in this process, the others in one of their own.
"""

import json
import os
import pty
import re
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lbb import LbbClient, LbbError
from tests.e2e.by_hand import Hand
from turnbuckle.cli.main import cli

TURNBUCKLE = str(Path(sys.executable).with_name("turnbuckle"))
NUMBERS = '{"n": 12345678901234567890123, "f": 1.10}'
COMMAND_S = 60  # on a busy machine; most take half a second


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Shell:
    """A place to type commands: the store's folder, the server's address and a key."""

    data: Path
    url: str
    key: str

    def run(self, *words: str, stdin: str | None = None, **environment: str) -> Done:
        done = CliRunner().invoke(cli, words, input=stdin, env=self.environment | environment)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return Done(done.exit_code, done.stdout, done.stderr)

    def ok(self, *words: str, **options: str) -> Done:
        done = self.run(*words, **options)
        assert done.code == 0, done.err
        return done

    def spawn(self, *words: str) -> Done:
        """The command in a process of its own, in the folder of the store's folder."""
        command = [TURNBUCKLE, *words]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=COMMAND_S, env=self.environment, cwd=self.data.parent
        )
        assert "Traceback" not in done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"LBB_URL": self.url, "LBB_API_KEY": self.key}

    def client(self, key: str | None = None) -> LbbClient:
        return LbbClient(self.url, api_key=key or self.key, max_retries=0)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """One server for all tests of this module; each uses instances of its own."""
    data = tmp_path_factory.mktemp("store") / ".turnbuckle"  # where commands look for it by default
    with subprocess.Popen(
        [TURNBUCKLE, "serve", "--port", "0", "--data", str(data)], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().removeprefix("listening on ").strip()
            key = Shell(data, url, "").spawn("keys", "create").out.strip()
            yield Shell(data, url, key)
        finally:
            server.send_signal(signal.SIGTERM)
    assert server.returncode == 0


@pytest.fixture(scope="module")
def hand(shell: Shell) -> Iterator[Hand]:
    with shell.client() as client:
        yield Hand(client)


# -- keys, doctor, backup: the store beside its server -----------------------------------------------------------


def test_a_key_works_at_once_and_a_revoked_one_stops(shell: Shell) -> None:
    key = shell.spawn("keys", "create", "--role", "read").out.strip()
    with shell.client(key) as client:
        client.raw_request("GET", "/v1/workflows/instances")

        assert shell.spawn("keys", "revoke", key[-4:]).code == 0
        revoked_at = time.monotonic()
        with pytest.raises(LbbError) as refused:
            ask_without_end(client)

    assert refused.value.code == "unauthorized"
    assert time.monotonic() - revoked_at < 2


def ask_without_end(client: LbbClient) -> None:
    """The test's timeout ends it when nothing else does."""
    while True:
        client.raw_request("GET", "/v1/workflows/instances")


def test_commands_on_the_store_do_not_disturb_its_server(shell: Shell, hand: Hand) -> None:
    """Another process that opens the same file must cost nobody a request."""
    hand.start("undisturbed")
    sender = Sender(hand, "undisturbed")
    with sender:
        for words in (("keys", "create"), ("keys", "list"), ("doctor",)):
            assert shell.spawn(*words).code == 0

    assert sender.failures == []
    assert len(sender.sent) > 10


class Sender:
    """Sends messages one after the other while the block lasts."""

    def __init__(self, hand: Hand, instance_id: str) -> None:
        self.sent: list[int] = []
        self.failures: list[Exception] = []
        self._hand, self._instance_id = hand, instance_id
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._send)

    def __enter__(self) -> "Sender":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _send(self) -> None:
        number = 0
        while not self._stop.is_set():
            number += 1
            try:
                self._hand.send(self._instance_id, f"n{number}", number)
                self.sent.append(number)
            except LbbError as exc:
                self.failures.append(exc)


def test_a_backup_during_writes_is_whole(shell: Shell, hand: Hand, tmp_path: Path) -> None:
    """Every message that was acknowledged before it began is in it, and doctor finds it well."""
    hand.start("copied")
    with Sender(hand, "copied") as sender:
        while len(sender.sent) < 20:
            time.sleep(0.01)
        acknowledged = len(sender.sent)
        assert shell.spawn("backup", str(tmp_path / "turnbuckle.db")).code == 0
        written_meanwhile = len(sender.sent) - acknowledged

    assert sender.failures == []
    assert written_meanwhile > 0
    assert list(tmp_path.iterdir()) == [tmp_path / "turnbuckle.db"]
    assert "PROBLEM" not in shell.ok("doctor", "--data", str(tmp_path)).out
    copied = messages_in(tmp_path / "turnbuckle.db", "copied")
    assert copied >= {f"n{number}" for number in range(1, acknowledged + 1)}


def messages_in(file: Path, instance_id: str) -> set[str]:
    with closing(sqlite3.connect(file)) as store:
        rows = store.execute("select message_id from message where instance_id = ?", (instance_id,)).fetchall()
    return {message_id.decode() for (message_id,) in rows}


def test_doctor_finds_store_and_server_well(shell: Shell) -> None:
    checked = shell.spawn("doctor", "--url", shell.url)

    assert f"server {shell.url}: serve mode, store sqlite, ok" in checked.out
    assert re.search(r"ok +all \d+ endpoints that need a key refuse a call without one \(401\)", checked.out)
    assert checked.code == 0


# -- sending -----------------------------------------------------------------------------------------------------


def test_numbers_come_back_as_they_were_typed(shell: Shell, tmp_path: Path) -> None:
    """Neither a large integer nor a decimal is respelled on its way through the command."""
    shell.ok("start", "exact", "--type", "exact", "--version", "v1", "--state", NUMBERS)
    (tmp_path / "message.json").write_text(NUMBERS, "utf-8")

    sent = [
        shell.ok("send", "exact", NUMBERS, "--id", "argument", "--json"),
        shell.ok("send", "exact", f"@{tmp_path}/message.json", "--id", "file", "--json"),
        shell.ok("send", "exact", "-", "--id", "stdin", "--json", stdin=NUMBERS),
    ]

    assert all(f'"message":{NUMBERS}' in done.out for done in sent)
    assert f'"state":{NUMBERS}' in shell.ok("instances", "show", "exact", "--json").out
    assert "12345678901234567890123" in shell.ok("instances", "show", "exact").out


def test_a_repeated_command_changes_nothing(shell: Shell) -> None:
    started = [shell.ok("start", "twice", "--type", "twice", "--version", "v1").out for _ in range(2)]
    sent = [shell.ok("send", "twice", "1", "--id", "m1").out for _ in range(2)]

    assert started == ["twice: twice@v1, idle\n"] * 2
    assert sent == ["twice: turn 1 queued\n"] * 2
    assert shell.ok("instances", "show", "twice", "--json").json["pending_messages"] == 1


def test_a_refusal_is_one_line_and_code_1(shell: Shell) -> None:
    shell.ok("start", "other", "--type", "other", "--version", "v1")
    shell.ok("send", "other", "1", "--id", "m1")

    refused = shell.spawn("send", "other", "2", "--id", "m1")

    assert (refused.code, refused.out) == (1, "")
    assert re.fullmatch(r"turnbuckle: message id 'm1' was used for turn 1 .*\(conflict\)\n", refused.err)


def test_no_server_is_one_line_that_says_what_to_do(shell: Shell) -> None:
    refused = shell.run("instances", LBB_URL="http://127.0.0.1:1")

    assert refused.code == 1
    assert refused.err.startswith("turnbuckle: no server answers at http://127.0.0.1:1 (")
    assert refused.err.count("\n") == 1


@pytest.mark.parametrize("command", [("instances",), ("reviews", "list")])
def test_an_empty_list_says_how_another_graph_is_named(shell: Shell, command: tuple[str, ...]) -> None:
    assert "LBB_GRAPH names another graph" in shell.ok(*command, LBB_GRAPH="mian").err
    assert shell.ok(*command, "--json", LBB_GRAPH="mian").err == ""


def test_no_unconfirmed_effect_is_told_in_words(shell: Shell) -> None:
    assert shell.ok("effects").err == "Nothing is unconfirmed on this graph; name an instance to see what it did.\n"


@pytest.mark.parametrize("command", ["serve", "dev"])
def test_a_port_in_use_is_one_line_that_says_what_to_do(shell: Shell, tmp_path: Path, command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = shell.spawn(command, "--port", str(port), "--data", str(tmp_path / "store"))

    assert refused.code == 1
    assert refused.err == f"turnbuckle: another program listens on 127.0.0.1:{port}; stop it, or give another --port\n"


def test_a_wrong_key_is_one_line(shell: Shell) -> None:
    refused = shell.run("instances", LBB_API_KEY="lbb_sk_live_wrong")

    assert refused.code == 1
    assert refused.err.endswith("(unauthorized)\n")


def test_the_graph_is_that_of_option_or_environment(shell: Shell) -> None:
    shell.ok("start", "there", "--type", "there", "--version", "v1", "--graph", "elsewhere")

    assert shell.ok("instances", "--json", LBB_GRAPH="elsewhere").json["instances"][0]["id"] == "there"
    assert shell.run("instances", "show", "there").code == 1


def test_a_signal_says_what_became_of_it(shell: Shell, hand: Hand) -> None:
    hand.start("ask", 1)
    hand.listen(hand.claim("ask"), 0, "approved")

    early = shell.ok("signal", "ask", "later", "null", "--turn", "1", "--id", "e1").out
    heard = shell.ok("signal", "ask", "approved", '{"by": "me"}', "--turn", "1", "--id", "e2").out

    assert early == "ask: turn 1 waiting, signal later kept until a step waits for it\n"
    assert heard == 'ask: turn 1 queued, signal approved taken by step "wait-approved"\n'


# -- control -----------------------------------------------------------------------------------------------------


def test_a_failed_turn_is_retried_and_skipped(shell: Shell, hand: Hand) -> None:
    hand.start("broken", 2, max_attempts=1)
    hand.fail(hand.claim("broken"), "no price")

    assert "failed for good: no price" in shell.ok("instances", "show", "broken").out
    assert "broken: queued; turn 1 has been ready" in shell.ok("retry", "broken", "--turn", "1").out
    hand.fail(hand.claim("broken"), "no price again")
    assert "broken: queued; turn 2 has been ready" in shell.ok("skip", "broken", "--turn", "1").out
    refused = shell.run("skip", "broken", "--turn", "1")
    assert refused.err.startswith("turnbuckle: cannot skip turn 1: the current turn is 2")


def test_an_instance_is_paused_woken_resumed_and_a_turn_cancelled(shell: Shell, hand: Hand) -> None:
    hand.start("held-up", 1)
    hand.fail(hand.claim("held-up"), "budget", retry_at_ms=int(time.time() * 1_000) + 600_000)

    assert "without counting an attempt: budget" in shell.ok("instances", "show", "held-up").out
    assert shell.ok("pause", "held-up").out.startswith("held-up: paused; paused by a person")
    assert "held-up: waiting" not in shell.ok("resume", "held-up").out
    hand.fail(hand.claim("held-up"), "budget", retry_at_ms=int(time.time() * 1_000) + 600_000)
    assert "held-up: queued" in shell.ok("wake", "held-up").out
    assert "held-up: idle; nothing to do" in shell.ok("cancel", "held-up", "--turn", "1").out


# -- looking -----------------------------------------------------------------------------------------------------


def test_a_type_that_no_worker_serves_is_visible(shell: Shell, hand: Hand) -> None:
    """A message for v2 while only v1 workers run waits, is told, and burns no attempt."""
    shell.ok("start", "orphan", "--type", "counter", "--version", "v2")
    shell.ok("send", "orphan", "1", "--id", "m1")
    v1 = {"worker": "old", "workflows": [{"workflow_type": "counter", "version": "v1"}], "wait_ms": 0}
    assert hand.post("turns/claim", v1)["task"] is None

    words = "no worker for counter@v2 has claimed since the server started at"
    assert words in shell.ok("instances", "show", "orphan").out
    assert words in shell.ok("instances", "--type", "counter").out
    assert words in shell.ok("watch", "--once").out
    assert shell.ok("instances", "show", "orphan", "--json").json["current_turn"]["attempt"] == 0

    v2 = v1 | {"workflows": [{"workflow_type": "counter", "version": "v2"}]}
    assert hand.post("turns/claim", v2)["task"]["turn"]["attempt"] == 1
    assert "worker old runs turn 1" in shell.ok("instances", "show", "orphan").out


def test_a_running_turn_is_shown_with_its_steps(shell: Shell, hand: Hand) -> None:
    hand.start("indexing", 1)
    lease = hand.claim("indexing", worker="host-7")
    hand.save_step(lease, 0, "split", {"pages": 1_200})
    hand.begin(lease, 1, "count")
    hand.report(lease, "count", 1, {"phase": "pages", "done": 340, "total": 1_200, "unit": "pages"})

    shown = shell.ok("instances", "show", "indexing").out

    assert 'worker host-7 runs turn 1, step "count"; last sign of life' in shown
    assert re.search(r'split +step +\d\d:\d\d:\d\d +\{"pages": 1200\}', shown)
    assert re.search(r"count +tool +- +runs since .*pages: 340 of 1,200 pages \(28 %\), told .* ago", shown)


def test_turns_show_history_and_inbox(shell: Shell, hand: Hand) -> None:
    hand.start("busy", 4)
    hand.complete(hand.claim("busy"), 1, continuation={"message": "more"})
    hand.post("instances/control", {"workflow_id": "busy", "action": "cancel_turn", "turn": 3})
    hand.fail(hand.claim("busy"), "boom")

    lines = [line.split() for line in shell.ok("turns", "busy").out.splitlines()[1:]]
    document = shell.ok("turns", "busy", "--json").json

    assert [line[0] for line in lines] == ["1", "3", "2", "4", "5"]
    assert [line[2] for line in lines] == ["completed", "cancelled", "waiting", "queued", "queued"]
    assert "continued in turn 5" in " ".join(lines[0])
    assert [turn["number"] for turn in document["history"]["turns"]] == [1, 3]
    assert [message["turn"] for message in document["inbox"]["messages"]] == [2, 4, 5]


def test_the_newest_turns_come_without_asking_for_a_page(shell: Shell, hand: Hand) -> None:
    hand.start("long", 5)
    for _ in range(5):
        hand.complete(hand.claim("long"))

    newest = shell.ok("turns", "long", "--limit", "2", "--json").json["history"]["turns"]
    first = shell.ok("turns", "long", "--limit", "2", "--after", "0")

    assert [turn["number"] for turn in newest] == [4, 5]
    assert [line.split()[0] for line in first.out.splitlines()[1:]] == ["1", "2"]
    assert "There are more finished turns: --after 2" in first.err


def test_one_turn_is_shown_in_full(shell: Shell, hand: Hand) -> None:
    hand.start("detail", 1)
    lease = hand.claim("detail")
    hand.save_step(lease, 0, "draft", {"text": "hello"})
    hand.listen(lease, 1, "approved")
    shell.ok("signal", "detail", "approved", '{"by": "me"}', "--turn", "1", "--id", "e1")
    hand.complete(hand.claim("detail"), {"done": 1}, result={"sent": True})

    shown = shell.ok("turns", "detail", "--turn", "1").out

    for expected in (
        r"^turn 1 of detail +completed$",
        r'^message +m1: \{"number": 1\}$',
        r'^result +\{"sent": true\}$',
        r'^state after +\{"done": 1\}$',
        r"^run +\d+-detail-1, began .*, took ",
        r'^draft +step +.* +\{"text": "hello"\}$',
        r'^wait-approved +signal +.* +\{"received": true, "value": \{"by": "me"\}\}$',
        r'^e1 +approved +.* +wait-approved +\{"by": "me"\}$',
    ):
        assert re.search(expected, re.sub(r" +$", "", shown, flags=re.MULTILINE), re.MULTILINE), expected
    assert shell.ok("turns", "detail", "--turn", "1", "--json").json["result"] == {"sent": True}


def test_runs_show_what_each_attempt_did(shell: Shell, hand: Hand) -> None:
    hand.start("trying", 1)
    hand.fail(hand.claim("trying"), "ConnectionError: refused")
    shell.ok("resume", "trying")
    lease = hand.claim("trying")
    hand.save_step(lease, 0, "fetch", 1)
    hand.complete(lease)

    lines = shell.ok("runs", "trying").out.splitlines()[1:]

    assert [line.split()[1:4] for line in lines] == [["1", "2", "done"], ["1", "1", "retried"]]
    assert "1 steps saved" in lines[0]
    assert "ConnectionError: refused" in lines[1]
    newest = shell.ok("runs", "trying", "--limit", "1", "--json").json
    older = shell.ok("runs", "trying", "--after", newest["next_after"], "--json").json
    assert [run["outcome"] for run in newest["runs"] + older["runs"]] == ["done", "retried"]


def test_lists_are_paged_and_filtered(shell: Shell, hand: Hand) -> None:
    """A filter must not end the list early: pages without a match are passed over."""
    for number in range(7):
        hand.start(f"row-{number}")
    hand.send("row-2", "m1", 1)
    hand.send("row-6", "m1", 1)

    page = shell.ok("instances", "--after", "row-", "--limit", "3", "--json").json
    rest = shell.ok("instances", "--after", page["next_after"], "--limit", "3", "--json").json
    queued = shell.ok("instances", "--after", "row-", "--status", "queued", "--limit", "1", "--json").json

    assert [one["id"] for one in page["instances"] + rest["instances"]] == [f"row-{number}" for number in range(6)]
    assert ([one["id"] for one in queued["instances"]], queued["next_after"]) == (["row-2"], "row-2")
    assert "There are more: --after row-2" in shell.ok("instances", "--after", "row-", "--limit", "3").err


def test_an_option_in_front_of_a_subcommand_is_not_lost_in_silence(shell: Shell) -> None:
    refused = shell.run("instances", "--graph", "elsewhere", "show", "there")

    assert refused.code == 2
    assert "write the options after `show`" in refused.err


def test_watch_prints_one_picture_where_there_is_no_terminal(shell: Shell, hand: Hand) -> None:
    hand.start("seen", 1)
    lease = hand.claim("seen", worker="host-9")
    hand.begin(lease, 0, "fetch")
    hand.report(lease, "fetch", 1, {"phase": "rows", "done": 50, "total": 100, "unit": "rows"})

    shown = shell.ok("watch").out
    document = shell.ok("watch", "--json").json

    assert re.search(r"^seen +1 +host-9 +fetch .*rows: 50 of 100 rows \(50 %\), .* ago +.* ago", shown, re.MULTILINE)
    assert "seen" in [one["id"] for one in document["running"]]
    assert document["counts"]["running"] == len(document["running"])


def test_watch_lives_in_a_terminal_until_it_is_told_to_end(shell: Shell, hand: Hand) -> None:
    """What happens meanwhile comes into the picture, and Ctrl-C is no error."""
    with Terminal([TURNBUCKLE, "watch", "--interval", "0.1"], shell.environment) as terminal:
        terminal.until("idle")
        hand.start("newcomer", 1, max_attempts=1)
        hand.fail(hand.claim("newcomer"), "it broke")
        terminal.until("it broke")
        terminal.interrupt()

    assert terminal.code == 0


class Terminal:
    """A command on a pseudo terminal; what it prints is read as text."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._side, other = pty.openpty()
        size = {"COLUMNS": "150", "LINES": "50", "TERM": "xterm"}
        self._process = subprocess.Popen(
            command,
            stdin=other,
            stdout=other,
            stderr=other,
            env=environment | size,
            start_new_session=True,
        )
        os.close(other)
        self._text = ""

    def until(self, text: str) -> None:
        deadline = time.monotonic() + COMMAND_S
        while text not in self._text:
            assert time.monotonic() < deadline, self._text
            if select.select([self._side], [], [], 1)[0]:
                self._text += os.read(self._side, 65_536).decode(errors="replace")

    def interrupt(self) -> None:
        """What a terminal sends for Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self.code = self._process.wait(COMMAND_S)
        os.close(self._side)


def test_json_is_one_document(shell: Shell, hand: Hand) -> None:
    """Of every command that talks to the server: whatever a program asks, it can read the answer."""
    hand.start("spoken", 2, max_attempts=1)
    hand.fail(hand.claim("spoken"), "no")
    commands = """
        instances
        instances show spoken
        turns spoken
        turns spoken --turn 1
        runs spoken
        start said --type said --version v1
        send said 1 --id m1
        signal spoken hello 1 --turn 2 --id e1
        pause spoken
        resume spoken
        wake spoken
        retry spoken --turn 1
        cancel spoken --turn 1
        watch
    """

    for line in commands.strip().splitlines():
        done = shell.ok(*line.split(), "--json")
        assert isinstance(done.json, dict), line
        assert done.err == "", line
