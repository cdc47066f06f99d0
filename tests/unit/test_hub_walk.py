"""How a run goes through its document: against a recursive interpreter, and rule by rule (blobhub 5.5, decision 40)."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.hub_documents import Json, component, data, document, documents, flow, text
from tests.unit.hub_reference import Reference
from turnbuckle.hub import walk as walking
from turnbuckle.hub.catalogue import CATALOGUE
from turnbuckle.hub.cycles import endless_cycles
from turnbuckle.hub.data_flow import initial_data, session_aliases, session_writes, settle
from turnbuckle.hub.document import parse
from turnbuckle.hub.position import Arrived, Ended, Fault, Outcome
from turnbuckle.hub.walk import Fork, Run, Walk
from turnbuckle.hub.wiring import Wiring
from turnbuckle.wire.limits import NAME_PATTERN

Act = Callable[[Run], Outcome]
Trace = list[tuple[str, Json]]


def to_its_end(walk: Walk, act: Act, *, backwards: bool = False, reload: bool = False) -> tuple[Ended | Arrived, Trace]:
    """Drive a walk; the branches of a fork in either order, and from saved bytes at every step when `reload`."""
    trace: Trace = []
    while True:
        if reload:
            walk = walking.load(walk.wiring, walking.save(walk))
        at = walk.next()
        if isinstance(at, Ended | Arrived):
            return at, trace
        if isinstance(at, Run):
            trace.append((at.key, at.inputs))
            walk = walk.done(act(at))
            continue
        ends, traces = _branches(at, act, backwards, reload)
        trace += [line for branch in traces for line in branch]
        walk = walk.joined(ends)


def _branches(fork: Fork, act: Act, backwards: bool, reload: bool) -> tuple[Sequence[Ended | Arrived], Sequence[Trace]]:
    order = reversed(fork.branches) if backwards else fork.branches
    done = {b.number: to_its_end(b.walk, act, backwards=backwards, reload=reload) for b in order}
    return [done[b.number][0] for b in fork.branches], [done[b.number][1] for b in fork.branches]


def behave(key: str, kind: str, round_: int, inputs: Json) -> tuple[str, Json, bool]:
    """Any result, but always the same for the same key and inputs: a wrong input shows in all that follows."""
    digest = hashlib.sha256(json.dumps([key, inputs], sort_keys=True).encode()).digest()
    outputs = {} if digest[1] < 40 else {"out": text(digest.hex()[:8])}
    if kind == "logic.loop":
        return ("item" if round_ < digest[2] % 3 else "done"), outputs, False
    routes = {"logic.code": ("a", "b", "a", "b", "a", "b", "failure"), "logic.condition": ("true", "false")}.get(
        kind, ("next",)
    )
    return routes[digest[3] % len(routes)], outputs, digest[4] < 4


def act(run: Run) -> Outcome:
    route, outputs, terminal = behave(run.key, run.component.type, run.round, run.inputs)
    return Outcome(route, outputs, terminal)


def started(raw: Json, max_entries: int = 1000, inputs: Sequence[tuple[str, Any]] = ()) -> Walk:
    wiring = Wiring(parse(raw))
    return walking.start(wiring, initial_data(wiring.document, inputs, {}), max_entries)


@settings(max_examples=600, deadline=None)
@given(documents(), st.sampled_from([2, 9, 80, 80, 80]), st.booleans(), st.booleans())
def test_a_walk_goes_where_the_simplest_interpreter_goes(
    raw: Json, max_entries: int, backwards: bool, reload: bool
) -> None:
    """Also when branches end in another order, and when every step begins from saved bytes."""
    starting = {c["id"]: text(f"v{c['id'][1:]}") for c in raw["components"] if c["type"] == "data.text"}
    reference = Reference(raw, starting, behave, max_entries, set(CATALOGUE))
    expected = reference.run()

    end, trace = to_its_end(started(raw, max_entries), act, backwards=backwards, reload=reload)

    assert isinstance(end, Ended)
    assert trace == reference.trace
    assert (end.status, end.error.code if end.error else None, end.component_id) == expected


@settings(max_examples=300, deadline=None)
@given(documents())
def test_every_component_run_has_a_key_of_its_own_that_fits_a_step(raw: Json) -> None:
    _, trace = to_its_end(started(raw, 40), act)

    keys = [key for key, _ in trace]
    assert len(set(keys)) == len(keys) <= 40
    assert all(re.fullmatch(NAME_PATTERN, key) for key in keys)


@settings(max_examples=100, deadline=None)
@given(documents(), st.data())
def test_a_run_goes_on_from_recorded_outcomes_as_it_went_before(raw: Json, draws: st.DataObject) -> None:
    """After a crash the runner has the outcomes of the finished components by their keys, and nothing else."""
    recorded: dict[str, Outcome] = {}

    def record(run: Run) -> Outcome:
        recorded[run.key] = act(run)
        return recorded[run.key]

    first = to_its_end(started(raw, 30), record)
    kept = draws.draw(st.sets(st.sampled_from(sorted(recorded)))) if recorded else set()

    again = to_its_end(started(raw, 30), lambda run: recorded[run.key] if run.key in kept else act(run))

    assert again == first


@settings(max_examples=300, deadline=None)
@given(documents())
def test_a_run_that_enters_a_circle_without_exit_never_completes(raw: Json) -> None:
    """So the check's finding is certain: whatever conditions and loops decide, only the limit ends the run.

    Unless another parallel branch ends it first.
    """
    wiring = Wiring(parse(raw))
    circles = {index for circle in endless_cycles(wiring) for index in circle}
    entered: set[int] = set()
    forked: list[bool] = []

    def without_failure(run: Run) -> Outcome:
        entered.add(run.component.index)
        forked.append(run.component.type == "flow.parallel")
        return Outcome("success" if run.component.type == "logic.code" else act(run).route)

    end, _ = to_its_end(walking.start(wiring, {}, 60), without_failure)

    if circles & entered and not any(forked):
        assert isinstance(end, Ended)
        assert end.status == "failed"


def ran(
    raw: Json, outcomes: dict[str, Any] | None = None, inputs: Sequence[tuple[str, Any]] = (), max_entries: int = 1000
) -> tuple[Ended | Arrived, list[str], Trace]:
    """Run with outcomes by component id: a route, an Outcome, or a function of the Run. Answers ids entered too."""
    ids: list[str] = []

    def answer(run: Run) -> Outcome:
        ids.append(run.component.id)
        given = (outcomes or {}).get(run.component.id, "next")
        made = given(run) if callable(given) else given
        return made if isinstance(made, Outcome) else Outcome(made)

    end, trace = to_its_end(started(raw, max_entries, inputs), answer)
    return end, ids, trace


def fault_of(end: Ended | Arrived) -> str | None:
    """The code that the run failed with."""
    assert isinstance(end, Ended)
    return end.error.code if end.status == "failed" and end.error is not None else None


def code(*ids: str) -> list[Json]:
    return [component(i, "logic.code") for i in ids]


START = component("s", "flow.start")


def over(count: int) -> Callable[[Run], str]:
    return lambda run: "item" if run.round < count else "done"


@pytest.mark.parametrize("starts", [0, 2])
def test_a_document_has_exactly_one_start(starts: int) -> None:
    end, ids, _ = ran(document([component(f"s{i}", "flow.start") for i in range(starts)], []))

    assert fault_of(end) == ("several_starts" if starts else "no_start")
    assert ids == []


def test_edges_of_a_result_are_followed_in_document_order_depth_first() -> None:
    raw = document([START, *code("a", "b", "c", "d")], [flow("s", "a"), flow("a", "b"), flow("s", "c"), flow("b", "d")])

    assert ran(raw)[:2] == (Ended("completed"), ["s", "a", "b", "d", "c"])


def test_the_start_of_the_reference_example_reaches_its_code() -> None:
    raw = document(
        [START, component("q", "data.message", alias="question", persistence="execution"), *code("c")],
        [flow("s", "c"), data("q", "c", "value", "question")],
    )
    question = {"type": "message", "message": {"role": "user", "content": []}}

    _, ids, trace = ran(raw, {"c": "success"}, [("question", question), ("nobody", text("x"))])

    assert ids == ["s", "c"]
    assert trace[-1] == ("c.2.c", {"question": question})


def test_a_loop_runs_its_branch_for_each_element_then_goes_on() -> None:
    raw = document(
        [START, component("l", "logic.loop"), *code("a", "b", "z")],
        [flow("s", "l"), flow("l", "a", "item"), flow("a", "b"), flow("l", "z", "done")],
    )

    end, ids, trace = ran(raw, {"l": over(2)})

    assert (end, ids) == (Ended("completed"), ["s", "l", "a", "b", "l", "a", "b", "l", "z"])
    assert [key for key, _ in trace][1:5] == ["c.1.l.r0", "c.2.a.l1r0", "c.3.b.l1r0", "c.1.l.r1"]


def test_an_edge_back_into_the_loop_ends_the_round() -> None:
    raw = document(
        [START, component("l", "logic.loop"), *code("a")], [flow("s", "l"), flow("l", "a", "item"), flow("a", "l")]
    )

    assert ran(raw, {"l": over(2)})[1] == ["s", "l", "a", "l", "a", "l"]


def test_a_loop_in_a_loop_has_the_round_of_each_in_its_keys() -> None:
    raw = document(
        [START, component("l", "logic.loop"), component("m", "logic.loop"), *code("a")],
        [flow("s", "l"), flow("l", "m", "item"), flow("m", "a", "item")],
    )

    _, _, trace = ran(raw, {"l": over(2), "m": over(2)})

    assert [key for key, _ in trace if ".a" in key] == [f"c.3.a.l1r{i}.l2r{j}" for i in range(2) for j in range(2)]


def test_a_loop_reads_its_items_once() -> None:
    """What its branch writes meanwhile does not change how often it runs."""
    raw = document(
        [
            START,
            component("d", "data.json", alias="items", persistence="execution"),
            component("l", "logic.loop"),
            *code("a"),
        ],
        [flow("s", "l"), flow("l", "a", "item"), data("d", "l", "value", "items"), data("a", "d", "out")],
    )
    act_a = Outcome("next", {"out": {"type": "json", "json": []}})
    items = {"type": "json", "json": [1, 2]}

    _, _, trace = ran(raw, {"l": over(2), "a": act_a}, [("items", items)])

    assert [inputs["items"] for key, inputs in trace if key.startswith("c.2.l")] == [items] * 3


def test_an_unhandled_failure_fails_the_run_and_a_handled_one_goes_on() -> None:
    connections = [flow("s", "a")]
    fault = Fault("code_error", "it broke")
    failing = {"a": Outcome("failure", error=fault)}

    assert ran(document([START, *code("a", "b")], connections), failing)[0] == Ended("failed", fault, "a")

    handled = document([START, *code("a", "b")], [*connections, flow("a", "b", "failure")])
    assert ran(handled, failing)[:2] == (Ended("completed"), ["s", "a", "b"])


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome("x", terminal=True), "completed"),
        (Outcome("failure", terminal=True), "failed"),
        (Outcome("failure", is_fatal=True), "failed"),
    ],
)
def test_a_terminal_result_ends_the_run_whatever_is_still_to_do(outcome: Outcome, status: str) -> None:
    raw = document([START, *code("a", "b")], [flow("s", "a"), flow("s", "b"), flow("a", "b", "failure")])

    end, ids, _ = ran(raw, {"a": outcome})

    assert (end.status, ids) == (status, ["s", "a"])  # type: ignore[union-attr]


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_an_end_ends_the_run_with_its_status(status: str) -> None:
    raw = document([START, component("e", "flow.end", status=status), *code("a")], [flow("s", "e"), flow("s", "a")])

    assert ran(raw)[0] == Ended(status, None, "e")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("target", "code_"),
    [("x", "dangling_connection"), ("u", "unknown_component_type"), ("d", "not_on_flow_path")],
)
def test_an_edge_to_what_cannot_be_entered_fails_the_run(target: str, code_: str) -> None:
    raw = document([START, component("u", "no.such"), component("d", "data.text")], [flow("s", target)])

    end, _, _ = ran(raw)

    assert fault_of(end) == code_


def test_a_cycle_ends_at_the_limit_of_entries() -> None:
    raw = document([START, *code("a")], [flow("s", "a"), flow("a", "a")])

    end, ids, trace = ran(raw, max_entries=5)

    assert fault_of(end) == "too_many_entries"
    assert len(ids) == 5
    assert trace[-1][0] == "c.1.a.v4"


def parallel() -> Json:
    return document(
        [
            START,
            component("p", "flow.parallel"),
            component("d", "data.text", alias="shared", persistence="execution", value="old"),
            *code("a", "b", "c", "z"),
            component("j", "flow.join"),
        ],
        [
            flow("s", "p"),
            flow("p", "a"),
            flow("p", "b"),
            flow("p", "c"),
            flow("a", "j"),
            flow("b", "j"),
            flow("j", "z"),
            data("a", "d", "out"),
            data("b", "d", "out"),
            *(data("d", x, "value", "shared") for x in "abcz"),
            data("a", "z", "out", "from_a"),
            data("c", "z", "out", "from_c"),
        ],
    )


def test_branches_see_the_data_as_it_was_and_a_join_keeps_all_outputs() -> None:
    """A branch that never comes to the join counts as arrived; of two writes the later branch's counts."""
    outcomes = {i: Outcome("next", {"out": text(i)}) for i in "abc"}

    end, ids, trace = ran(parallel(), outcomes)

    seen = dict(trace)
    assert (end, ids[-2:]) == (Ended("completed"), ["j", "z"])
    assert [seen[f"c.{i}.{name}.p1b{i - 3}"]["shared"] for i, name in ((3, "a"), (4, "b"), (5, "c"))] == [
        text("old")
    ] * 3
    assert seen["c.6.z"] == {"shared": text("b"), "from_a": text("a"), "from_c": text("c")}


