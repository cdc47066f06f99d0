"""What all typed modules are."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from blobhub.errors import TypeMismatch

if TYPE_CHECKING:
    from blobhub.revision import Revision


class TypedModule:
    """A view over one revision of a blob of the type `TYPE`. TypeMismatch for a revision of another blob."""

    TYPE: ClassVar[str]

    def __init__(self, revision: Revision) -> None:
        if revision.blob.type != self.TYPE:
            text = f"{type(self).__name__} is for {self.TYPE} blobs, this one is {revision.blob.type}"
            raise TypeMismatch("type_mismatch", text)
        self.revision = revision

    def __repr__(self) -> str:
        return f"<{type(self).__name__} over {self.revision!r}>"
