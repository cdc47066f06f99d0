"""What must hold for every row of a store, whatever was killed and when. Reads only.

`problems` looks at everything in one transaction; `check_page` and `check_rest` are its pieces, for a large store
that others use meanwhile. Each problem is a sentence that names the place, what is there and what should be.
"""

from collections.abc import Iterator

import msgspec

from turnbuckle.engine import instance as instance_rules
from turnbuckle.engine.instance import Instance
from turnbuckle.engine.operation import Operation
from turnbuckle.engine.turn import CANCELLED, COMPLETED, ENDED, FAILED, HELD, QUEUED, Turn
from turnbuckle.store import doctor as store
from turnbuckle.store import doctor_graph, doctor_hub
from turnbuckle.store import key as keys
from turnbuckle.store import turn as turns
from turnbuckle.store.doctor import START, Found, Messages, Miscounted, Place, Span, Turns
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire import limits
from turnbuckle.wire.moment import rfc3339

INSTANCES_AT_ONCE = 500
_HASH_BYTES = 32
_LATE_MS = 10 * limits.MINUTE_MS  # a store that no server has open for so long is late too: start one
_KEY_MARK = b"lbb_sk_"


def problems(tx: Transaction) -> list[str]:
    """Everything that is wrong in the store, a sentence each; empty when all is well."""
    found: list[str] = []
    after: Place | None = START
    while after is not None:
        page, after = check_page(tx, after)
        found += page
    return found + check_rest(tx)


def schema(tx: Transaction) -> int:
    """Number of the newest migration the store has."""
    return store.schema(tx)


def check_page(tx: Transaction, after: Place) -> tuple[list[str], Place | None]:
    """Problems of the next instances by (graph id, instance id), and the place to go on from; None at the end."""
    page = store.page(tx, after, INSTANCES_AT_ONCE)
    if not page:
        return [], None
    span = Span(after, page[-1].place)
    names = {found.place: _name(found) for found in page}
    problems = [problem for found in _facts(tx, page, span) for problem in found.problems(names)]
    problems += _turn_problems(tx, span, names)
    return problems, page[-1].place if len(page) == INSTANCES_AT_ONCE else None


def check_rest(tx: Transaction) -> list[str]:
    """Rows that belong to nothing, and keys that could be read from a stolen store."""
    counts = {noun: store.strays(tx, noun) for noun in store.STRAYS}
    strays = [
        f"{count} {noun.replace('_', ' ')} belong to nothing that exists" for noun, count in counts.items() if count
    ]
    looks = (_key_problems, _answer_problems, _graph_problems, _hub_problems)
    return strays + [problem for look in looks for problem in look(tx)]


def _graph_problems(tx: Transaction) -> Iterator[str]:
    for rule, broken in doctor_graph.RULES.items():
        if count := doctor_graph.count(tx, rule):
            yield f"{count} {broken}"


def _hub_problems(tx: Transaction) -> Iterator[str]:
    for rule, broken in doctor_hub.RULES.items():
        if count := doctor_hub.count(tx, rule):
            yield f"{count} {broken}"


def _answer_problems(tx: Transaction) -> Iterator[str]:
    """A person's answer is written and delivered within seconds, or tried again at least each minute."""
    for lost in store.lost_answers(tx, tx.now_ms - _LATE_MS, INSTANCES_AT_ONCE):
        due = "at no time" if lost.due_at_ms is None else f"at {rfc3339(lost.due_at_ms)}"
        doing = f"its value is {lost.write}, its delivery {lost.delivery}, due {due}"
        yield f"review item {lost.review_id} of graph {lost.graph_id} is {lost.status} and not settled: {doing}"


def _key_problems(tx: Transaction) -> Iterator[str]:
    for key in keys.all_keys(tx):
        is_hash = len(key.key_hash) == _HASH_BYTES and not key.key_hash.isascii()
        if not is_hash or _KEY_MARK in key.label or len(key.hint) > 4:
            yield f"key ...{key.hint[-4:]}: the store holds the key itself, not only its hash; revoke it"


