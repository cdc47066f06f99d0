"""Several threads ask one store at once, at random: nothing breaks, nothing is lost, nothing happens twice.

On PostgreSQL this is where a wrong order of locks shows: claims with skip locked while messages, signals, commands
and upkeep come in. `TURNBUCKLE_MODEL=long` asks ten times as much with a random seed.
"""

import contextlib
import threading
from collections import defaultdict
from typing import Any

import psycopg
import pytest

from tests.model.asking import Ask
from tests.model.crowd import GRAPH, KEPT, PAIRS, CommonClock, Crowd
from tests.model.looking import Look, Witness, look
from turnbuckle.operations import doctor, graph
from turnbuckle.store.database import Database, open_database, read, write
from turnbuckle.wire.errors import ERRORS

THREADS, REQUESTS = 6, 700


@pytest.mark.timeout(900)
def test_many_at_once_leave_every_turn_sound(model_store: str, is_long: bool, model_seed: int) -> None:
    """Each thread's answers, taken together, are those of requests that came one after the other."""
    clock, before = CommonClock(), deadlocks(model_store)
    with contextlib.closing(open_database(model_store, clock)) as database:
        graph_id = write(database, lambda tx: graph.use(tx, "test", GRAPH))
        crowd = Crowd(database, graph_id, clock)
        for number, id in enumerate(KEPT):
            crowd.start(id, PAIRS[number % 2])

        witness = Onlooker(database, graph_id)
        crowd.run(THREADS, REQUESTS * (10 if is_long else 1), model_seed)
        problems = witness.stop()

        problems += [repr(exc) for exc in crowd.broken]
        problems += answers_contradict(crowd)
        problems += read(database, doctor.problems)
        assert not problems, told(model_seed, problems)
        drain(crowd)
        problems = misses(crowd, look_at(database, graph_id))
        assert not problems, told(model_seed, problems)
    assert deadlocks(model_store) == before, told(model_seed, [])


def told(seed: int, problems: list[str]) -> str:
    return "\n".join([f"TURNBUCKLE_MODEL_SEED={seed}", *problems])


class Onlooker:
    """A reader that looks all the time: what it sees never goes back, and is sound in every snapshot."""

    def __init__(self, database: Database, graph_id: str) -> None:
        self._database, self._graph_id = database, graph_id
        self._is_over = threading.Event()
        self._problems: list[str] = []
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> list[str]:
        self._is_over.set()
        self._thread.join()
        return self._problems

    def _watch(self) -> None:
        witness, looks = Witness(), 0
        while not (self._is_over.is_set() and looks):
            # Its time first, then its snapshot: a lease that was renewed in between would seem to have ended.
            now_ms, seen = read(self._database, lambda tx: (tx.now_ms, look(tx, {GRAPH: self._graph_id})))
            kept = {place: one for place, one in seen.items() if place[1] in KEPT}
            self._problems += witness.check(kept, now_ms)
            looks += 1


def look_at(database: Database, graph_id: str) -> dict[str, Look]:
    looks = write(database, lambda tx: look(tx, {GRAPH: graph_id}))
    return {id: one for (_, id), one in looks.items() if id in KEPT}


# -- what the threads were told, taken together ------------------------------------------------------------------


def answers_contradict(crowd: Crowd) -> list[str]:
    """Of the instances that stayed: where two threads were told what cannot both be true."""
    wrong = [
        f"{asked}: {outcome[1]}"
        for asked, outcome in crowd.answered
        if outcome[0] == "refused" and (ERRORS[outcome[1]].status >= 500 or outcome[1].startswith("invalid"))
    ]
    told: dict[tuple[Any, ...], set[Any]] = defaultdict(set)
    for asked, (word, answer) in crowd.answered:
        if word == "ok":
            for fact, value in _facts(asked, answer):
                told[fact].add(value)
    wrong += [f"{fact} was told as {sorted(map(str, values))}" for fact, values in told.items() if len(values) > 1]
    tokens = [lease["token"] for lease in crowd.leases]
    return wrong + (["a token was given twice"] if len(set(tokens)) < len(tokens) else [])


