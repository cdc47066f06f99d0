"""One version of a blob, and the data channel to it (blobhub 4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from blobhub.answer import envelope_of, octets_of, record_of
from blobhub.errors import OperationFailed
from blobhub.polling import poll
from blobhub.request import command_body, octets_in_request, octets_out_request, path_of
from blobhub.timing import OPERATION_WAIT_SECONDS, POLL_SECONDS
from blobhub.types import TypedModule, resolve
from blobhub.wire_json import Envelope

if TYPE_CHECKING:
    from blobhub.blob import Blob


class Revision:
    """`record` is the revision as last read."""

    def __init__(self, blob: Blob, record: dict[str, Any]) -> None:
        self.blob = blob
        self.client = blob.client
        self.record = record

    @property
    def id(self) -> str:
        return str(self.record["id"])

    @property
    def status(self) -> str | None:
        """`creating`, `ready`, `committing`, `deleting` or `failed`."""
        return self.record.get("status")

    @property
    def phase(self) -> str | None:
        """`draft` and `managed` can be written to; `commit` is frozen."""
        return self.record.get("phase")

    @property
    def comment(self) -> str | None:
        return self.record.get("comment")

    @property
    def parent_id(self) -> str | None:
        return self.record.get("parent_id")

    @property
    def updated_at(self) -> str | None:
        return self.record.get("updated_at")

    def refresh(self) -> Revision:
        self.record = record_of(self.client.request("GET", path_of("revisions", self.id)), "revision")
        return self

    def commit(self, comment: str | None = None, *, timeout: float = OPERATION_WAIT_SECONDS) -> Revision:
        """Itself once it is committed. OperationFailed `revision_failed`; WaitTimeout after `timeout` seconds."""
        body = {} if comment is None else {"comment": comment}
        self.client.request("POST", path_of("revisions", self.id, "commit"), json=body)
        return self.wait_ready("commit", timeout=timeout)

    def query(self, command: str, /, **args: Any) -> Envelope:
        """A read: the whole answer. Arguments that are None are left out."""
        return self.client.request("POST", self._data("query"), json=command_body(command, args))

    def command(self, command: str, /, **args: Any) -> Envelope:
        """A write: the whole answer. It is repeated only after failures that cannot have reached the server."""
        return self.client.request("POST", self._data("command"), json=command_body(command, args))

    def query_bytes(self, command: str, /, **args: Any) -> tuple[Envelope, bytes]:
        """A read that answers with bytes beside its answer."""
        return self.client.api.send(octets_out_request(self._data("query"), command_body(command, args)), octets_of)

    def command_bytes(self, command: str, data: bytes, /, **args: Any) -> Envelope:
        """A write that takes bytes."""
        body = command_body(command, args)
        return self.client.api.send(octets_in_request(self._data("command"), body, data), envelope_of)

    def typed(self) -> TypedModule | Revision:
        """The typed module of the blob's type over this revision; the revision itself when there is none."""
        module = resolve(self.blob.type)
        return self if module is None else module(self)

    def wait_ready(self, phase: str | None, *, timeout: float) -> Revision:
        """Itself once it is `ready`, in `phase` if one is given. For the modules of this package."""

        def look() -> Revision | None:
            self.refresh()
            if self.status == "failed":
                raise _failed(self)
            return self if self.status == "ready" and phase in (None, self.phase) else None

        what = f"revision {self.id}"
        return poll(look, timeout=timeout, interval=POLL_SECONDS, timing=self.client.timing, what=what)

    def _data(self, channel: str) -> str:
        return path_of("revisions", self.id, "data", channel)

    def __repr__(self) -> str:
        return f"<Revision {self.id} {self.phase} {self.status}>"


def _failed(revision: Revision) -> OperationFailed:
    failed = revision.record.get("failed_operation") or "an operation it does not name"
    return OperationFailed("revision_failed", f"revision {revision.id} failed in {failed}")
