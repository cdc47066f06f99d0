"""Turns: claimed, renewed, completed, failed, read (lbb-engine 3.7, 3.8, 3.12, 3.13, 3.19)."""

import msgspec
import pytest
from msgspec import Raw

from tests.clock import START_MS
from tests.store.calls import (
    LEASE_MS,
    Store,
    begin,
    bytes_of,
    claim,
    claimed,
    claimed_turn,
    complete,
    control,
    current,
    fail,
    fail_for_good,
    heartbeat,
    history,
    inspect,
    lease,
    plain,
    refused,
    release,
    save,
    send,
    start,
)
from tests.tables import dump
from turnbuckle.operations import turn
from turnbuckle.store.database import write
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.run import WorkflowRunUsage
from turnbuckle.wire.turn import (
    WorkflowClaimPair,
    WorkflowTurnClaimRequest,
    WorkflowTurnCompleteRequest,
    WorkflowTurnContinuation,
)

# -- claim -------------------------------------------------------------------------------------------------------


def test_a_claim_hands_out_all_a_worker_needs(store: Store) -> None:
    start(store, state={"n": 4})
    send(store, {"add": 2})

    task = claimed(store, "w-1")

    assert (task.workflow_type, plain(task.state), task.lease_ms, task.results_max) == ("t", {"n": 4}, LEASE_MS, 200)
    assert (task.turn.number, plain(task.turn.message), task.turn.version) == (1, {"add": 2}, "v1")
    assert (task.turn.status, task.turn.attempt, task.turn.worker) == ("running", 1, "w-1")
    assert task.turn.deadline_ms == START_MS + LEASE_MS
    assert task.turn.run is not None
    assert (task.turn.run.id, task.turn.run.queue_before) == (f"{START_MS}-a-1", 1)
    assert len(task.token) >= 32
    assert bytes_of(current(store)) == bytes_of(task.turn)


def test_nothing_ready_is_no_task(store: Store) -> None:
    assert claim(store) is None
    start(store)
    assert claim(store) is None


def test_a_held_turn_is_not_handed_out_again_and_blocks_those_behind_it(store: Store) -> None:
    claimed_turn(store, messages=2)

    assert claim(store) is None


def test_every_claim_has_its_own_token(store: Store) -> None:
    first = claimed_turn(store)
    release(store, first)
    store.clock.pass_ms(1_000)

    assert claimed(store).token != first.token


def test_turns_of_an_instance_run_in_the_order_they_came(store: Store) -> None:
    task = claimed_turn(store, messages=4)
    order = []
    while True:
        order.append(plain(task.turn.message))
        complete(store, task, state=order)
        if (following := claim(store)) is None:
            break
        task = following

    assert order == [1, 2, 3, 4]
    assert plain(inspect(store).state) == [1, 2, 3, 4]


def test_inside_a_type_the_turn_that_was_ready_first_is_claimed_first(store: Store) -> None:
    for name in ("c", "a", "b"):
        start(store, name)
        send(store, to=name)
        store.clock.pass_ms(1)

    assert [claimed(store).turn.workflow_id for _ in range(3)] == ["c", "a", "b"]


def test_a_full_type_does_not_starve_another(store: Store) -> None:
    """B068: idle queues waited for minutes behind a large one. The pairs take turns by a random start."""
    for number in range(30):
        start(store, f"big-{number}")
        send(store, to=f"big-{number}")
    start(store, "small", pair=("other", "v1"))
    send(store, to="small")

    first_ten = [claimed(store, pairs=(("t", "v1"), ("other", "v1"))).turn.workflow_id for _ in range(25)]

    assert "small" in first_ten  # missed with probability 2 ** -25


def test_a_claim_is_for_one_graph(store: Store) -> None:
    start(store)
    send(store)
    pairs = [WorkflowClaimPair(workflow_type="t", version="v1")]
    request = WorkflowTurnClaimRequest(worker="w", workflows=pairs)

    assert write(store.database, lambda tx: turn.claim(tx, "another graph", request)).task is None


def test_execution_credentials_are_refused_before_anything_is_claimed(store: Store) -> None:
    """P37: the turn stays for a worker that asks for what there is."""
    start(store)
    send(store)
    pairs = [WorkflowClaimPair(workflow_type="t", version="v1")]

    with refused("execution_credentials_disabled"):
        store.do(turn.claim, WorkflowTurnClaimRequest(worker="w", workflows=pairs, include_execution_credential=True))

    assert claimed(store).turn.attempt == 1


# -- heartbeat ---------------------------------------------------------------------------------------------------


def test_a_heartbeat_renews_the_lease(store: Store) -> None:
    task = claimed_turn(store, lease_ms=3_000)
    for _ in range(20):
        store.clock.pass_ms(2_999)
        assert heartbeat(store, task).deadline_ms == store.clock.now_ms + 3_000

    assert complete(store, task).status == "completed"


# -- complete ----------------------------------------------------------------------------------------------------


