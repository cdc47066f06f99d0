"""Model activities in the store: reserved, answered once, charged, logged, kept (lbb-graph 3.2, 3.3, 3.6)."""

import datetime
import json
from typing import Any

import msgspec
from msgspec import Raw

from tests.clock import MovableClock
from tests.store.calls import Store, claimed_turn, delete, refused
from turnbuckle.operations import activity, budget, call, upkeep
from turnbuckle.operations.activity import Asked, Made, Reserved, Stored, UnderWay
from turnbuckle.operations.caller import Caller
from turnbuckle.store.database import read, write
from turnbuckle.wire import limits
from turnbuckle.wire.activity import ActivityTest, ActivityWorkflow, ReasonActivityRequest
from turnbuckle.wire.call import ModelCall, ModelCallQuery, ModelCallsQuery, ModelCallsResponse, ModelCallUsage

USD = 1_000_000
_COUNTED = ("tokens_in", "tokens_out", "cost_micro_usd", "ms")
CALLER = Caller("test", "main", "key:1", "write", "user")


def asked(
    store: Store,
    prompt: str = "which code?",
    *,
    id: str | None = "p/define",
    job: str = "reason",
    identity: str | None = None,
    step: str | None = None,
    **fields: Any,
) -> Asked:
    maker = None if identity is None else ActivityWorkflow(identity=identity, turn=1, step=step, run_id="r-1")
    request = ReasonActivityRequest(prompt=prompt, schema=Raw(b"{}"), effect_id=id, workflow=maker, **fields)
    return activity.ask(store.graph_id, CALLER, job, request, {"prompt": prompt, "schema": Raw(b"{}")}, prompt)


def begin(store: Store, asked: Asked, holder: str = "one", limit: int | None = None) -> Stored | Reserved | UnderWay:
    return write(store.database, lambda tx: activity.begin(tx, asked, Made(holder, "big", "large-1"), limit))


def finish(store: Store, asked: Asked, answer: bytes = b'{"a":1}', cost: int = 0, id: str = "00000001") -> bytes:
    made = Made(id, "big", "large-1", 11, 7, cost, 30)
    return write(store.database, lambda tx: activity.finish(tx, asked, made, answer, answer))


def fail(store: Store, asked: Asked, holder: str = "one", cost: int = 0) -> None:
    made = Made(holder, "big", "large-1", 11, 0, cost, 30)
    write(store.database, lambda tx: activity.fail(tx, asked, made, "cut off"))


def calls(store: Store, **query: Any) -> ModelCallsResponse:
    found: ModelCallsResponse = store.look(call.list_page, ModelCallsQuery(**query))
    return found


def one_call(store: Store, id: str) -> ModelCall:
    query = ModelCallQuery(id=id)
    return read(store.database, lambda tx: call.get(tx, store.graph_id, query, CALLER)).call


# -- once under an id --------------------------------------------------------------------------------------------


def test_the_first_request_may_call_and_the_same_again_gets_its_answer(store: Store) -> None:
    assert begin(store, asked(store)) == Reserved()
    assert finish(store, asked(store)) == b'{"a":1}'

    assert begin(store, asked(store)) == Stored(b'{"a":1}')


def test_who_asks_and_how_it_is_labelled_makes_no_other_request(store: Store) -> None:
    begin(store, asked(store, identity="a", label="x"))
    finish(store, asked(store))

    other = asked(store, identity="b", step="s", label="y", test=ActivityTest(workflow="t"))
    assert begin(store, other) == Stored(b'{"a":1}')


def test_another_request_under_a_stored_id_is_a_conflict(store: Store) -> None:
    begin(store, asked(store))
    finish(store, asked(store))

    with refused("activity_effect_conflict", "p/define"):
        begin(store, asked(store, "another prompt"))
    with refused("activity_effect_conflict"):
        read(store.database, lambda tx: activity.stored(tx, asked(store, "another prompt")))


def test_another_request_under_an_id_in_flight_is_a_conflict(store: Store) -> None:
    begin(store, asked(store))

    with refused("activity_effect_conflict"):
        begin(store, asked(store, "another prompt"))


def test_one_id_serves_each_activity_once(store: Store) -> None:
    begin(store, asked(store))
    finish(store, asked(store))

    assert begin(store, asked(store, job="embed")) == Reserved()


def test_without_an_id_nothing_is_kept(store: Store) -> None:
    for _ in range(2):
        assert begin(store, asked(store, id=None)) == Reserved()
        finish(store, asked(store, id=None), id=str(_))
    assert len(calls(store).calls) == 2


