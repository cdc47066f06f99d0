"""A typed, versioned unit of an organization (blobhub 4.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from blobhub.answer import invalid_response, record_of
from blobhub.paging import rows_of
from blobhub.request import path_of
from blobhub.revision import Revision
from blobhub.timing import OPERATION_WAIT_SECONDS
from blobhub.wire_json import Envelope

if TYPE_CHECKING:
    from blobhub.client import Client


class Blob:
    """`record` is the blob as last read."""

    def __init__(self, client: Client, record: dict[str, Any]) -> None:
        self.client = client
        self.record = record

    @property
    def id(self) -> str:
        return str(self.record["id"])

    @property
    def alias(self) -> str | None:
        return self.record.get("alias")

    @property
    def org_id(self) -> str:
        return str(self.record["org_id"])

    @property
    def type(self) -> str:
        """For example `blobhub.compute.workflow`."""
        return str(self.record["type"])

    @property
    def visibility(self) -> str | None:
        """`public` or `private`."""
        return self.record.get("visibility")

    @property
    def status(self) -> str | None:
        return self.record.get("status")

    @property
    def default_revision_id(self) -> str | None:
        return self.record.get("default_revision_id")

    def refresh(self) -> Blob:
        self.record = blob_record(self.client.request("GET", self._path()))
        return self

    def revision(self, ref: str = "default") -> Revision:
        """The revision with this id, or the one that is the default now. NotFound when the blob has none such."""
        return Revision(self, record_of(self.client.request("GET", self._path("revisions", ref)), "revision"))

    def revisions(self, *, page_size: int = 50) -> Iterator[Revision]:
        """All of them, the newest first; each page is read when it is needed. `page_size` is 1 to 200."""

        def ask(cursor: str | None) -> Envelope:
            params = {"limit": page_size, "cursor": cursor}
            return self.client.request("GET", self._path("revisions"), params=params)

        return (Revision(self, record) for record in rows_of(ask, "revisions"))

    def create_revision(self, comment: str, *, timeout: float = OPERATION_WAIT_SECONDS) -> Revision:
        """A new draft, a copy of the committed default, once it is ready. The default stays where it is.

        `comment` has 1 to 200 characters. OperationFailed `revision_failed`; WaitTimeout after `timeout` seconds.
        """
        answer = self.client.request("POST", self._path("revisions"), json={"comment": comment})
        revision_id = answer.get("revision_id")
        if not isinstance(revision_id, str) or not revision_id:
            raise invalid_response("the answer has no revision_id")
        return Revision(self, {"id": revision_id}).wait_ready(None, timeout=timeout)

    def _path(self, *rest: str) -> str:
        # By id: a key of one organization may be refused under the alias of its organization.
        return path_of("blobs", self.org_id, self.id, *rest)

    def __repr__(self) -> str:
        return f"<Blob {self.org_id}/{self.alias or self.id} {self.type}>"


def blob_record(answer: Envelope) -> dict[str, Any]:
    """The blob of an answer, with `id`, `org_id` and `type`. ServerError `invalid_response` without them."""
    record = record_of(answer, "blob")
    if not all(isinstance(record.get(key), str) for key in ("org_id", "type")):
        raise invalid_response("the blob of the answer has no org_id or no type")
    return record
