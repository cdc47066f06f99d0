"""What can be told of a SPARQL text without parsing it: its form, the words outside names, a rewriting of rdf:type.

pyoxigraph parses; here is only what it would do and must not (SERVICE, other forms), and what it cannot (entailment).
The scan errs on the side of refusing: pyoxigraph's parser needs no blank between a keyword and what follows it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_SUBCLASS_PATH = f"(<{RDF_TYPE}>/<http://www.w3.org/2000/01/rdf-schema#subClassOf>*)"
_TOKEN = re.compile(
    r'''(?P<comment>\#[^\r\n]*)
    | (?P<iri><[^<>"{}|^`\x00-\x20]*>)
    | (?P<string>"""(?:"{0,2}(?:[^"\\]|\\.))*"""|\'\'\'(?:'{0,2}(?:[^'\\]|\\.))*\'\'\'
        |"(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*')
    | (?P<variable>[?$]\w+)
    | (?P<language>@[A-Za-z-]+)
    | (?P<name>(?P<prefix>[\w.-]*):(?P<local>(?:[\w:%-]|\\.)*))
    | (?P<word>\w+)
    | (?P<other>\\.|.)''',
    re.VERBOSE | re.DOTALL,
)
_FORMS = {"SELECT": "select", "ASK": "ask"}
_NOT_OURS = {"CONSTRUCT", "DESCRIBE"}
_UPDATES = {"INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH"}


class NotOffered(Exception):
    """A query that is not answered here, whatever it asks; the message says what instead."""


class Scan(NamedTuple):
    has_graph: bool  # patterns of named graphs, or what may look so
    has_dataset: bool  # FROM


def scan(text: str) -> Scan:
    """NotOffered for another form than SELECT and ASK, and for SERVICE."""
    outside, words = _outside(text)
    _check_form(next((word for word in words if word not in ("PREFIX", "BASE", "VERSION")), ""))
    rest = outside.lower()
    if "service" in rest:
        raise NotOffered("SERVICE is not offered: queries reach this graph alone (no prefix may be named so either)")
    return Scan("graph" in rest, "from" in rest)


def _outside(text: str) -> tuple[str, list[str]]:
    """What is no name, text, variable or comment; and the words in it, in capitals."""
    outside, words = list[str](), list[str]()
    for token in _tokens(text):
        if token.kind == "word":
            words.append(token.text.upper())
        if token.kind in ("word", "other"):
            outside.append(token.text)
        elif token.kind == "name":  # the part before the colon may end in a keyword
            outside.append(token.text.partition(":")[0] + ":")
        else:
            outside.append(" ")
    return "".join(outside), words


def _check_form(word: str) -> None:
    if word in _NOT_OURS:
        raise NotOffered(f"got {word}, expected SELECT or ASK")
    if word in _UPDATES:
        raise NotOffered(f"got the update {word}, expected a query: SELECT or ASK")


def check_insert_data(text: str) -> None:
    """NotOffered unless the update is INSERT DATA and nothing else."""
    outside, _ = _outside(text)
    rest = " ".join(outside.lower().split())
    forbidden = [word.lower() for word in _UPDATES - {"INSERT"} if word.lower() in rest]
    if "insert data" not in rest or rest.count("insert") != rest.count("insert data") or "where" in rest or forbidden:
        raise NotOffered("got another update, expected INSERT DATA alone (nor a prefix that is named as an update)")


def with_subclasses(text: str) -> str:
    """The text with each rdf:type, also as `a`, as the path over rdfs:subClassOf. Lines stay where they are."""
    prefixes = _prefixes(text)

    def is_type(token: _Token) -> bool:
        if token.kind == "iri":
            return token.text == f"<{RDF_TYPE}>"
        if token.kind == "name":
            prefix, _, local = token.text.partition(":")
            return prefixes.get(prefix, "\0") + local == RDF_TYPE
        return token.kind == "word" and token.text == "a"

    return "".join(_SUBCLASS_PATH if is_type(token) else token.text for token in _tokens(text))


def _prefixes(text: str) -> dict[str, str]:
    """What each prefix stands for."""
    found: dict[str, str] = {}
    tokens = [token for token in _tokens(text) if token.kind != "comment" and not token.text.isspace()]
    for word, name, iri in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if word.text.upper() == "PREFIX" and name.kind == "name" and iri.kind == "iri":
            found[name.text.partition(":")[0]] = iri.text[1:-1]
    return found


class _Token(NamedTuple):
    kind: str
    text: str


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        kind = next(kind for kind in _KINDS if match[kind] is not None)
        yield _Token(kind, match[0])


_KINDS = ("word", "other", "iri", "variable", "name", "string", "comment", "language")
