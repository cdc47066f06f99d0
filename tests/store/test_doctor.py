"""The store's doctor: silent on what operations leave, and a sentence for each row that breaks a rule."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clock import MovableClock
from tests.store.calls import Store, start
from tests.store.graphs import caller, declared, link, ref, row
from tests.store.graphs import write as commit
from tests.store.played import Engine
from turnbuckle.operations import doctor, graph, key
from turnbuckle.store.database import Database, open_database, read, write
from turnbuckle.wire.graph import GraphDeleteQuery


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    with contextlib.closing(open_database(store_url)) as opened:
        yield opened


@pytest.fixture
def busy(database: Database) -> Database:
    """A store with an instance in every situation, each named after it."""
    engine = Engine(database)
    engine.start("idle", 0)
    engine.start("queued", 3)
    engine.start("running", 2)
    lease = engine.claim("running")
    engine.save_step(lease, 0)
    engine.save_step(lease, 1)
    engine.begin(lease, 2)
    engine.start("sleeping", 1)
    engine.save_step(engine.claim("sleeping"), 0, kind="sleep", delay_ms=60_000)
    engine.start("listening", 2)
    engine.listen(engine.claim("listening"), 0)
    engine.signal("listening", 2, "early")
    engine.start("heard", 1)
    engine.listen(engine.claim("heard"), 0)
    engine.signal("heard", 1, "e1")
    engine.start("blocked", 2, max_attempts=1)
    engine.fail(engine.claim("blocked"))
    engine.start("skipping", 2, max_attempts=1, on_exhausted="skip")
    engine.fail(engine.claim("skipping"))
    engine.start("retrying", 1)
    engine.fail(engine.claim("retrying"))
    engine.start("paused", 1)
    engine.control("paused", "pause")
    engine.start("done", 3)
    engine.complete(engine.claim("done"))
    engine.control("done", "cancel_turn", 3)
    engine.complete(engine.claim("done"))
    write(database, lambda tx: key.create(tx, "mine", "test", "user", "write"))
    return database


def test_a_store_that_operations_wrote_has_no_problem(busy: Database) -> None:
    """Whatever an instance waits for, its rows agree with each other."""
    assert read(busy, doctor.problems) == []


def test_problems_are_found_beyond_the_first_page(busy: Database, monkeypatch: Any) -> None:
    """Memory is bounded: a page of instances at a time, and none is left out."""
    damage(busy, "update instance set pending = 9")
    monkeypatch.setattr(doctor, "INSTANCES_AT_ONCE", 2)

    problems = read(busy, doctor.problems)

    assert len([problem for problem in problems if "it says 9 turns are unfinished" in problem]) == 11


DAMAGES = {
    "wrong head": ("update instance set head = 2 where instance_id = 'queued'", "the first unfinished one is 1"),
    "no head": ("update instance set head = null where instance_id = 'queued'", "its current turn is None"),
    "wrong count": ("update instance set pending = 1 where instance_id = 'queued'", "it says 1 turns are unfinished"),
    "never claimable": (
        "update instance set claimable_at_ms = null where instance_id = 'queued'",
        "claimable_at_ms is None, expected",
    ),
    "never due": ("update instance set due_at_ms = null where instance_id = 'running'", "due_at_ms is None, expected"),
    "due without a holder": ("update instance set due_at_ms = 5 where instance_id = 'idle'", "due_at_ms is 5"),
    "paused and claimable": (
        "update instance set claimable_at_ms = 5 where instance_id = 'paused'",
        "claimable_at_ms is 5, expected None",
    ),
    "held without a lease": (
        "update turn set lease_until_ms = null where instance_id = 'running' and number = 1",
        "held without a lease",
    ),
    "two holders": (
        "update turn set token_hash = (select token_hash from turn where instance_id = 'running' and number = 1)"
        " where instance_id = 'running' and number = 2",
        "2 turns have a holder, expected 1",
    ),
    "failed and not blocking": (
        "update instance set on_exhausted = 'skip' where instance_id = 'blocked'",
        "has failed and is still in the inbox",
    ),
    "completed and not gone": (
        "update turn set status = 'completed' where instance_id = 'queued' and number = 2",
        "are completed and in the inbox",
    ),
    "gone and not ended": (
        "update turn set status = 'queued' where instance_id = 'done' and number = 1",
        "are queued and out of the inbox",
    ),
    "not queued behind": (
        "update turn set status = 'retrying' where instance_id = 'running' and number = 2",
        "behind the current one",
    ),
    "a lost turn": ("delete from turn where instance_id = 'done' and number = 2", "expected all of 1 to 3"),
    "a lost message": ("delete from message where instance_id = 'queued' and number = 2", "it has 2 messages"),
    "a lost body": (
        "update message set body = null where instance_id = 'queued' and number = 2",
        "2 messages have their content, expected 3",
    ),
    "a completion too many": (
        "update instance set completed = 3 where instance_id = 'done'",
        "it says 3 turns completed",
    ),
    "a lost state": ("delete from state where instance_id = 'done' and turn = 2", "its state after turn 2 is missing"),
    "an old state": (
        "update instance set state_turn = 1 where instance_id = 'done'",
        "its state is that of turn 1, the newest completed one is 2",
    ),
    "a lost step": ("delete from step where instance_id = 'running' and position = 0", "it says it has 2 steps"),
    "a moved step": (
        "update step set position = 7 where instance_id = 'running' and position = 1",
        "there are 2 up to position 7",
    ),
    "a key twice": (
        "update step set key = 'step0' where instance_id = 'running' and position = 1",
        "1 of them distinct",
    ),
    "a lost signal": ("delete from signal where instance_id = 'heard'", "it says it has 1 signals"),
    "a signal taken by nobody": (
        "update signal set consumed_by = 'gone' where instance_id = 'heard'",
        "signal 'e1' was taken by step 'gone', which is not saved",
    ),
    "a lost run": ("delete from run where instance_id = 'retrying'", "ended and has no record"),
    "a stray step": (
        "update step set instance_id = 'nobody' where instance_id = 'sleeping'",
        "1 steps belong to nothing",
    ),
    "a stray operation": (
        "update operation set position = 5 where instance_id = 'running'",
        "1 operations belong to nothing",
    ),
    "a stray message": (
        "update message set instance_id = 'nobody' where instance_id = 'done' and number = 3",
        "1 messages belong to nothing",
    ),
    "a stray signal": ("update signal set instance_id = 'nobody'", "2 signals belong to nothing"),
    "a stray state": ("update state set instance_id = 'nobody' where instance_id = 'idle'", "1 states belong to"),
    "a stray run": ("update run set instance_id = 'nobody' where instance_id = 'retrying'", "1 runs belong to nothing"),
    "a stray turn": (
        "update turn set instance_id = 'nobody' where instance_id = 'paused'",
        "1 turns belong to nothing",
    ),
    "no graph": ("update graph set graph_id = 'other'", "its graph does not exist"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named(busy: Database, name: str) -> None:
    """One row that no operation would leave is one sentence that says where it is and what is wrong."""
    sql, expected = DAMAGES[name]
    damage(busy, sql)

    problems = read(busy, doctor.problems)

    assert any(expected in problem for problem in problems), problems


def test_a_key_in_the_store_is_a_problem(busy: Database) -> None:
    """Whoever steals the store must not get keys with it."""
    plain = b"lbb_sk_live_" + b"x" * 20
    damage(busy, "update api_key set key_hash = {}", plain)

    problems = read(busy, doctor.problems)

    assert len(problems) == 1
    assert "the store holds the key itself" in problems[0]
    assert plain.decode() not in problems[0]


def damage(database: Database, sql: str, *values: Any) -> None:
    """Change rows behind the engine's back; `{}` stands for a value."""
    place = "%s" if database.kind == "postgresql" else "?"
    write(database, lambda tx: tx._connection.execute(sql.format(place), values))


