"""A worker and a client played by hand over the routes, for tests that need an instance in a certain situation."""

from typing import Any

from lbb import LbbClient

Json = dict[str, Any]


class Hand:
    """Each instance's workflow type is its id, its version `v1`, so that a claim is of that instance alone."""

    def __init__(self, client: LbbClient) -> None:
        self._client = client

    def post(self, path: str, body: Json) -> Any:
        return self._client.raw_request("POST", f"/v1/workflows/{path}", body=body).data

    def start(self, instance_id: str, messages: int = 0, **options: Any) -> None:
        self.post("instances", {"id": instance_id, "workflow_type": instance_id, "version": "v1", **options})
        for number in range(1, messages + 1):
            self.send(instance_id, f"m{number}", {"number": number})

    def send(self, instance_id: str, message_id: str, message: Any) -> Any:
        return self.post("instances/message", {"workflow_id": instance_id, "id": message_id, "message": message})

    def claim(self, instance_id: str, worker: str = "w1") -> Json:
        """The lease on the next turn; an AssertionError when none is ready."""
        pair = {"workflow_type": instance_id, "version": "v1"}
        task = self.post("turns/claim", {"worker": worker, "workflows": [pair], "wait_ms": 0})["task"]
        assert task is not None
        return {"workflow_id": instance_id, "turn": task["turn"]["number"], "token": task["token"]}

    def save_step(self, lease: Json, position: int, key: str, output: Any) -> None:
        step = {"position": position, "key": key, "kind": "step", "output": output}
        self.post("turns/checkpoint", lease | step)

    def sleep(self, lease: Json, position: int, key: str, delay_ms: int) -> None:
        self.post("turns/checkpoint", lease | {"position": position, "key": key, "kind": "sleep", "delay_ms": delay_ms})

    def listen(self, lease: Json, position: int, name: str, timeout_ms: int = 3_600_000) -> None:
        wait = {"position": position, "key": f"wait-{name}", "name": name, "timeout_ms": timeout_ms}
        self.post("turns/wait-signal", lease | wait)

    def begin(self, lease: Json, position: int, key: str) -> None:
        self.post("turns/operation", lease | {"position": position, "key": key, "kind": "tool", "timeout_ms": 600_000})

    def report(self, lease: Json, key: str, sequence: int, details: Any) -> None:
        """With a cursor, so that it is saved when it is answered: a report without one may be seen a little later."""
        report = {"key": key, "sequence": sequence, "details": details, "checkpoint": sequence}
        self.post("turns/progress", lease | report)

    def complete(self, lease: Json, state: Any = None, **more: Any) -> None:
        self.post("turns/complete", lease | {"state": state, **more})

    def fail(self, lease: Json, error: str, **more: Any) -> None:
        self.post("turns/fail", lease | {"error": error, **more})
