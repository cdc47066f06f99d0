"""What can be told of a SPARQL text without parsing it: its form, the words outside names, a rewriting of rdf:type.

pyoxigraph parses; here is only what it would do and must not (SERVICE, other forms), and what it cannot (entailment).
The scan errs on the side of refusing: pyoxigraph's parser needs no blank between a keyword and what follows it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_SUBCLASS_PATH = f"(<{RDF_TYPE}>/<http://www.w3.org/2000/01/rdf-schema#subClassOf>*)"
_COMMENT = r"\#[^\r\n]*"
_IRI = r"""<[^<>"{}|^`\x00-\x20]*>"""
_STRING = r"""\"\"\"(?:\"{0,2}(?:[^\"\\]|\\.))*\"\"\"|\'\'\'(?:\'{0,2}(?:[^\'\\]|\\.))*\'\'\'"""
_STRING += r"""|\"(?:[^\"\\\r\n]|\\.)*\"|\'(?:[^\'\\\r\n]|\\.)*\'"""
_VARIABLE, _LANGUAGE, _LOCAL = r"[?$]\w+", r"@[A-Za-z-]+", r"(?:[\w:%-]|\\.)*"
_NAMES = re.compile(rf"{_COMMENT}|{_IRI}|{_STRING}|{_VARIABLE}|{_LANGUAGE}|(:){_LOCAL}|\\.", re.DOTALL)
# Each pattern looks a bounded way ahead, so that no text takes time by the square of its length.
_WORD = re.compile(r"\b(\w+)\b(?![\w.-]{0,100}:)")
_TOKEN = re.compile(
    rf"(?P<comment>{_COMMENT})|(?P<iri>{_IRI})|(?P<string>{_STRING})|(?P<variable>{_VARIABLE})"
    rf"|(?P<language>{_LANGUAGE})|(?P<name>[\w.-]{{0,100}}:{_LOCAL})|(?P<word>\w+)|(?P<other>\\.|.)",
    re.DOTALL,
)
_NOT_OURS = {"CONSTRUCT", "DESCRIBE"}
_UPDATES = {"INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH"}


class NotOffered(Exception):
    """A query that is not answered here, whatever it asks; the message says what instead."""


class Scan(NamedTuple):
    has_graph: bool  # patterns of named graphs, or what may look so
    has_dataset: bool  # FROM


def scan(text: str) -> Scan:
    """NotOffered for another form than SELECT and ASK, and for SERVICE."""
    outside = _outside(text)
    words = (match[1].upper() for match in _WORD.finditer(outside))
    _check_form(next((word for word in words if word not in ("PREFIX", "BASE", "VERSION")), ""))
    rest = outside.lower()
    if "service" in rest:
        raise NotOffered("SERVICE is not offered: queries reach this graph alone (no prefix may be named so either)")
    return Scan("graph" in rest, "from" in rest)


def _outside(text: str) -> str:
    """The text without names, strings, variables and comments; of a prefixed name the prefix stays, with its colon."""
    return _NAMES.sub(r"\1 ", text)


def _check_form(word: str) -> None:
    if word in _NOT_OURS:
        raise NotOffered(f"got {word}, expected SELECT or ASK")
    if word in _UPDATES:
        raise NotOffered(f"got the update {word}, expected a query: SELECT or ASK")


def check_insert_data(text: str) -> None:
    """NotOffered unless the update is INSERT DATA and nothing else."""
    rest = " ".join(_outside(text).lower().split())
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
        yield _Token(match.lastgroup or "other", match[0])