# -- one instance ------------------------------------------------------------------------------------------------


class _Facts(msgspec.Struct, frozen=True):
    """One instance with the counts of what it has."""

    found: Found
    turns: list[Turns]
    messages: Messages | None
    has_state: bool
    head: Turn | None
    operation: Operation | None

    def problems(self, names: dict[Place, str]) -> Iterator[str]:
        for rule in (_graph, _inbox, _history, _message_rows, _state, _head, _times, _holders):
            for problem in rule(self):
                yield f"{names[self.found.place]}: {problem}"

    @property
    def instance(self) -> Instance:
        return self.found.instance

    @property
    def open(self) -> list[Turns]:
        return [row for row in self.turns if row.is_open]

    def count(self, status: str, is_open: bool) -> int:
        return sum(row.count for row in self.turns if (row.status, bool(row.is_open)) == (status, is_open))


def _facts(tx: Transaction, page: list[Found], span: Span) -> Iterator[_Facts]:
    by_place: dict[Place, list[Turns]] = {}
    for row in store.turns(tx, span):
        by_place.setdefault((row.graph_id, row.instance_id), []).append(row)
    messages = {(row.graph_id, row.instance_id): row for row in store.messages(tx, span)}
    with_state = store.with_state(tx, span)
    for found in page:
        place, number = found.place, found.instance.head
        loaded = None if number is None else turns.load(tx, *place, number)
        head, operation = loaded or (None, None)
        yield _Facts(found, by_place.get(place, []), messages.get(place), place in with_state, head, operation)


def _name(found: Found) -> str:
    graph = found.instance.graph_id if found.graph is None else f"{found.environment}/{found.graph}"
    return f"instance {found.instance.instance_id} in {graph}"


def _graph(facts: _Facts) -> Iterator[str]:
    if facts.found.graph is None:
        yield "its graph does not exist"


def _inbox(facts: _Facts) -> Iterator[str]:
    """The head is the first unfinished turn, and `pending` counts them."""
    first = min((row.first for row in facts.open), default=None)
    count = sum(row.count for row in facts.open)
    if facts.instance.head != first:
        yield f"its current turn is {facts.instance.head}, the first unfinished one is {first}"
    if facts.instance.pending != count:
        yield f"it says {facts.instance.pending} turns are unfinished, there are {count}"


def _history(facts: _Facts) -> Iterator[str]:
    """Turns are numbered without a gap from after the pruned ones to the last; each has a state that fits."""
    instance, count = facts.instance, sum(row.count for row in facts.turns)
    first = min((row.first for row in facts.turns), default=instance.pruned_through + 1)
    last = max((row.last for row in facts.turns), default=instance.pruned_through)
    if (first, last, count) != (instance.pruned_through + 1, instance.last_turn, last - first + 1):
        expected = f"{instance.pruned_through + 1} to {instance.last_turn}"
        yield f"it has {count} turns from {first} to {last}, expected all of {expected}"
    for row in facts.turns:
        fits = row.status not in (COMPLETED, CANCELLED) if row.is_open else row.status in ENDED
        if not fits:
            where = "in the inbox" if row.is_open else "out of the inbox"
            yield f"turns {row.first} to {row.last} are {row.status} and {where}"
    completed = facts.count(COMPLETED, is_open=False)
    if not completed <= instance.completed <= completed + instance.pruned_through:
        yield f"it says {instance.completed} turns completed, there are {completed} besides the pruned ones"


