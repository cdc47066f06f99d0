"""How deep brackets are nested in an RDF document or an update, told before pyoxigraph reads it.

It reads updates, and makes triple terms of triple terms, by recursion: a text of some kilobytes would end the server.
"""

import re

_NAMES = (
    rb"\#[^\r\n]*",
    rb"""<[^<>"{}|^`\x00-\x20]*>""",
    rb"\"\"\"(?:\"{0,2}(?:[^\"\\]|\\.))*\"\"\"",
    rb"\'\'\'(?:\'{0,2}(?:[^\'\\]|\\.))*\'\'\'",
    rb"\"(?:[^\"\\\r\n]|\\.)*\"",
    rb"\'(?:[^\'\\\r\n]|\\.)*\'",
    rb"\\.",
)
_TERMS = (rb"(?P<open><<)", rb"(?P<close>>>)")
_BRACKETS = (rb"(?P<open><<\(?|[\[({])", rb"(?P<close>\)?>>|[\])}])")
_TERM = re.compile(rb"|".join(_NAMES + _TERMS), re.DOTALL)
_BRACKET = re.compile(rb"|".join(_NAMES + _BRACKETS), re.DOTALL)


def has_deep_brackets(update: bytes, most: int) -> bool:
    """Whether brackets of any kind are nested deeper than that."""
    return _is_deep(_BRACKET, update, most)


def has_deep_terms(document: bytes, most: int) -> bool:
    """Whether triple terms are. Other brackets of a document cost the parser no stack."""
    return document.count(b"<<") > most and _is_deep(_TERM, document, most)


def _is_deep(tokens: re.Pattern[bytes], text: bytes, most: int) -> bool:
    """One token after the other: a substitution would hold up the server's other threads while it lasts."""
    depth = 0
    for token in tokens.finditer(text):
        if token.lastgroup == "open":
            depth += 1
            if depth > most:
                return True
        elif token.lastgroup == "close":
            depth = max(0, depth - 1)
    return False
