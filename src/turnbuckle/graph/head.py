"""Where a graph stands: its newest commit, its kind, its newest ontology."""

import msgspec

RECORD = "record"  # its first write was a JSON commit or import
RDF = "rdf"  # its first write was RDF


class GraphHead(msgspec.Struct, frozen=True):
    graph_id: str
    name: str
    head_seq: int  # the newest commit; 0 before the first
    kind: str  # "" until the first write, then RECORD or RDF for ever
    ontology_version: int  # 0 before the first declaration

    @property
    def is_blank(self) -> bool:
        """Nothing was declared or written yet."""
        return self.head_seq == 0 and self.ontology_version == 0
