"""A watch against a small model, with random interleavings of commits, own writes, pauses, repeats and crashes.

Every change of a watched field is seen at or after its commit; nothing is sent twice under one id; owned writes never
wake; what left the class is told as removed. `--long` runs for minutes with a random seed.
"""

from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, note, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.model.watch_reference import WatchReference
from tests.open_store import OpenStore, opened
from tests.store import calls
from tests.store import watch_calls as on
from tests.store.calls import Store
from turnbuckle.operations import doctor, graph, named
from turnbuckle.store.database import read, write
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits

NAMES = tuple("abcde")
SHARDS = 2
COMMON: dict[str, Any] = {"owns": {"properties": ["word_count"]}, "shards": SHARDS, "batch": 2, "window": 2}
FIELDS: dict[str, Any] = {"fields": ["text", "about/text"], **COMMON}
EVERY_FIELD: dict[str, Any] = {"fields": None, "exclude": ["owner"], **COMMON}
PIECES = st.sampled_from((1, 2, 3, 1_000))
SHORT = settings(
    deadline=None,
    derandomize=True,
    database=None,
    stateful_step_count=50,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate, Phase.shrink),
)
EXAMPLES = {("sqlite", False): 60, ("postgresql", False): 10, ("sqlite", True): 600, ("postgresql", True): 60}
name_drawn = st.sampled_from(NAMES)


class Crash(Exception):
    """The server dies before the commit."""


