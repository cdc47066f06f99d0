"""What the demo promises, checked against what was found. No I/O: `violations` of made-up facts is a unit test."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from examples.demo.ledger import Row

Place = tuple[str, int]  # instance, turn


@dataclass(frozen=True)
class Turn:
    """A finished turn, as the server shows it."""

    instance: str
    number: int
    message_id: str
    status: str
    steps: dict[str, str]  # key: digest of the saved output, in order
    took_ms: int  # from its first claim to its end
    lost_attempts: int = 0  # whose lease ran out


@dataclass(frozen=True)
class Kill:
    """What was killed, and the turns that were in flight then."""

    what: str
    at_seconds: float
    in_flight: frozenset[Place]


@dataclass(frozen=True)
class Facts:
    sent: list[tuple[str, str]]  # (instance, message id) as it was acknowledged
    turns: list[Turn]
    rows: list[Row]
    kills: list[Kill]
    words: dict[str, int]  # per instance, as its state says
    counted: dict[str, int]  # per instance, counted directly
    steps: tuple[str, ...]  # of each turn, in order
    problems: list[str] = field(default_factory=list)  # what `turnbuckle doctor` found

    @property
    def effects(self) -> list[Row]:
        return [row for row in self.rows if row.kind == "effect"]

    @property
    def resends(self) -> int:
        return len(self.effects) - len({row.effect_id for row in self.effects})

    @property
    def resends_limit(self) -> int:
        """At most one for each turn in flight at a kill (decision 1), or whose lease was lost without one."""
        return sum(len(kill.in_flight) for kill in self.kills) + self.lost_without_a_kill

    @property
    def lost_without_a_kill(self) -> int:
        """Attempts that no kill explains: on a machine that is too busy, a heartbeat may come too late."""
        hit = Counter(place for kill in self.kills for place in kill.in_flight)
        return sum(max(0, turn.lost_attempts - hit[turn.instance, turn.number]) for turn in self.turns)


def violations(facts: Facts) -> list[str]:
    """What was promised and is not so, a sentence each; empty when all is well."""
    rules = (_messages, _order, _effect_ids, _outputs, _resends, _words, _kills)
    return [found for rule in rules for found in rule(facts)] + [f"doctor: {text}" for text in facts.problems]


def _messages(facts: Facts) -> Iterator[str]:
    """Each message completed exactly once, and nothing else did."""
    done = Counter((turn.instance, turn.message_id) for turn in facts.turns if turn.status == "completed")
    for message in facts.sent:
        if done[message] != 1:
            yield f"message {message[1]} of {message[0]} was completed {done[message]} times, expected once"
    for instance, message_id in done.keys() - set(facts.sent):
        yield f"message {message_id} of {instance} was completed and never sent"


def _order(facts: Facts) -> Iterator[str]:
    for instance in facts.counted:
        sent = [message_id for place, message_id in facts.sent if place == instance]
        turns = sorted((turn for turn in facts.turns if turn.instance == instance), key=lambda turn: turn.number)
        got = [turn.message_id for turn in turns]
        if got != sent:
            yield f"{instance} worked on {got}, expected the order of sending {sent}"


def _effect_ids(facts: Facts) -> Iterator[str]:
    """One effect id per step, over all attempts; no two steps share one."""
    ids: dict[tuple[str, int, str], set[str]] = {}
    for row in facts.effects:
        ids.setdefault((row.instance, row.turn, row.step), set()).add(row.effect_id)
    for step, found in ids.items():
        if len(found) != 1:
            yield f"step {step} has {len(found)} effect ids, expected one: {sorted(found)}"
    for effect_id, users in Counter(effect_id for found in ids.values() for effect_id in found).items():
        if users > 1:
            yield f"effect id {effect_id} is that of {users} steps, expected one"
    for turn in facts.turns:
        for key in turn.steps:
            if (turn.instance, turn.number, key) not in ids:
                yield f"step {key} of turn {turn.number} of {turn.instance} is saved and had no effect"


def _outputs(facts: Facts) -> Iterator[str]:
    """Each step is saved once, in order, and nobody ever got another output."""
    saved: dict[tuple[str, int, str], str] = {}
    for turn in facts.turns:
        if tuple(turn.steps) != facts.steps:
            expected = list(facts.steps)
            yield f"turn {turn.number} of {turn.instance} has the steps {list(turn.steps)}, expected {expected}"
        saved |= {(turn.instance, turn.number, step): output for step, output in turn.steps.items()}
    for row in facts.rows:
        step = (row.instance, row.turn, row.step)
        if row.kind == "replay" and saved.get(step) != row.output:
            yield f"step {step} was replayed as {row.output}, it is saved as {saved.get(step)}"


def _resends(facts: Facts) -> Iterator[str]:
    if facts.resends > facts.resends_limit:
        yield f"{facts.resends} effects were sent again, expected at most {facts.resends_limit}: the turns in flight"


def _words(facts: Facts) -> Iterator[str]:
    for instance, counted in facts.counted.items():
        if facts.words.get(instance) != counted:
            yield f"{instance} says {facts.words.get(instance)} words, counted directly there are {counted}"


def _kills(facts: Facts) -> Iterator[str]:
    """A demo in which nothing was in flight shows nothing."""
    for what in ("worker", "server"):
        if not any(kill.what.startswith(what) and kill.in_flight for kill in facts.kills):
            yield f"no {what} was killed with a turn in flight"
