"""The two bodies that end an attempt, and what a turn reports beside them (lbb-engine 3.19, 5.15, 6)."""

import json
import logging
from typing import Any

from lbb.workflows import limits
from lbb.workflows.definition import WorkflowResult
from lbb.workflows.errors import WorkflowError
from lbb.workflows.failure import Failure
from lbb.workflows.js_json import js_json
from lbb.workflows.json_rules import encode_json, encode_within, too_large
from lbb.workflows.results import add_unnamed, instances_of
from lbb.workflows.running import RunningTurn
from lbb.workflows.task import Task

logger = logging.getLogger("lbb.workflows")


class Reports:
    """The usage and the run results of a turn. Results never cost a completion: what goes wrong here is logged."""

    def __init__(self, running: RunningTurn) -> None:
        self._running = running
        # Read before the handler runs, which may change its message.
        self._instances = [] if running.results is None else instances_of(running.task.message)

    def usage_json(self) -> bytes:
        usage = self._running.usage.report()
        return b"" if usage is None else b',"usage":' + json.dumps(usage, separators=(",", ":")).encode()

    def results_json(self, completed: WorkflowResult[Any] | None = None) -> bytes:
        """The member `results`, or nothing. A completion also names the inputs that were reported nowhere."""
        collector = self._running.results
        if collector is None:
            return b""
        try:
            if completed is not None:
                add_unnamed(collector, self._instances, (completed.continuation or {}).get("message"))
            report = collector.report()
            return b"" if report is None else b',"results":' + js_json(report).encode()
        except Exception:
            logger.exception("the run results of turn %s are left out", self._running.task.name)
            return b""


def completion_body(task: Task, result: WorkflowResult[Any], usage: bytes) -> bytes:
    """The body of turns/complete, open at its end. WorkflowError for values JSON cannot hold or that are too large."""
    parts = [task.lease_json, b',"state":', encode_within(result.state, "state", limits.STATE_BYTES).text]
    if result.result is not None:
        parts += [b',"result":', encode_json(result.result, "result").text]
    if result.continuation is not None:
        message = encode_within(result.continuation["message"], "continuation.message", limits.MESSAGE_BYTES)
        parts += [b',"continuation":{"message":', message.text, b"}"]
    body = b"".join(parts) + usage
    if len(body) + 1 > limits.COMPLETION_BYTES:
        raise WorkflowError(too_large("the completion (state, result and message)", len(body), limits.COMPLETION_BYTES))
    return body


def failure_body(task: Task, failure: Failure, usage: bytes = b"") -> bytes:
    """The body of turns/fail, open at its end."""
    error = json.dumps(failure.error, ensure_ascii=False).encode()
    refusal = b"true" if failure.non_retryable else b"false"
    wait = b"" if failure.retry_at_ms is None else b',"retry_at_ms":%d' % failure.retry_at_ms
    return task.lease_json + b',"error":' + error + b',"non_retryable":' + refusal + wait + usage