def _message_rows(facts: _Facts) -> Iterator[str]:
    """Every turn that ever was has its message; only pruned ones have lost its content (decision 7)."""
    instance, messages = facts.instance, facts.messages
    count = 0 if messages is None else messages.count
    with_body = 0 if messages is None else messages.with_body
    last = 0 if messages is None else messages.last
    if (count, last) != (instance.last_turn, instance.last_turn):
        yield f"it has {count} messages up to {last}, expected all of 1 to {instance.last_turn}"
    elif with_body != instance.last_turn - instance.pruned_through:
        yield f"{with_body} messages have their content, expected {instance.last_turn - instance.pruned_through}"


def _state(facts: _Facts) -> Iterator[str]:
    """The present state is that of the newest completed turn."""
    if not facts.has_state:
        yield f"its state after turn {facts.instance.state_turn} is missing"
    newest = max((row.last for row in facts.turns if row.status == COMPLETED), default=None)
    if newest is not None and facts.instance.state_turn != newest:
        yield f"its state is that of turn {facts.instance.state_turn}, the newest completed one is {newest}"


def _head(facts: _Facts) -> Iterator[str]:
    """Something will go on with the current turn: its holder, time, or a person."""
    head, instance = facts.head, facts.instance
    if instance.head is None:
        return
    if head is None:
        yield f"its current turn {instance.head} is missing"
    elif head.status == HELD and (head.token_hash is None or head.lease_until_ms is None):
        yield f"turn {head.number} is held without a lease: nothing will ever end it"
    elif head.status == FAILED and instance.on_exhausted == "skip":
        yield f"turn {head.number} has failed and is still in the inbox, though failed turns are to be skipped"


def _times(facts: _Facts) -> Iterator[str]:
    """The two times at which something happens next are what the engine makes of the head."""
    head, instance = facts.head, facts.instance
    if (head is None) != (instance.head is None) or (head is not None and _lacks_lease(head)):
        return  # told already; no time follows from it
    right = instance_rules.schedule(instance, head, facts.operation)
    for name in ("claimable_at_ms", "due_at_ms"):
        got, expected = getattr(instance, name), getattr(right, name)
        if got != expected:
            yield f"{name} is {got}, expected {expected}"


def _lacks_lease(head: Turn) -> bool:
    return head.status == HELD and head.lease_until_ms is None


def _holders(facts: _Facts) -> Iterator[str]:
    """Only the head is ever held or has been claimed; those behind it wait untouched."""
    with_token = sum(row.with_token for row in facts.turns)
    is_held = facts.head is not None and facts.head.status == HELD
    if with_token != is_held:
        yield f"{with_token} turns have a holder, expected {int(is_held)}"
    behind = sum(row.count for row in facts.open if row.status != QUEUED)
    if behind > (facts.head is not None and facts.head.status != QUEUED):
        yield "a turn behind the current one is not queued"


# -- steps, signals and runs -------------------------------------------------------------------------------------


def _turn_problems(tx: Transaction, span: Span, names: dict[Place, str]) -> Iterator[str]:
    for noun, rows in (("step", store.miscounted_steps(tx, span)), ("signal", store.miscounted_signals(tx, span))):
        for row in rows:
            yield f"{_at(row, names)}: {_miscount(row, noun)}"
    for taken in store.taken_by_nobody(tx, span):
        event = taken.event_id.decode(errors="replace")
        yield f"{_at(taken, names)}: signal {event!r} was taken by step {taken.consumed_by!r}, which is not saved"
    # Records are removed a little after their time, never before it.
    for lost in store.lost_runs(tx, span, tx.now_ms - limits.RUN_MS):
        yield f"{_at(lost, names)}: run {lost.run_id} ended and has no record"


def _miscount(row: Miscounted, noun: str) -> str:
    there = f"there are {row.count} up to position {row.last}, {row.distinct} of them distinct"
    return f"it says it has {row.expected} {noun}s, {there}"


def _at(row: Miscounted | store.TakenSignal | store.LostRun, names: dict[Place, str]) -> str:
    place = row.graph_id, row.instance_id
    return f"turn {row.turn} of {names.get(place, f'{place}, which is no instance')}"