class WatchMachine(RuleBasedStateMachine):
    def __init__(self, opened_store: OpenStore, number: list[int]) -> None:
        super().__init__()
        number[0] += 1
        database = opened_store.database
        graph_id = write(database, partial(graph.use, environment="test", name=f"g{number[0]}"))
        self.store = Store(database, opened_store.location, graph_id, opened_store.clock)
        self.reference = WatchReference()
        self.values = iter(range(10**6))
        self.seen = dict.fromkeys((f"starter.notes{shard}" for shard in ("", ".1")), 0)
        self.is_paused = False
        self.has_watch = True

    @initialize(there=st.sets(name_drawn), watched=st.sampled_from((FIELDS, EVERY_FIELD)))
    def begin(self, there: set[str], watched: dict[str, Any]) -> None:
        self.settings = watched
        on.declare(self.store)
        self.names = {on.iri_of(self.store, name): name for name in NAMES}
        for name in sorted(there):
            on.note(self.store, name, text=self.value())
            self.reference.there.add(name)
        on.watch(self.store, **self.settings)
        self.reference.send_all(must=True)

    def value(self) -> str:
        return f"v{next(self.values)}"

    # -- commits -------------------------------------------------------------------------------------------------

    @rule(name=name_drawn, field=st.sampled_from(("text", "text", "owner")))
    def write_field(self, name: str, field: str) -> None:
        seq = on.note(self.store, name, **{field: self.value()})
        self.reference.write(name, seq, wakes=field == "text")

    @rule(name=name_drawn)
    def write_owned(self, name: str) -> None:
        """What the workflow itself writes; whoever writes it. Without fields only that keeps it from waking."""
        seq = on.note(self.store, name, word_count=next(self.values))
        self.reference.write(name, seq, wakes=False)

    @rule(names=st.sets(name_drawn, min_size=2))
    def write_many(self, names: set[str]) -> None:
        seq = on.notes(self.store, sorted(names), text=self.value())
        for name in names:
            self.reference.write(name, seq, wakes=True)

    @rule(name=name_drawn)
    def retract(self, name: str) -> None:
        if name in self.reference.there:
            self.reference.retract(name, on.retract(self.store, name))

    @rule(name=name_drawn)
    def link(self, name: str) -> None:
        if name not in self.reference.linked:
            self.reference.link(name, on.link(self.store, name, "ABOUT", "t"))

    @rule()
    def write_topic(self) -> None:
        seq = on.note(self.store, "t", type="Topic", text=self.value())
        self.reference.write_topic(seq, wakes=self.settings is FIELDS)

    @rule()
    def retract_topic(self) -> None:
        if self.reference.has_topic:
            self.reference.retract_topic(on.retract(self.store, "t", type="Topic"))

    # -- the trigger's work --------------------------------------------------------------------------------------

    @rule(pieces=st.lists(st.tuples(PIECES, st.booleans()), min_size=1, max_size=4))
    def advance(self, pieces: list[tuple[int, bool]]) -> None:
        """Some of its work, each piece undone whole where the server is killed."""
        for most, crashes in pieces:
            self.advance_by(most, crashes)

    def advance_by(self, most: int, crashes: bool) -> None:
        def work(tx: Transaction) -> None:
            named.advance(tx, self.store.graph_id, "notes", most)
            if crashes:
                raise Crash

        try:
            write(self.store.database, work)
        except Crash:
            note("       a crash")
        self.listen()

    def listen(self) -> None:
        """Look at the messages that have come, and tell the reference."""
        for shard, last in self.seen.items():
            there = calls.inspect(self.store, shard)
            newest = there.history_through + there.pending_messages
            for number in range(last + 1, newest + 1):
                turn = calls.current(self.store, number, id=shard)
                message = calls.plain(turn.message)
                note(f"       {turn.message_id}: {message}")
                self.reference.hear(shard, turn.message_id, message, self.names)
            self.seen[shard] = newest

    # -- workers and persons -------------------------------------------------------------------------------------

    @rule(gives_back=st.integers(0, 3), twice=st.booleans())
    def work(self, gives_back: int, twice: bool) -> None:
        """A turn, which gives its first instance back, in two requests when the answer was lost."""
        task = calls.claim(self.store)
        if task is None:
            return
        message, origin = on.message(task), on.origin(task)
        first = (message["instances"] + message["removed"])[0]
        if gives_back == 1 and self.has_watch:
            answer = on.give_back(self.store, task, first)
            if twice:
                assert on.give_back(self.store, task, first) == answer
            attempt = origin["attempt"] + 1 if origin["kind"] == "requeue" else 1
            assert answer.attempt == attempt
            assert answer.exhausted == ([first] if attempt > 3 else [])
            if attempt <= 3:
                self.reference.must(self.names[first], 0)
        calls.complete(self.store, task)

    @rule()
    def pause_or_resume(self) -> None:
        if self.has_watch:
            self.is_paused = not self.is_paused
            on.pause(self.store, self.is_paused)

    @rule()
    def run_now(self) -> None:
        if self.has_watch:
            goes_on = on.get(self.store).pass_ is not None
            on.run_now(self.store)
            self.reference.send_all(must=not goes_on)

    @rule(again=st.booleans())
    def delete_or_make_again(self, again: bool) -> None:
        if self.has_watch and not again:
            assert on.delete(self.store)
            self.has_watch = self.is_paused = False
            self.reference.forget()
        elif not self.has_watch:
            self.make_again()

    def make_again(self) -> None:
        on.watch(self.store, **self.settings)
        self.has_watch = True
        self.reference.forget()
        self.reference.send_all(must=True)

    @rule(minutes=st.sampled_from((1, 4, 16)))
    def pass_time(self, minutes: int) -> None:
        self.store.clock.pass_ms(minutes * limits.MINUTE_MS)

    # -- rest ----------------------------------------------------------------------------------------------------

    @rule(most=PIECES)
    def come_to_rest(self, most: int) -> None:
        """Everything that can happen by itself happens; then nothing is owed."""
        if not self.has_watch:
            self.make_again()
        if self.is_paused:
            self.pause_or_resume()
        for _ in range(4):  # three repeats and the first
            on.pump(self.store, most)
            self.listen()
            while (task := calls.claim(self.store)) is not None:
                calls.complete(self.store, task)
                on.pump(self.store, most)
                self.listen()
            self.store.clock.pass_ms(16 * limits.MINUTE_MS)
        self.reference.check_all_told()
        assert on.queue(self.store).pending == 0

    def teardown(self) -> None:
        if hasattr(self, "names"):
            self.come_to_rest(1_000)
        assert read(self.store.database, doctor.problems) == []


@pytest.mark.timeout(3_600)
def test_a_watch_tells_every_change_once_it_may_and_nothing_else(
    model_store: str, is_long: bool, model_seed: int
) -> None:
    with opened(model_store) as store:
        number = [0]
        machine = lambda: WatchMachine(store, number)
        kind = store.database.kind
        profile = settings(SHORT, derandomize=not is_long, max_examples=EXAMPLES[kind, is_long])
        run_state_machine_as_test(  # type: ignore[no-untyped-call]
            seed(model_seed)(machine) if is_long else machine, settings=profile
        )