def test_a_branch_that_ends_the_run_ends_it_for_all() -> None:
    fault = Fault("code_error", "it broke")

    assert ran(parallel(), {"b": Outcome("failure", error=fault)})[0] == Ended("failed", fault, "b")


def test_a_cancelled_branch_is_none_beside_the_one_that_ended_the_run() -> None:
    walk = started(parallel()).done(Outcome("next")).done(Outcome("next"))
    fork = walk.next()
    assert isinstance(fork, Fork)
    ended = Ended("completed", None, "b")

    assert [branch.key for branch in fork.branches] == ["c.1.p.b0", "c.1.p.b1", "c.1.p.b2"]
    assert walk.joined([None, ended, None]).next() == ended


def test_a_join_outside_of_branches_only_passes_on() -> None:
    raw = document([START, component("j", "flow.join"), *code("a")], [flow("s", "j"), flow("j", "a")])

    assert ran(raw)[:2] == (Ended("completed"), ["s", "j", "a"])


def test_parallel_in_parallel_joins_inside_first() -> None:
    raw = document(
        [
            START,
            *(component(i, "flow.parallel") for i in "pq"),
            *(component(i, "flow.join") for i in "jk"),
            *code("a", "b", "c", "y", "z"),
        ],
        [
            *(flow(*pair) for pair in ("sp", "pq", "pc", "qa", "qb", "aj", "bj", "jy", "yk", "ck", "kz")),
        ],
    )

    end, ids, trace = ran(raw)

    assert (end, ids) == (Ended("completed"), ["s", "p", "q", "a", "b", "j", "y", "c", "k", "z"])
    assert [key for key, _ in trace][3] == "c.5.a.p1b0.p2b0"


