"""The effect ledger: what a step did outside, or may have done when its attempt ended (ours; decision 2)."""

from typing import Any

import msgspec
import pytest

from tests.store.calls import (
    CALLER,
    LEASE_MS,
    Store,
    begin,
    claimed,
    claimed_turn,
    complete,
    control,
    current,
    delete,
    fail_for_good,
    lease,
    put_blob,
    refused,
    release,
    save,
    send,
    start,
)
from tests.store.watch_calls import declare as declare_ontology
from turnbuckle.operations import commit, effect
from turnbuckle.wire.commit import GraphCommitRequest
from turnbuckle.wire.effect import (
    EffectMark,
    WorkflowEffect,
    WorkflowEffectsQuery,
    WorkflowEffectsResponse,
    WorkflowTurnEffectRequest,
    read_mark,
)
from turnbuckle.wire.turn import WorkflowTurnTask


def declare(
    store: Store, task: WorkflowTurnTask, target: str = "invoice 7", *, step: str = "s", state: Any = "intended"
) -> WorkflowEffect:
    effect_id = f"{task.effect_prefix}/{step}"
    request = WorkflowTurnEffectRequest(
        **lease(task), step=step, effect_id=effect_id, kind="payment", target=target, state=state
    )
    answer: WorkflowEffect = store.do(effect.declare, request)
    return answer


def listed(store: Store, **query: Any) -> WorkflowEffectsResponse:
    answer: WorkflowEffectsResponse = store.look(effect.page, WorkflowEffectsQuery(**query))
    return answer


def states(store: Store, **query: Any) -> list[tuple[str, str, int]]:
    return [(e.target, e.state, e.attempts) for e in listed(store, **query).effects]


def test_an_effect_is_intended_while_its_step_runs_and_confirmed_when_it_says_so(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task)

    assert declare(store, task).state == "intended"
    assert states(store, id="a") == [("invoice 7", "intended", 1)]
    assert declare(store, task, state="confirmed").state == "confirmed"
    assert [e.state for e in current(store).effects or []] == ["confirmed"]


def test_a_saved_step_confirms_what_it_declared(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task)
    declare(store, task)

    save(store, task)

    assert states(store, id="a") == [("invoice 7", "confirmed", 1)]
    assert states(store) == []


@pytest.mark.parametrize("ends", ["lease", "release", "failure"])
def test_an_effect_is_in_doubt_when_its_attempt_ended_before_it_was_confirmed(store: Store, ends: str) -> None:
    """Whoever looks after the crash sees exactly what may have happened."""
    task = claimed_turn(store)
    begin(store, task)
    declare(store, task)

    if ends == "lease":
        store.clock.pass_ms(LEASE_MS + 1)
    elif ends == "release":
        release(store, task)
    else:
        fail_for_good(store, task)

    assert states(store) == [("invoice 7", "in_doubt", 1)]
    assert states(store, id="a", turn=1, state="in_doubt") == [("invoice 7", "in_doubt", 1)]
    assert states(store, state="intended") == []


def test_the_next_attempt_clears_the_doubt_under_the_same_effect_id(store: Store) -> None:
    """A release does not count an attempt, and yet the step was begun twice with this effect."""
    task = claimed_turn(store)
    begin(store, task)
    first = declare(store, task)
    release(store, task)
    store.clock.pass_ms(1_000)
    again = claimed(store)

    assert states(store) == [("invoice 7", "in_doubt", 1)]
    begin(store, again)
    assert states(store) == [("invoice 7", "in_doubt", 1)]  # this attempt has not said yet that it will
    second = declare(store, again)
    assert second.state == "intended"
    save(store, again)

    assert (second.effect_id, second.id) == (first.effect_id, first.id)
    assert states(store, id="a") == [("invoice 7", "confirmed", 2)]


def test_declaring_twice_in_one_attempt_is_one_effect(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task)

    first, second = declare(store, task), declare(store, task)

    assert first == second
    assert [declare(store, task, "invoice 8").target for _ in range(2)] == ["invoice 8"] * 2
    assert sorted(states(store, id="a")) == [("invoice 7", "intended", 1), ("invoice 8", "intended", 1)]