def test_a_failure_is_not_stored(store: Store) -> None:
    begin(store, asked(store))
    fail(store, asked(store))

    assert begin(store, asked(store)) == Reserved()
    assert begin(store, asked(store, "another prompt", id="p/other")) == Reserved()


# -- in flight ---------------------------------------------------------------------------------------------------


def test_the_same_request_in_flight_is_told_so(store: Store, clock: MovableClock) -> None:
    begin(store, asked(store))
    clock.pass_ms(1_000)

    assert begin(store, asked(store), "two") == UnderWay(limits.CALL_LEASE_MS - 1_000)
    assert read(store.database, lambda tx: activity.is_under_way(tx, asked(store)))


def test_a_renewed_call_stays_in_flight(store: Store, clock: MovableClock) -> None:
    begin(store, asked(store))
    for _ in range(5):
        clock.pass_ms(limits.CALL_LEASE_MS - 1)
        write(store.database, lambda tx: activity.renew(tx, asked(store), "one"))

    assert isinstance(begin(store, asked(store), "two"), UnderWay)


def test_a_call_lost_with_its_server_is_taken_over_after_its_lease(store: Store, clock: MovableClock) -> None:
    begin(store, asked(store))
    clock.pass_ms(limits.CALL_LEASE_MS)

    assert not read(store.database, lambda tx: activity.is_under_way(tx, asked(store)))
    assert begin(store, asked(store), "two") == Reserved()
    assert isinstance(begin(store, asked(store), "three"), UnderWay)
    (lost,) = calls(store).calls
    assert (lost.id[-8:], lost.ok, lost.usage) == ("one-lost", False, ModelCallUsage(**dict.fromkeys(_COUNTED, 0)))
    assert "may have answered" in str(lost.error)


def test_a_lost_call_binds_nobody_to_its_request(store: Store, clock: MovableClock) -> None:
    """Nothing was stored under the id, so a changed program may ask otherwise."""
    begin(store, asked(store))
    clock.pass_ms(limits.CALL_LEASE_MS)

    assert begin(store, asked(store, "another prompt"), "two") == Reserved()


def test_of_two_calls_the_first_answer_stays_and_both_are_charged(store: Store, clock: MovableClock) -> None:
    """A server that was only frozen comes back with an answer of its own."""
    begin(store, asked(store), "frozen")
    clock.pass_ms(limits.CALL_LEASE_MS)
    begin(store, asked(store), "two")

    assert finish(store, asked(store), b'"second"', 5, "2") == b'"second"'
    assert finish(store, asked(store), b'"first"', 5, "1") == b'"second"'

    assert begin(store, asked(store)) == Stored(b'"second"')
    with refused("workflow_budget_exceeded"):
        begin(store, asked(store, id="p/next"), limit=10)


def test_a_frozen_call_that_fails_does_not_let_go_of_another(store: Store, clock: MovableClock) -> None:
    begin(store, asked(store), "frozen")
    clock.pass_ms(limits.CALL_LEASE_MS)
    begin(store, asked(store), "two")

    fail(store, asked(store), "frozen")
    write(store.database, lambda tx: activity.renew(tx, asked(store), "frozen"))

    clock.pass_ms(limits.CALL_LEASE_MS - 1)
    assert begin(store, asked(store), "three") == UnderWay(1)


def test_the_end_of_a_call_is_announced(store: Store) -> None:
    told: list[Any] = []
    store.database.listener = lambda announced: told.extend(topic for topic, _ in announced)
    begin(store, asked(store))
    finish(store, asked(store))
    begin(store, asked(store, id="p/other"))
    fail(store, asked(store, id="p/other"))

    assert told == [asked(store).topic, asked(store, id="p/other").topic]


# -- budgets -----------------------------------------------------------------------------------------------------