def test_the_newer_of_two_sources_wins() -> None:
    """Not the later edge: in a cycle the value of the last round would be lost."""
    raw = document(
        [START, *code("a", "b", "z")],
        [flow("s", "b"), flow("b", "a"), flow("a", "z"), data("a", "z", "out", "in"), data("b", "z", "out", "in")],
    )

    _, _, trace = ran(raw, {i: Outcome("next", {"out": text(i)}) for i in "ab"})

    assert trace[-1][1] == {"in": text("a")}


def test_an_input_without_a_source_has_its_own_value_or_null() -> None:
    raw = document(
        [
            START,
            {
                "id": "c",
                "type": "io.http",
                "ports": [{"category": "data_input", "route": "url", "value": text("http://x")}],
            },
        ],
        [flow("s", "c")],
    )

    assert ran(raw, {"c": "success"})[2][-1][1] == {"url": text("http://x"), "body": None}


def test_writing_fixed_data_fails_the_writer() -> None:
    raw = document([START, *code("a"), component("d", "data.text", value="v")], [flow("s", "a"), data("a", "d", "out")])
    wiring = Wiring(parse(raw))

    settled = settle(wiring, 1, Outcome("next", {"out": text("new")}))

    assert settled.route == "failure"
    end, _, _ = ran(raw, {"a": Outcome("next", {"out": text("new")})})
    assert end == Ended("failed", settled.error, "a")
    assert fault_of(end) == "read_only_data"


