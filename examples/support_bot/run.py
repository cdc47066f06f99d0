"""`make demo-hub`: deploy three definitions to a server of its own, run them, answer the review, show the logs."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from examples.support_bot.shop import open_shop

import blobhub
from blobhub.types.workflow import Execution, Workflow
from lbb import LbbClient

HERE = Path(__file__).parent
TURNBUCKLE = [sys.executable, "-m", "turnbuckle.cli"]
DEV_KEY = "lbb_sk_test_local"
_START_S = 30.0
_RUN_S = 60.0
QUESTION = {"type": "message", "message": {"role": "user", "content": [{"type": "text", "text": "Where is my order?"}]}}
TICKETS = ["My parcel is late", "I want my money back", "Where is my order?", "You are great"]
ORDERS = [{"id": 1, "amount": 90}, {"id": 2, "amount": 700}, {"id": 3, "amount": 950}]
ANSWERS = {"Refund 700 for order 2?": "refund", "Refund 950 for order 3?": "deny"}


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="support-bot-") as made, contextlib.closing(_Shop()) as shop:
        folder = Path(made)
        shutil.copytree(HERE, folder / "bot")  # deploying writes the built code into the documents
        (folder / "outside.toml").write_text(f"[http]\nallow_private = ['127.0.0.1:{shop.port}']\n")
        port = _free_port()
        url = f"http://127.0.0.1:{port}"
        key = _init(folder, f"{url}/v1")
        with _serving(folder, port):
            _say("deploy", _deploy(folder, key, f"{url}/v1"))
            hub = blobhub.connect(api_key=key, api_url=f"{url}/v1")
            workflow = Workflow(hub.blob("acme", "support-bot").revision())
            return _run_all(workflow, shop, url)


def _run_all(workflow: Workflow, shop: "_Shop", url: str) -> int:
    asked = workflow.execute("answer-question", input_data={"question": QUESTION}, session="sdk-demo")
    answer = _followed("answer-question", asked)
    sorted_ = _followed("sort-tickets", workflow.execute("sort-tickets", input_data={"tickets": _json(TICKETS)}))
    refunds = workflow.execute("refund-orders", input_data={"orders": _json(ORDERS), "shop-url": _text(shop.url)})
    person = threading.Thread(target=_answer_reviews, args=(url,), daemon=True)
    person.start()
    decided = _followed("refund-orders", refunds)
    return _verdict(_values(workflow, answer), _values(workflow, sorted_), _values(workflow, decided))


def _verdict(answer: Any, sorted_: Any, decided: Any) -> int:
    reply = answer["answer"]["message"]["content"][0]["text"]
    topics = {topic: len(tickets) for topic, tickets in sorted_["sorted"]["json"].items()}
    decisions = {one["order"]: one["refund"] for one in decided["decisions"]["json"]}
    _say("answer", reply)
    _say("topics", json.dumps(topics))
    _say("refunds", json.dumps(decisions))
    is_right = (reply, topics, decisions) == (
        "It left our store this morning and arrives tomorrow.",
        {"delivery": 2, "refund": 1, "other": 1},
        {1: True, 2: True, 3: False},
    )
    print("\nEverything went as it should." if is_right else "\nThat is not what should have come out.")
    return 0 if is_right else 1


# -- runs --------------------------------------------------------------------------------------------------------


def _followed(name: str, run: Execution) -> Execution:
    print(f"\n{name}: {run.url}")
    status = run.wait(timeout=_RUN_S, interval=0.2, on_event=_show)
    print(f"  {status}")
    return run


def _show(event: dict[str, Any]) -> None:
    print(f"  {event['created_at'][11:23]}  {event['type']:<18} {event.get('message', '')}".rstrip())


def _values(workflow: Workflow, run: Execution) -> Any:
    """What its data components hold at its end, by alias."""
    kept = workflow.revision.query("get_execution_data", execution_id=run.id)["data"]
    return next((one["value"]["outputs"] for one in kept if one["component_key"] == "end"), {})


def _answer_reviews(url: str) -> None:
    """The person: answers each question as ANSWERS says, until all are answered."""
    left = dict(ANSWERS)
    with LbbClient(url, api_key=DEV_KEY, graph="hub") as client:
        while left:
            for item in client.reviews.list(status="open")["data"]:
                if (option := left.pop(item["rationale"], None)) is not None:
                    client.reviews.answer(item["id"], answer={"decision": "choose", "option": option})
            time.sleep(0.1)


def _json(value: Any) -> dict[str, Any]:
    return {"type": "json", "json": value}


def _text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


# -- the stage ---------------------------------------------------------------------------------------------------


class _Shop:
    def __init__(self) -> None:
        self._server = open_shop()
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _init(folder: Path, api_url: str) -> str:
    """An organization, a blob and a key in a new store."""
    made = _turnbuckle(
        "hub", "init", "acme/support-bot", "--environment", "test", "--data", str(folder / "store"), "--json",
        "--api-url", api_url,
    )  # fmt: skip
    return str(json.loads(made)["api_key"])


def _deploy(folder: Path, key: str, api_url: str) -> str:
    environment = {"BLOBHUB_API_KEY": key, "BLOBHUB_API_URL": api_url}
    return _turnbuckle("hub", "deploy", "-f", str(folder / "bot" / "manifest.yaml"), **environment)


def _turnbuckle(*words: str, **environment: str) -> str:
    """What a command says. CalledProcessError, with what it said of it, when it fails."""
    ended = subprocess.run([*TURNBUCKLE, *words], capture_output=True, text=True, env={**os.environ, **environment})
    if ended.returncode:
        print(ended.stdout, ended.stderr, file=sys.stderr)
    ended.check_returncode()
    return ended.stdout


@contextlib.contextmanager
def _serving(folder: Path, port: int) -> Iterator[None]:
    """A server with its flow worker, the mock model and the shop allowed."""
    command = [*TURNBUCKLE, "dev", "--port", str(port), "--data", str(folder / "store")]
    command += ["--models", str(folder / "bot" / "models.toml"), "--outside", str(folder / "outside.toml")]
    with (folder / "server.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            _wait_for(folder / "server.log", server)
            yield
        finally:
            server.terminate()


def _wait_for(log: Path, server: "subprocess.Popen[bytes]") -> None:
    ends_at = time.monotonic() + _START_S
    while b"listening on" not in log.read_bytes():
        if server.poll() is not None or time.monotonic() > ends_at:
            raise RuntimeError(f"the server did not start:\n{log.read_text()[-2_000:]}")
        time.sleep(0.02)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def _say(what: str, text: str) -> None:
    print(f"{what}: {text.strip()}")


if __name__ == "__main__":
    sys.exit(main())