def at(clock: MovableClock, year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    moment = datetime.datetime(year, month, day, hour, minute, tzinfo=datetime.UTC)
    clock.now_ms = int(moment.timestamp() * 1_000)
    return clock.now_ms


def set_limit(store: Store, workflow: str, usd: float | None) -> None:
    write(store.database, lambda tx: budget.set_limit(tx, store.graph_id, workflow, usd))


def spend(store: Store, cost: int, id: str, **fields: Any) -> None:
    begin(store, asked(store, id=id, **fields))
    finish(store, asked(store, id=id, **fields), cost=cost, id=id)


def test_a_spent_environment_is_refused_until_the_next_month(store: Store, clock: MovableClock) -> None:
    next_month = at(clock, 2027, 2, 1)
    at(clock, 2027, 1, 31, 23, 59)
    spend(store, 2 * USD, "1")

    with refused("workflow_budget_exceeded", "environment 'test' has spent 2.000000 USD in 2027-01") as info:
        begin(store, asked(store, id="2"), limit=2 * USD)

    assert (info.value.retry_at_ms, info.value.kind.retryable) == (next_month, False)
    clock.now_ms = next_month - 1
    with refused("workflow_budget_exceeded"):
        begin(store, asked(store, id="2"), limit=2 * USD)
    clock.now_ms = next_month
    assert begin(store, asked(store, id="2"), limit=2 * USD) == Reserved()


def test_the_next_month_of_december_is_in_the_next_year(store: Store, clock: MovableClock) -> None:
    next_year = at(clock, 2028, 1, 1)
    at(clock, 2027, 12, 1)
    spend(store, 1, "1")

    with refused("workflow_budget_exceeded") as info:
        begin(store, asked(store, id="2"), limit=1)
    assert info.value.retry_at_ms == next_year


def test_the_call_that_reaches_the_limit_may_overshoot_it(store: Store) -> None:
    spend(store, 9, "1")
    assert begin(store, asked(store, id="2"), limit=10) == Reserved()
    finish(store, asked(store, id="2"), cost=100, id="2")

    with refused("workflow_budget_exceeded"):
        begin(store, asked(store, id="3"), limit=10)


def test_a_stored_answer_needs_no_budget(store: Store) -> None:
    spend(store, 9, "1")

    assert isinstance(begin(store, asked(store, id="1"), limit=0), Stored)


def test_a_refused_call_reserves_nothing(store: Store) -> None:
    with refused("workflow_budget_exceeded"):
        begin(store, asked(store), limit=0)

    assert begin(store, asked(store)) == Reserved()


def test_a_named_workflow_has_a_budget_of_its_own(store: Store) -> None:
    """All its shards spend it, and the tests of it; others do not."""
    set_limit(store, "notes", 0.00001)
    spend(store, 4, "1", identity="starter.notes")
    spend(store, 4, "2", identity="starter.notes.3")
    spend(store, 4, "3", test=ActivityTest(workflow="notes"))
    spend(store, 100, "4", identity="notes")

    for ask in (
        asked(store, id="5", identity="starter.notes.1"),
        asked(store, id="6", test=ActivityTest(workflow="notes")),
    ):
        with refused("workflow_budget_exceeded", "workflow 'notes' has spent 0.000012 USD"):
            begin(store, ask)
    assert begin(store, asked(store, id="7", identity="starter.other")) == Reserved()
    assert read(store.database, lambda tx: budget.spent_by(tx, store.graph_id, "notes"))[1] == 12


def test_a_limit_can_be_raised_and_taken_away(store: Store) -> None:
    spend(store, 4, "1", identity="starter.notes")
    set_limit(store, "notes", 0)
    with refused("workflow_budget_exceeded"):
        begin(store, asked(store, id="2", identity="starter.notes"))

    set_limit(store, "notes", 1)
    assert begin(store, asked(store, id="2", identity="starter.notes")) == Reserved()
    set_limit(store, "notes", None)
    assert read(store.database, lambda tx: budget.limit_of(tx, store.graph_id, "notes")) is None


def test_a_failed_call_is_charged_what_it_cost(store: Store) -> None:
    begin(store, asked(store))
    fail(store, asked(store), cost=10)

    with refused("workflow_budget_exceeded"):
        begin(store, asked(store), limit=10)


# -- the log -----------------------------------------------------------------------------------------------------


def test_a_call_is_logged_with_who_made_it_and_what_it_cost(store: Store) -> None:
    ask = asked(store, identity="starter.notes", step="define", label="code")
    begin(store, ask)
    finish(store, ask, b'{"code":"A"}', cost=12)

    (row,) = calls(store).calls
    assert msgspec.to_builtins(row) == {
        "id": f"call_{store.clock.now_ms}_00000001",
        "at_ms": store.clock.now_ms,
        "job": "reason",
        "provider": "big",
        "model": "large-1",
        "ok": True,
        "summary": "code: which code?",
        "run_id": "r-1",
        "step": "define",
        "scope": "live",
        "use": "extract",
        "usage": {"tokens_in": 11, "tokens_out": 7, "cost_micro_usd": 12, "ms": 30},
        "sampled": False,
    }
    whole = one_call(store, row.id)
    assert json.loads(bytes(whole.input)) == {"prompt": "which code?", "schema": {}}
    assert (bytes(whole.output), whole.truncated, whole.graph) == (b'{"code":"A"}', False, "main")
    assert msgspec.to_builtins(whole.origin) == {
        "route": "activities/reason",
        "workflow": "notes",
        "run": {"identity": "starter.notes", "turn": 1, "run_id": "r-1"},
    }


def test_a_call_of_a_test_is_marked_as_one(store: Store) -> None:
    ask = asked(store, identity="notes-test-1", step="define", test=ActivityTest(workflow="notes"))
    begin(store, ask)
    finish(store, ask)

    (row,) = calls(store).calls
    assert (row.scope, row.sampled) == ("test", False)
    assert one_call(store, row.id).origin.route == "tests/notes"


def test_a_failed_call_is_logged_as_one(store: Store) -> None:
    begin(store, asked(store))
    fail(store, asked(store))

    (row,) = calls(store).calls
    assert (row.ok, row.error) == (False, "cut off")


def test_what_is_too_long_is_kept_as_its_start(store: Store) -> None:
    ask = asked(store, "ä" * limits.CALL_BYTES)
    begin(store, ask)
    finish(store, ask, json.dumps("🙂" * limits.CALL_BYTES).encode())

    whole = one_call(store, calls(store).calls[0].id)
    assert whole.truncated
    assert limits.CALL_BYTES / 4 < len(bytes(whole.input)) <= limits.CALL_BYTES
    assert json.loads(bytes(whole.input)).startswith('{"prompt":"ää')
    assert len(bytes(whole.output)) <= limits.CALL_BYTES
    assert len(whole.summary) <= limits.CALL_SUMMARY_CHARS


def test_calls_are_listed_newest_first_in_pages(store: Store, clock: MovableClock) -> None:
    for number in range(5):
        clock.pass_ms(1)
        spend(store, 0, str(number), job="embed" if number == 2 else "reason")

    first = calls(store, limit=2)
    rest = calls(store, limit=100, after=first.next_after)

    ids = [row.id[-1] for row in (*first.calls, *rest.calls)]
    assert (ids, rest.next_after) == (["4", "3", "2", "1", "0"], None)
    assert [row.id[-1] for row in calls(store, job="embed").calls] == ["2"]
    assert calls(store, checked=True).calls == []
    assert len(calls(store, checked=False).calls) == 5


def test_a_day_is_one_of_utc(store: Store, clock: MovableClock) -> None:
    for hours, id in ((0, "a"), (23, "b"), (24, "c")):
        at(clock, 2027, 1, 15)
        clock.pass_ms(hours * limits.HOUR_MS)
        spend(store, 0, id)

    assert [row.id[-1] for row in calls(store, day="2027-01-15").calls] == ["b", "a"]
    assert [row.id[-1] for row in calls(store, day="2027-01-16").calls] == ["c"]
    assert calls(store, day="1969-01-01").calls == []
    with refused("invalid_param", "day: got '2027-02-30'"):
        calls(store, day="2027-02-30")


def test_an_unknown_call_is_told(store: Store) -> None:
    with refused("model_call_not_found"):
        one_call(store, "call_1")


# -- what is kept ------------------------------------------------------------------------------------------------


def prune(store: Store) -> None:
    for piece in (upkeep.prune_calls, upkeep.prune_activities):
        while write(store.database, piece):
            pass


def test_calls_are_listed_and_kept_for_31_days(store: Store, clock: MovableClock) -> None:
    spend(store, 0, "1")
    id = calls(store).calls[0].id
    clock.pass_ms(limits.CALL_MS)
    prune(store)
    assert len(calls(store).calls) == 1

    clock.pass_ms(1)
    assert calls(store).calls == []
    prune(store)
    with refused("model_call_not_found"):
        one_call(store, id)


def test_an_answer_is_kept_for_30_days(store: Store, clock: MovableClock) -> None:
    spend(store, 0, "1")
    clock.pass_ms(limits.ACTIVITY_MS)
    prune(store)
    assert isinstance(begin(store, asked(store, id="1")), Stored)

    clock.pass_ms(1)
    prune(store)
    assert begin(store, asked(store, id="1")) == Reserved()


def test_an_answer_is_kept_as_long_as_its_turn(store: Store, clock: MovableClock) -> None:
    """A turn that failed waits for a person, who may come after a summer."""
    claimed_turn(store)
    spend(store, 0, "1", identity="a")
    clock.pass_ms(3 * limits.ACTIVITY_MS)
    prune(store)
    prune(store)

    assert isinstance(begin(store, asked(store, id="1")), Stored)
    delete(store)
    clock.pass_ms(limits.DAY_MS + 1)
    prune(store)
    assert begin(store, asked(store, id="1")) == Reserved()