def test_an_output_over_the_limit_fails_the_run_even_where_failure_is_handled() -> None:
    raw = document([START, *code("a", "b")], [flow("s", "a"), flow("a", "b", "failure")])

    end, _, _ = ran(raw, {"a": Outcome("next", {"out": text("x" * 1024 * 1024)})})

    assert fault_of(end) == "value_too_large"


def test_session_data_is_read_from_and_written_to_session_objects() -> None:
    raw = document(
        [START, *code("a"), component("d", "data.text", alias="notes", persistence="session", value="v")],
        [flow("s", "a"), data("a", "d", "out")],
    )
    wiring = Wiring(parse(raw))

    assert session_aliases(wiring.document) == ["notes"]
    assert initial_data(wiring.document, [("notes", text("input"))], {}) == {2: text("v")}
    assert initial_data(wiring.document, [], {"notes": text("kept")}) == {2: text("kept")}
    assert session_writes(wiring, 1, {"out": text("new")}) == {"notes": text("new")}


def test_all_components_of_one_alias_get_the_input_as_it_is() -> None:
    raw = document([START, *(component(i, "data.integer", alias="n", persistence="execution") for i in "de")], [])

    assert initial_data(parse(raw), [("n", text("no number"))], {}) == {1: text("no number"), 2: text("no number")}