def test_a_token_that_lost_declares_nothing(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task)
    store.clock.pass_ms(LEASE_MS + 1)

    with refused("turn_lease_lost"):
        declare(store, task)

    assert states(store) == []


def test_only_the_running_step_declares(store: Store) -> None:
    task = claimed_turn(store)

    with refused("conflict", "no step runs"):
        declare(store, task)
    begin(store, task)
    with refused("conflict", "the running step is 's'"):
        declare(store, task, step="other")


def marked(task: WorkflowTurnTask, graph: str = "main") -> Any:
    header = f"{graph}/{task.turn.workflow_id}/{task.turn.number}/s/{task.effect_prefix}/s"
    mark = read_mark(header)
    assert mark is not None
    return msgspec.structs.replace(CALLER, effect=mark)


def test_what_the_server_does_for_a_step_is_in_the_ledger_with_it(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task)

    blob = put_blob(store, b"page", caller=marked(task))

    shown = listed(store, id="a").effects
    assert [(e.kind, e.target, e.state, e.step) for e in shown] == [("blob", blob.key, "confirmed", "s")]
    assert shown[0].effect_id == f"{task.effect_prefix}/s"


@pytest.mark.parametrize("graph", ["elsewhere", "main"])
def test_a_mark_of_no_turn_leaves_no_trace_and_no_error(store: Store, graph: str) -> None:
    task = claimed_turn(store)
    caller = marked(task, graph)
    if graph == "main":
        complete(store, task)
        delete(store)

    assert put_blob(store, b"page", caller=caller).created


def test_effects_go_with_their_instance(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task)
    declare(store, task)

    delete(store)

    assert states(store) == []


def test_pages_of_a_graph_show_each_open_effect_once(store: Store) -> None:
    for name in ("a", "b", "c"):
        start(store, name)
        send(store, to=name)
        task = claimed(store)
        begin(store, task)
        for target in ("x", "y", "z"):
            declare(store, task, target)
    control(store, "pause", id="b")

    seen, after = [], ""
    while True:
        page = listed(store, limit=2, after=after)
        seen += [(e.workflow_id, e.target) for e in page.effects]
        if page.next_after is None:
            break
        after = page.next_after

    assert sorted(seen) == [(name, target) for name in "abc" for target in "xyz"]
    assert len(listed(store, id="b", limit=2).effects) == 2


@pytest.mark.parametrize(
    ("query", "param"), [({"turn": 1}, "turn"), ({"state": "confirmed"}, "state"), ({"after": "a/x/y"}, "after")]
)
def test_a_query_that_cannot_be_answered_names_its_field(store: Store, query: dict[str, Any], param: str) -> None:
    with refused("invalid_param") as info:
        listed(store, **query)

    assert info.value.param == param


@pytest.mark.parametrize(
    "header", ["", "main/a/1/s", "main/a/x/s/p/s", "Main/a/1/s/p/s", "main/a/1/s t/p", "main/a/1/s/p\n"]
)
def test_a_header_that_is_no_mark_is_none(header: str) -> None:
    assert read_mark(header) is None


def test_a_mark_names_graph_instance_turn_step_and_effect() -> None:
    assert read_mark("main/codes-1/4/define/77aa/define.2") == EffectMark(
        "main", "codes-1", 4, "define", "77aa/define.2"
    )


def test_a_commit_of_a_step_is_in_the_ledger_also_when_it_is_a_replay(store: Store) -> None:
    """The first answer may have been lost with its attempt: the second asks for the same, and it has happened once."""
    declare_ontology(store)
    task = claimed_turn(store)
    begin(store, task)
    body = msgspec.convert({"entity_properties": [{"type": "Note", "name": "a"}]}, GraphCommitRequest)
    caller = msgspec.structs.replace(marked(task), idempotency_key=f"{task.effect_prefix}/s")

    answers = [store.do(commit.commit, body, caller) for _ in range(2)]

    assert [answer.replayed for answer in answers] == [False, True]
    assert [(e.kind, e.target, e.state) for e in listed(store, id="a").effects] == [
        ("commit", f"{task.effect_prefix}/s", "confirmed")
    ]
