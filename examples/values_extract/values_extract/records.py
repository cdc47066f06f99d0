"""The instances of a message as they were at its commit: name, text, and the sources that earlier turns wrote."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from lbb import entity_id_from_iri, stable_hash_hex
from lbb.workflows import LbbActivities

from values_extract.settings import SOURCE_RELATION, Settings

_TERMS = "https://littlebigbrain.com/"
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"

_TEXTS = """SELECT ?s ?label ?text WHERE {{
  VALUES ?s {{ {iris} }}
  ?s <{terms}p/{text_field}> ?text .
  OPTIONAL {{ ?s <{label}> ?label }} }}"""

_SOURCES = """SELECT ?s ?source ?quote ?property ?value WHERE {{
  VALUES ?s {{ {iris} }}
  ?s <{terms}r/{relation}> ?source .
  ?source <{terms}p/property> ?property ; <{terms}p/value> ?value ; <{label}> ?quote }}"""


@dataclass(frozen=True)
class Source:
    """A stored ValueSource: where a value of the instance came from."""

    iri: str
    property: str
    value: str
    quote: str  # its display name


@dataclass(frozen=True)
class Record:
    iri: str
    name: str
    text: str  # "" when it has none, or is not there any more
    sources: tuple[Source, ...] = ()

    @cached_property
    def entity_id(self) -> str:
        return entity_id_from_iri(self.iri)

    @cached_property
    def text_hash(self) -> str:
        """A mark of what was read, to tell whether a person's answer was about this text."""
        return stable_hash_hex([self.text])


async def read_records(
    lbb: LbbActivities, settings: Settings, iris: Iterable[str], as_of_commit_seq: int
) -> list[Record]:
    """The instances in the order of the message, each once.

    Not a step: a read at a fixed commit gives every attempt the same, and texts may be longer than a step's 64 KiB.
    """
    wanted = list(dict.fromkeys(iris))
    if not wanted:
        return []
    terms = {
        "iris": " ".join(f"<{iri}>" for iri in wanted),
        "terms": _TERMS,
        "label": _LABEL,
        "text_field": settings.text_field,
        "relation": SOURCE_RELATION.lower(),
    }
    texts = await lbb.sparql(_TEXTS.format(**terms), as_of_commit_seq=as_of_commit_seq)
    found = {row["s"]: row for row in texts.rows()}
    sources: defaultdict[str, list[Source]] = defaultdict(list)
    for row in (await lbb.sparql(_SOURCES.format(**terms), as_of_commit_seq=as_of_commit_seq)).rows():
        sources[row["s"]].append(Source(row["source"], row["property"], row["value"], row["quote"]))
    return [_record(iri, found.get(iri, {}), sources[iri]) for iri in wanted]


def _record(iri: str, row: dict[str, str], sources: list[Source]) -> Record:
    name = row.get("label") or entity_id_from_iri(iri)
    return Record(iri, name, row.get("text", ""), tuple(sorted(sources, key=lambda source: source.iri)))
