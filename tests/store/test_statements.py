"""The .sql files: every statement is used, understood by both databases, and fits the tables."""

import re
from pathlib import Path

import apsw
import psycopg
import pytest

from tests.tables import columns
from turnbuckle.store import statements
from turnbuckle.store.database import open_database
from turnbuckle.store.dialect import POSTGRES, SQLITE, Dialect
from turnbuckle.store.statements import PARTS, ROWS, Statements

STORE = Path(statements.__file__).parent
NAMES = sorted(statements.texts())
FAMILY = re.compile(r'f"(\w*)\{(?:noun|rule)\}(\w*)"')  # one statement of each noun, by names of one form


def test_every_statement_is_used_by_the_code() -> None:
    code = "\n".join(path.read_text() for path in STORE.glob("*.py"))
    families = [re.compile(rf"{before}\w+{after}") for before, after in FAMILY.findall(code)]

    unused = [name for name in NAMES if f'"{name}"' not in code and not any(f.fullmatch(name) for f in families)]

    assert unused == []


def test_every_statement_that_the_code_names_is_there() -> None:
    calls = re.compile(r"tx\.(?:row|rows|one|all|run|insert|insert_all|run_all|save)\(\s*\"(\w+)\"")
    named = {name for path in STORE.glob("*.py") for name in calls.findall(path.read_text())}

    assert named - set(NAMES) == set()
    assert len(named) > 40  # the pattern finds them


@pytest.mark.parametrize("name", NAMES)
def test_a_statement_begins_with_a_sentence_in_lower_case_sql(name: str) -> None:
    sentence, sql = statements.texts()[name].split("\n", 1)

    assert re.fullmatch(r"-- [A-Z].*[.:]", sentence)
    outside = re.sub(r"--.*|'[^']*'", "", sql)
    assert outside == outside.lower()


@pytest.mark.parametrize("name", NAMES)
def test_a_statement_finds_and_writes_and_does_not_decide(name: str) -> None:
    """Rules are in Python, once; time and ids are arguments."""
    _, sql = statements.texts()[name].split("\n", 1)

    assert re.findall(r"\b(?:case|now|random|current_timestamp|trigger)\b", sql) == []


def _texts(dialect: Dialect) -> dict[str, str]:
    """Every statement as it is sent, an update with all columns of its row."""
    made = Statements(dialect)
    found = {}
    for name in NAMES:
        row = (ROWS | PARTS).get(name.removesuffix("_update")) if name.endswith("_update") else None
        found[name] = made.text(name) if row is None else made.update(name, row.__struct_fields__)
    return found


def test_no_slot_is_left_open() -> None:
    for dialect in (SQLITE, POSTGRES):
        assert [name for name, sql in _texts(dialect).items() if re.search(r"\{\w|\}", sql)] == []


@pytest.fixture(scope="module")
def sqlite_file(tmp_path_factory: pytest.TempPathFactory) -> apsw.Connection:
    path = str(tmp_path_factory.mktemp("statements") / "turnbuckle.db")
    open_database(path).close()
    return apsw.Connection(path)


@pytest.mark.parametrize("name", NAMES)
def test_sqlite_understands_it(sqlite_file: apsw.Connection, name: str) -> None:
    sql = _texts(SQLITE)[name]
    positions = [None] * sql.count("?")
    named = dict.fromkeys(re.findall(r"(?<![:\w]):([a-z_][a-z0-9_]*)", sql))

    sqlite_file.execute(f"explain {sql}", positions or named).fetchall()


HOT = re.split(
    r"\s+",
    """
    instance_lock instance_get instance_update instance_pick instance_next_claimable instance_due
    instance_next_due turn_load turn_task turn_read turn_update message_by_id message_get state_get
    step_log step_near step_at signal_log signal_by_id signal_oldest operation_update run_page run_get
    key_get graph_get blob_get
    graph_lock graph_head ontology_get commit_key_get entity_current entity_known entity_at fact_current fact_at
    fact_end entity_end edge_end edge_out_of edge_into edge_out_at edge_in_at entity_began_in entity_ended_in
    fact_began_in fact_ended_in edge_began_in edge_ended_in change_after change_rest_of entity_of_class_page
named_get named_lock named_take named_shard_page named_flight_page named_runs named_run_totals watch_get
    watch_item_due watch_item_some watch_item_page watch_link_first watch_link_sources watch_given_some
    entity_page_at fact_page_at edge_page_at
    """.strip(),
)


