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
        """The member `usage` and its comma, or nothing."""
        usage = self._running.usage.report()
        return b"" if usage is None else b'"usage":%b,' % json.dumps(usage, separators=(",", ":")).encode()

    def results_json(self, completed: WorkflowResult[Any] | None = None) -> bytes:
        """The member `results` and its comma, or nothing. A completion also names what was reported nowhere."""
        collector = self._running.results
        if collector is None:
            return b""
        try:
            if completed is not None:
                add_unnamed(collector, self._instances, (completed.continuation or {}).get("message"))
            report = collector.report()
            return b"" if report is None else b'"results":%b,' % js_json(report).encode()
        except Exception:
            logger.exception("the run results of turn %s are left out", self._running.task.name)
            return b""


class Completion:
    """The body of turns/complete. WorkflowError for values that JSON cannot hold or that are too large."""

    def __init__(self, task: Task, result: WorkflowResult[Any], usage: bytes) -> None:
        self._before, self._after = b"{", b""
        if result.continuation is not None:
            message = encode_within(result.continuation["message"], "continuation.message", limits.MESSAGE_BYTES)
            self._before += b'"continuation":{"message":%b},' % message.text
        if result.result is not None:
            self._before += b'"result":%b,' % encode_json(result.result, "result").text
        state = encode_within(result.state, "state", limits.STATE_BYTES)
        self._after = b'"state":%b,' % state.text + task.lease_json_with(usage)
        size = len(self._before) + len(self._after)
        if size > limits.COMPLETION_BYTES:
            raise WorkflowError(too_large("the completion (state, result, message)", size, limits.COMPLETION_BYTES))

    def body(self, results: bytes = b"") -> bytes:
        return self._before + results + self._after


def failure_body(task: Task, failure: Failure, usage: bytes = b"", results: bytes = b"") -> bytes:
    """The body of turns/fail."""
    error = json.dumps(failure.error, ensure_ascii=False).encode()
    refusal = b"true" if failure.non_retryable else b"false"
    wait = b"" if failure.retry_at_ms is None else b'"retry_at_ms":%d,' % failure.retry_at_ms
    head = b'{"error":%b,"non_retryable":%b,' % (error, refusal)
    return head + results + wait + task.lease_json_with(usage)