BROKEN_GRAPHS = {
    "update fact set to_seq = from_seq": "rows of graphs ended before they began",
    "update entity set to_seq = 9": "fields belong to a record that is not there",
    "delete from entity where class_id = 'person'": "links lead from or to a record that is not there",
    "update graph set head_seq = 0": "rows are of a commit that is not there",
    "update graph set head_seq = 5": "graphs have another number of commits than their head says",
    "update entity set to_seq = null": "records have two names at once",
    "update fact set to_seq = null": "fields have two values at once",
}


@pytest.mark.parametrize("broken", BROKEN_GRAPHS)
def test_a_graph_whose_rows_disagree_is_told(database: Database, broken: str) -> None:
    graph_id = write(database, lambda tx: graph.use(tx, "test", "main"))
    notes = declared(Store(database, "", graph_id, MovableClock()))
    ann = ref("Ann", "Person", key="p")
    commit(notes, entity_properties=[row("a", text="x")], triplets=[link("a", "ABOUT", ann)])
    commit(notes, entity_properties=[row("a", text="y"), row({**ann, "name": "Anna"})])
    assert read(database, doctor.problems) == []

    damage(database, broken)

    assert any(BROKEN_GRAPHS[broken] in problem for problem in read(database, doctor.problems))


def test_the_rows_of_a_deleted_graph_are_no_problem_while_they_go(database: Database) -> None:
    graph_id = write(database, lambda tx: graph.use(tx, "test", "main"))
    store = Store(database, "", graph_id, MovableClock())
    start(store)
    commit(declared(store), entity_properties=[row("a", text="x")])

    write(database, lambda tx: graph.delete(tx, graph_id, GraphDeleteQuery(confirm="main"), caller()))

    assert read(database, doctor.problems) == []