@pytest.mark.parametrize("name", HOT)
def test_sqlite_finds_it_by_an_index(sqlite_file: apsw.Connection, name: str) -> None:
    """A statement on the path of every turn never reads a whole table."""
    sql = _texts(SQLITE)[name]
    named = dict.fromkeys(re.findall(r"(?<![:\w]):([a-z_][a-z0-9_]*)", sql))

    plan = [str(row[3]) for row in sqlite_file.execute(f"explain query plan {sql}", named)]

    assert [step for step in plan if re.match(r"SCAN (?!json_each|\w+ USING (?:COVERING )?INDEX)", step)] == [], plan


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("entity_current", "entity_id"),
        ("entity_at", "entity_id"),
        ("entity_history", "entity_id"),
        ("entity_of_class_page", "class_id"),
        ("fact_current", "entity_id"),
        ("fact_at", "entity_id"),
        ("fact_history", "entity_id"),
        ("edge_out_of", "source_id"),
        ("edge_into", "target_id"),
        ("edge_out_at", "source_id"),
        ("edge_in_at", "target_id"),
        ("fact_began_in", "from_seq"),
        ("fact_ended_in", "to_seq"),
        ("edge_ended_in", "to_seq"),
        ("watch_link_sources", "target_id"),
        ("watch_item_some", "queue_id"),
        ("named_runs", "workflow"),
    ],
)
def test_sqlite_finds_rows_of_a_graph_by_the_column_that_tells_most(
    sqlite_file: apsw.Connection, name: str, by: str
) -> None:
    """Every index begins with the graph: one that is searched by the graph alone reads all of it."""
    sql = _texts(SQLITE)[name]
    named = dict.fromkeys(re.findall(r"(?<![:\w]):([a-z_][a-z0-9_]*)", sql))

    plan = [str(row[3]) for row in sqlite_file.execute(f"explain query plan {sql}", named)]

    assert any(re.search(rf"SEARCH .*\bgraph_id=\? AND {by}[=><]", step) for step in plan), plan


def test_postgresql_understands_every_statement(postgres_url: str) -> None:
    open_database(postgres_url).close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for name, sql in _texts(POSTGRES).items():
            try:
                connection.execute(f"prepare {name} as {_numbered(sql)}")
            except psycopg.Error as exc:
                pytest.fail(f"{name}: {exc}")


def _numbered(sql: str) -> str:
    """With parameters as `prepare` takes them."""
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        known = numbers.setdefault(match[1] or f"position {match.start()}", len(numbers) + 1)
        return f"${known}::bytea" if match[1] == "nothing" else f"${known}"  # no column says the type of that one

    return re.sub(r"%(?:\((\w+)\))?s", number, sql)


@pytest.mark.parametrize("noun", sorted(ROWS))
def test_a_row_has_the_columns_of_its_table(noun: str) -> None:
    """In the same order: rows are bound and read by position."""
    assert columns()[noun] == list(ROWS[noun].__struct_fields__)


def test_every_key_begins_with_its_graph_but_for_the_global_tables() -> None:
    """Decision 19. The few global tables are listed here."""
    first = {table: names[0] for table, names in columns().items()}

    assert {table for table, name in first.items() if name != "graph_id"} == {
        "environment",
        "anonymous_token",
        "api_key",
        "clock",
        "environment_spend",
    }


def test_two_statements_of_one_name_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for file in ("a.sql", "b.sql"):
        (tmp_path / file).write_text("-- same\n-- Twice.\nselect 1\n")
    monkeypatch.setattr(statements, "__file__", str(tmp_path / "statements.py"))
    statements.texts.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"b\.sql: statement same is there twice"):
            statements.texts()
    finally:
        statements.texts.cache_clear()
