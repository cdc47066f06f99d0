"""What a commit changed, a row for each record: the feed that watches read."""

import msgspec

CREATED = "created"  # the record was not there before the commit
CHANGED = "changed"
REMOVED = "removed"


class Change(msgspec.Struct, frozen=True):
    graph_id: str
    commit_seq: int
    entity_id: str
    class_id: str  # the class's term
    kind: str  # created, changed or removed
    fields: bytes  # JSON list of texts: `p:<property term>`, `r:<relation term>` of an edge out of it, `label`
