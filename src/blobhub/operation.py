"""A long-running job of the server on a revision (blobhub 4.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blobhub.answer import record_of
from blobhub.errors import OperationFailed
from blobhub.polling import poll
from blobhub.request import path_of
from blobhub.timing import OPERATION_WAIT_SECONDS, POLL_SECONDS

if TYPE_CHECKING:
    from blobhub.client import Client


class Operation:
    """`record` is the operation as last read."""

    def __init__(self, client: Client, record: dict[str, Any]) -> None:
        self.client = client
        self.record = record

    @property
    def id(self) -> str:
        return str(self.record["id"])

    @property
    def status(self) -> str | None:
        """`completed` and `failed` are final."""
        return self.record.get("status")

    @property
    def type(self) -> str | None:
        return self.record.get("type")

    @property
    def revision_id(self) -> str | None:
        return self.record.get("revision_id")

    def refresh(self) -> Operation:
        self.record = record_of(self.client.request("GET", path_of("operations", self.id)), "operation")
        return self

    def wait(self, *, timeout: float = OPERATION_WAIT_SECONDS, interval: float = POLL_SECONDS) -> Operation:
        """Itself once it is completed. OperationFailed `operation_failed`; WaitTimeout after `timeout` seconds."""
        what = f"operation {self.id}"
        return poll(self._ended, timeout=timeout, interval=interval, timing=self.client.timing, what=what)

    def _ended(self) -> Operation | None:
        self.refresh()
        if self.status == "failed":
            raise OperationFailed("operation_failed", f"operation {self.id} ({self.type}) failed")
        return self if self.status == "completed" else None

    def __repr__(self) -> str:
        return f"<Operation {self.id} {self.status}>"