def test_a_completion_saves_state_result_and_history_in_one_write(store: Store) -> None:
    task = claimed_turn(store)
    store.clock.pass_ms(5)

    usage = WorkflowRunUsage(calls=2, tokens_in=10)
    done = complete(store, task, {"n": 9}, result={"ok": True}, usage=usage)

    assert (done.status, plain(done.result), plain(done.state_after)) == ("completed", {"ok": True}, {"n": 9})
    assert (done.finished_at_ms, done.deadline_ms, done.worker, done.error) == (START_MS + 5, None, None, None)
    assert done.run is not None
    assert (done.run.ended_at_ms, done.run.queue_after, done.run.usage) == (START_MS + 5, 0, usage)
    shown = inspect(store)
    assert (plain(shown.state), shown.status, shown.completed_turns, shown.current_turn) == ({"n": 9}, "idle", 1, None)
    assert [bytes_of(one) for one in history(store).turns] == [bytes_of(done)]


def test_a_completion_is_all_or_nothing(store: Store) -> None:
    """B015: a crash between the output and the end of the run. Here both are one transaction with the next message."""
    task = claimed_turn(store, messages=2)
    before = dump(store.location)
    body = WorkflowTurnContinuation(message=Raw(b"2"))
    request = WorkflowTurnCompleteRequest(**lease(task), state=Raw(b"1"), continuation=body)

    def crash(tx: Transaction) -> None:
        turn.complete(tx, store.graph_id, request)
        raise MemoryError

    with pytest.raises(MemoryError):
        write(store.database, crash)

    assert dump(store.location) == before
    assert complete(store, task, 1, continue_with=2).continued_to == 3


def test_each_turn_keeps_the_state_it_completed_with(store: Store) -> None:
    task = claimed_turn(store, messages=2)
    complete(store, task, "first")
    complete(store, claimed(store), "second")

    assert [plain(one.state_after) for one in history(store).turns] == ["first", "second"]


def test_a_failure_between_leaves_no_trace_in_the_completed_turn(store: Store) -> None:
    fail(store, claimed_turn(store), "no")
    store.clock.pass_ms(1_000)

    assert complete(store, claimed(store)).error is None


def test_a_continuation_goes_to_the_end_of_the_inbox_in_the_same_write(store: Store) -> None:
    task = claimed_turn(store, messages=2)

    done = complete(store, task, {"page": 2}, continue_with={"page": 3})

    assert done.continued_to == 3
    continued = current(store, 3)
    assert (continued.status, plain(continued.message)) == ("queued", {"page": 3})
    assert continued.origin is not None
    assert plain(continued.origin) == {"kind": "continuation", "message_id": "m-1", "turn": 1}
    assert [claimed(store).turn.number, inspect(store).pending_messages] == [2, 2]


def test_a_continuation_keeps_the_revision_of_its_origin(store: Store) -> None:
    start(store)
    send(store, kind="commit", revision="r7")
    complete(store, claimed(store), continue_with=1)

    continued = current(store, 2)

    assert continued.origin is not None
    assert plain(continued.origin)["revision"] == "r7"


def test_a_continuations_message_id_cannot_meet_a_users(store: Store) -> None:
    """Not even when the user sends what he reads."""
    complete(store, claimed_turn(store), continue_with=1)
    shown = current(store, 2).message_id

    assert send(store, 1, id=shown).number == 3


@pytest.mark.parametrize("turns", [1, 5])
def test_a_workflow_may_continue_for_ever(store: Store, turns: int) -> None:
    task = claimed_turn(store)
    for page in range(turns):
        complete(store, task, page, continue_with=page)
        task = claimed(store)

    assert (task.turn.number, plain(task.state)) == (turns + 1, turns - 1)


# -- fail --------------------------------------------------------------------------------------------------------


def test_a_failure_with_attempts_left_is_tried_again_after_a_delay(store: Store) -> None:
    task = claimed_turn(store)
    save(store, task, "s", output="kept")

    failed = fail(store, task, "boom")

    assert (failed.status, failed.error, failed.ready_at_ms, failed.wait) == ("waiting", "boom", START_MS + 1_000, None)
    assert claim(store) is None
    store.clock.pass_ms(1_000)
    again = claimed(store)
    assert (again.turn.attempt, [plain(step.output) for step in again.turn.steps]) == (2, ["kept"])
    assert again.effect_prefix == task.effect_prefix


def test_the_last_failure_blocks_the_inbox(store: Store) -> None:
    task = claimed_turn(store, messages=2, max_attempts=1)

    failed = fail(store, task, "boom")

    assert (failed.status, failed.error, failed.finished_at_ms) == ("failed", "boom", None)
    assert (inspect(store).status, inspect(store).pending_messages) == ("failed", 2)
    assert claim(store) is None


def test_a_permanent_failure_needs_no_further_attempt(store: Store) -> None:
    assert fail_for_good(store, claimed_turn(store)).status == "failed"