def test_a_later_branch_counts_as_newer_however_short_it_is() -> None:
    raw = document(
        [START, component("p", "flow.parallel"), component("j", "flow.join"), *code("a", "b", "c", "x", "z")],
        [
            *(flow(*pair) for pair in ("sp", "pa", "ab", "bc", "cj", "px", "xj", "jz")),
            data("c", "z", "out", "in"),
            data("x", "z", "out", "in"),
        ],
    )

    _, _, trace = ran(raw, {i: Outcome("next", {"out": text(i)}) for i in "cx"})

    assert trace[-1][1] == {"in": text("x")}


def test_a_branch_may_arrive_at_two_joins_and_both_go_on() -> None:
    raw = document(
        [START, component("p", "flow.parallel"), *(component(i, "flow.join") for i in "jk"), *code("a", "y", "z")],
        [flow(*pair) for pair in ("sp", "pa", "aj", "ak", "jy", "kz")],
    )

    assert ran(raw)[1] == ["s", "p", "a", "j", "y", "k", "z"]


def test_a_join_that_waits_behind_a_fork_of_the_branch_is_entered_once() -> None:
    raw = document(
        [START, *(component(i, "flow.parallel") for i in "pq"), component("j", "flow.join"), *code("a", "b", "c")],
        [flow(*pair) for pair in ("sp", "pa", "pc", "aq", "aj", "qb", "cj")],
    )

    assert ran(raw)[1] == ["s", "p", "a", "q", "b", "c", "j"]


def test_branches_share_the_entries_that_are_left() -> None:
    """Else branches in branches would multiply the limit."""
    raw = document(
        [START, component("p", "flow.parallel"), *code("a", "b")],
        [*(flow(*pair) for pair in ("sp", "pa", "pb", "aa")), flow("b", "b", "other")],
    )

    end, ids, _ = ran(raw, max_entries=10)

    assert fault_of(end) == "too_many_entries"
    assert ids.count("a") == 4
