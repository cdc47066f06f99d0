"""What a SPARQL text is told by, without parsing it."""

import contextlib
import time

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnbuckle.sparql.text import NotOffered, check_insert_data, scan, with_subclasses
from turnbuckle.wire import limits


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { SERVICE <http://x/> { ?s ?p ?o } }",
        "SELECT * { sErViCe SILENT ?x { } }",
        "SELECT * { ?s ?p 1SERVICE<http://x/>{} }",
        "SELECT * { ?s ?p trueSERVICE<http://x/>{} }",
        "SELECT * { ?s ?p ?o.SERVICE:x{} }",
        "SELECT * { ?s a:b\\#c ?o . SERVICE <http://x/> {} }",
        "SELECT * { ?s a:b\\'c ?o . SERVICE <http://x/> {} # '\n }",
        "SELECT * { # a comment ends here\rSERVICE <http://x/> {} }",
        'SELECT * { ?s ?p "a\\"" . SERVICE <http://x/> { ?s ?p "b" } }',
        'SELECT * { ?s ?p """a""" . SERVICE <http://x/> { ?s ?p """b""" } }',
        "SELECT * { FILTER(?a<?b&&?c>?d) SERVICE <http://x/> {} }",
    ],
)
def test_a_call_outside_is_seen(text: str) -> None:
    with pytest.raises(NotOffered, match="SERVICE"):
        scan(text)


@pytest.mark.parametrize(
    "text",
    [
        'SELECT ?service { ?service <http://x/service> "SERVICE", \'service\', """a " SERVICE""" # SERVICE\n }',
        "PREFIX ex: <http://x/> SELECT * { ?s ex:service ex:my-service }",
        "ask {}",
        "# SELECT\nBASE <http://x/> PREFIX : <y#> SELECT * {}",
    ],
)
def test_the_word_as_a_name_is_no_call(text: str) -> None:
    scan(text)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("CONSTRUCT WHERE { ?s ?p ?o }", "CONSTRUCT"),
        ("PREFIX select: <http://select/> DESCRIBE select:x", "DESCRIBE"),
        ("insert data { <a:b> <a:c> 1 }", "INSERT"),
        ("BASE <a:b> LOAD <c>", "LOAD"),
    ],
)
def test_another_form_is_named(text: str, named: str) -> None:
    with pytest.raises(NotOffered, match=named):
        scan(text)


PIECES = ["a.", '"', "'", "<", "<a", '"""a', "''' ", "a:", "\\", "?", "@a", "#", "PREFIX a:", "{"]


@pytest.mark.slow
@pytest.mark.parametrize("piece", PIECES)
def test_no_text_takes_time_by_the_square_of_its_length(piece: str) -> None:
    text = piece * (limits.SPARQL_CHARS // len(piece))

    began_at = time.process_time()
    for end in ("", ":", '"'):
        with contextlib.suppress(NotOffered):
            scan(text + end)
        with_subclasses(text + end)
    assert time.process_time() - began_at < 15.0  # a second or two; by the square it would be minutes


def test_graph_and_from_are_seen() -> None:
    found = scan("SELECT * FROM <g:1> { GRAPH ?g { ?s ?p ?o } }")
    neither = scan("SELECT ?graph { ?graph <a:from> 'GRAPH' }")

    assert (found.has_graph, found.has_dataset) == (True, True)
    assert (neither.has_graph, neither.has_dataset) == (False, False)


def test_only_inserted_data_is_taken() -> None:
    check_insert_data('PREFIX a: <b:> insert\n data { a:c a:d "LOAD <x>" } ; INSERT DATA { a:c a:d 2 }')

    for text in ("SELECT * {}", "INSERT DATA { <a:b> <a:c> 1 } ; CLEAR ALL", "INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }"):
        with pytest.raises(NotOffered):
            check_insert_data(text)


STORE = ox.Store()
STORE.update(
    """PREFIX : <http://x/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
    INSERT DATA { :b rdfs:subClassOf :a . :c rdfs:subClassOf :b . :1 a :c ; :a "a" . :2 a :a }"""
)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("?s a :a", {"1", "2"}),
        ("?s a :b", {"1"}),
        ("?s rdf:type :b", {"1"}),
        ("?s <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> :b", {"1"}),
        (":b ^a ?s", {"1"}),
        ("?s :a 'a'; a :a", {"1"}),
        ("?s a :a FILTER EXISTS { ?s a :b }", {"1"}),
        ("?s :a ?a FILTER(?a = 'a' && 'a' != ' a :b ')", {"1"}),
    ],
)
def test_types_are_found_by_their_superclasses(pattern: str, found: set[str]) -> None:
    prefixes = "PREFIX : <http://x/> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>"

    rows = STORE.query(with_subclasses(f"{prefixes} SELECT DISTINCT ?s {{ {pattern} }}"))

    assert {row["s"].value.removeprefix("http://x/") for row in rows} == found


PARTS = ["SERVICE", "<http://127.0.0.1:9/>", "{}", "{", "}", "'", '"', "#", "\\", ":", "?", "x", ".", " ", "\n", "\r"]
MORE = ["a", "1", "true", "?s ?p ?o", '"""', "SILENT", "SERVICE <http://127.0.0.1:9/> { }", "FILTER(", ")", "<", ">"]


@given(st.lists(st.sampled_from(PARTS + MORE), max_size=12).map("".join))
@settings(max_examples=1_000, deadline=None)
def test_no_text_that_calls_outside_gets_through(text: str) -> None:
    """pyoxigraph itself is asked what it would do."""
    try:
        scan(f"ASK {{ {text} }}")
    except NotOffered:
        return
    try:
        bool(STORE.query(f"ASK {{ {text} }}"))
    except (SyntaxError, RuntimeError):
        return
    except OSError as exc:
        pytest.fail(f"it went outside: {exc}")