def test_with_skip_a_failed_turn_goes_to_the_history_and_the_next_runs(store: Store) -> None:
    task = claimed_turn(store, messages=2, max_attempts=1, on_exhausted="skip", state="before")

    failed = fail(store, task, "boom")

    assert (failed.status, failed.finished_at_ms) == ("failed", START_MS)
    assert [(one.number, one.status) for one in history(store).turns] == [(1, "failed")]
    following = claimed(store)
    assert (following.turn.number, plain(following.state)) == (2, "before")
    assert inspect(store).completed_turns == 0


def test_an_uncounted_wait_is_shown_with_its_time(store: Store) -> None:
    task = claimed_turn(store)

    waiting = fail(store, task, "budget spent", retry_at_ms=START_MS + 5_000)

    assert (waiting.status, waiting.ready_at_ms, waiting.error) == ("waiting", START_MS + 5_000, "budget spent")
    assert waiting.wait is not None
    assert (waiting.wait.since_ms, waiting.wait.until_ms) == (START_MS, START_MS + 5_000)
    store.clock.pass_ms(5_000)
    assert (current(store).status, claimed(store).turn.wait) == ("queued", None)


def test_a_failure_cannot_be_both_permanent_and_a_wait(store: Store) -> None:
    task = claimed_turn(store)
    before = dump(store.location)

    with refused("invalid_param", "retry_at_ms: got it together with non_retryable true") as info:
        fail(store, task, non_retryable=True, retry_at_ms=START_MS + 5_000)

    assert (info.value.param, dump(store.location)) == ("retry_at_ms", before)


def test_an_error_text_is_cut_to_a_thousand_characters_never_refused(store: Store) -> None:
    """B054: a failure report that could not be stored hung the run."""
    error = "é\0😀" * 1_000

    assert fail(store, claimed_turn(store), error).error == error[:1_000]


# -- read --------------------------------------------------------------------------------------------------------


def test_an_unknown_turn_is_told_with_the_last_one(store: Store) -> None:
    claimed_turn(store)

    with refused("turn_not_found", "a has no turn 9; its last turn is 1"):
        current(store, 9)
    with refused("turn_not_found"):
        current(store, 0)


def test_history_comes_in_pages_oldest_first(store: Store) -> None:
    task = claimed_turn(store, messages=5)
    for number in range(1, 5):
        complete(store, task, number)
        task = claimed(store)

    first = history(store, limit=3)
    second = history(store, limit=3, after=first.next_after)

    assert ([one.number for one in first.turns], first.next_after) == ([1, 2, 3], 3)
    assert ([one.number for one in second.turns], second.next_after) == ([4], None)


def test_a_turn_shows_what_runs_with_progress_and_deadlines(store: Store) -> None:
    task = claimed_turn(store)
    begin(store, task, "read", kind="tool", timeout_ms=9_000, heartbeat_timeout_ms=4_000)

    shown = current(store).operation

    assert shown is not None
    assert (shown.key, shown.kind, shown.attempt, shown.sequence) == ("read", "tool", 1, 0)
    assert (shown.deadline_ms, shown.timeout_ms, shown.heartbeat_timeout_ms) == (START_MS + 9_000, 9_000, 4_000)
    assert (plain(shown.details), plain(shown.checkpoint), current(store).progress) == (None, None, None)


def test_a_turns_sequence_grows_with_every_change(store: Store) -> None:
    task = claimed_turn(store)
    seen = [task.turn.sequence]
    for change in (heartbeat, begin, save, complete):
        seen.append(change(store, task).sequence)

    assert seen == sorted(set(seen))


def test_an_instances_sequence_never_falls_over_a_whole_life(store: Store) -> None:
    seen = [start(store).sequence]

    def note() -> None:
        seen.append(inspect(store).sequence)

    send(store)
    note()
    task = claimed(store)
    note()
    for change in (begin, save, release):
        change(store, task)
        note()
    store.clock.pass_ms(1_000)
    task = claimed(store)
    note()
    complete(store, task, continue_with=2)
    note()
    for action, number in (("pause", None), ("resume", None), ("cancel_turn", 2)):
        control(store, action, number)
        note()

    assert seen == sorted(set(seen))


def test_values_come_back_as_they_were_spelled(store: Store) -> None:
    """Numbers beyond 64 bits, the sign of zero and a text's escapes survive: nothing is re-encoded."""
    spelled = Raw(b'{"big":123456789012345678901234567890,"zero":-0.0,"e":1E2,"s":"\\u00e9\\/\\u0000"}')
    start(store, state=spelled)
    send(store, spelled)
    task = claimed(store)
    save(store, task, output=spelled)
    done = complete(store, task, spelled, result=spelled)

    values = [task.state, task.turn.message, done.steps[0].output, done.state_after, done.result]
    assert [bytes(value) for value in values] == [bytes(spelled)] * 5
    assert bytes(spelled) in msgspec.json.encode(inspect(store))