def _facts(asked: Ask, answer: Any) -> list[tuple[tuple[Any, ...], Any]]:
    """What an accepted request says that no other answer may say otherwise."""
    shown = answer["task"]["turn"] if asked.kind == "claim" and answer["task"] else answer
    if asked.kind in ("create", "control", "delete", "claim") and shown is answer:
        return []
    where = (shown["workflow_id"], shown["number"])
    if where[0] not in KEPT:
        return []
    facts: list[tuple[tuple[Any, ...], Any]] = [(("message", *where), shown["message_id"])]
    facts += [(("turn of", where[0], shown["message_id"]), where[1])]
    facts += [(("step", *where, at), repr(_lasting(one))) for at, one in enumerate(shown["steps"])]
    if asked.kind == "claim":
        facts.append((("effect prefix", *where), answer["task"]["effect_prefix"]))
    if asked.kind == "complete":
        facts.append((("completed by", *where), asked.decode().token))  # type: ignore[attr-defined]
        facts.append((("completion of", *where), repr((shown["state_after"], shown.get("continued_to")))))
    return facts


def _lasting(step: dict[str, Any]) -> dict[str, Any]:
    """Of a wait all but its output: it is not there until the signal is, or the timeout."""
    return {name: value for name, value in step.items() if name != "output" or step["kind"] != "signal"}


# -- the end -----------------------------------------------------------------------------------------------------


def drain(crowd: Crowd) -> None:
    """A person lets all that is stopped go on, and one worker does all that is left."""
    workflows = [{"workflow_type": name, "version": version} for name, version in PAIRS]
    for _ in range(20):
        for id in KEPT:
            _, shown = crowd.ask("control", workflow_id=id, action="resume")
            if shown["status"] == "failed":
                crowd.ask("control", workflow_id=id, action="skip", turn=shown["current_turn"]["number"])
        crowd.clock.pass_ms(60_000)
        while (answer := crowd.ask("claim", worker="last", workflows=workflows)[1])["task"] is not None:
            turn = answer["task"]["turn"]
            lease = {"workflow_id": turn["workflow_id"], "turn": turn["number"], "token": answer["task"]["token"]}
            crowd.ask("complete", **lease, state=0)


def misses(crowd: Crowd, looks: dict[str, Look]) -> list[str]:
    """What was accepted and is not there, or is not finished, though all was drained."""
    wrong = [f"{id} is {one.instance['status']}" for id, one in looks.items() if one.instance["status"] != "idle"]
    completed: dict[str, set[int]] = defaultdict(set)
    for asked, (word, answer) in crowd.answered:
        if word == "ok" and asked.kind in ("send", "complete") and answer["workflow_id"] in KEPT:
            shown = looks[answer["workflow_id"]].turns.get(answer["number"])
            if shown is None or shown["message_id"] != answer["message_id"]:
                wrong.append(f"turn {answer['number']} of {answer['workflow_id']} is lost")
            elif asked.kind == "complete":
                completed[answer["workflow_id"]].add(answer["number"])
                if shown["state_after"] != answer["state_after"]:
                    wrong.append(f"turn {answer['number']} of {answer['workflow_id']} has another state")
    for id, one in looks.items():
        there = {number for number, turn in one.turns.items() if turn["status"] == "completed"}
        if completed[id] != there or one.instance["completed_turns"] != len(there):
            wrong.append(f"{id}: {len(there)} turns completed, {len(completed[id])} were told so")
        ends = [turn["finished_at_ms"] for turn in one.turns.values() if turn["status"] != "cancelled"]
        if ends != sorted(ends):
            wrong.append(f"{id}: turns did not end in order")
    return wrong


def deadlocks(location: str) -> int:
    """How often PostgreSQL has broken a deadlock: an operation that gives way is tried again, so nobody sees it.

    Each connection reports what it met when it ends.
    """
    if not location.startswith("postgresql://"):
        return 0
    with psycopg.connect(location) as connection:
        query = "select deadlocks from pg_stat_database where datname = current_database()"
        row = connection.execute(query).fetchone()
    return int(row[0]) if row is not None else 0
