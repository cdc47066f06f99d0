"""What is drawn for the machine: moves of a worker, of people and programs outside, of time, and requests that repeat.

A move is the name of one of the machine's methods with its arguments. What is listed several times is drawn more
often: most requests are such that they are accepted, so that turns get somewhere.
"""

from typing import Any

from hypothesis import strategies as st

DAY_MS = 86_400_000
PAIRS = (("type", "1"), ("type", "2"), ("other", "1"))
VALUES = ("null", "1", "1.0", '{"a":1,"b":[2]}', '{"b": [2e0], "a": 1}', '"\\u0000é"', "[]", "9007199254740993")

Move = tuple[str, dict[str, Any]]
Drawn = st.SearchStrategy[Any]


def move(name: str, /, **drawn: Drawn) -> st.SearchStrategy[Move]:
    return st.tuples(st.just(name), st.fixed_dictionaries(drawn))


def often(count: int, usual: Any, *others: Any) -> Drawn:
    return st.sampled_from([usual] * count + list(others))


def mix(*moves: tuple[int, st.SearchStrategy[Move]]) -> st.SearchStrategy[list[Move]]:
    """One to five moves, each as often as its weight says."""
    weighted = [one for weight, one in moves for _ in range(weight)]
    return st.lists(st.sampled_from(weighted).flatmap(lambda one: one), min_size=1, max_size=5)


values = st.sampled_from(VALUES)
names = often(2, "go", "stop")
keys = often(6, "new", "k0", "k1", "x")  # `new` is k<position>
offsets = often(10, 0, -1, 1)  # from the next position
which = often(9, 0, 1, 1, 2, 3, 5)  # of the leases: those that hold come first, then the lost ones
place = often(3, 0, 0, 1, 1, 2, 3, 9)  # of the instances; 9 is none
more = often(8, 0, 1, -1)  # from the current turn's number
pairs = st.sampled_from((PAIRS, PAIRS, PAIRS[:1], PAIRS[1:]))

claim = move("claim", graph=often(3, "g", "h"), pairs=pairs, first=st.integers(0, 2))
begin = move(
    "begin",
    which=which,
    key=keys,
    offset=offsets,
    timeout_ms=often(2, 60_000, 1_000),
    silence_ms=often(3, None, 100, 5_000, 70_000),
)
progress = move(
    "progress",
    which=which,
    key=often(8, "running", "k0"),
    ahead=often(5, 1, 2, 0, -1),
    details=st.sampled_from((*VALUES[:4], '{"phase":"read","done":1,"total":3}', '{"phase":"write","done":2}')),
    cursor=values,
)
save = move("save", which=which, key=keys, offset=offsets, output=values)
sleep = move("sleep", which=which, key=keys, offset=offsets, delay_ms=often(3, 1_000, 1, 0, 365 * DAY_MS, None))
listen = move("wait_signal", which=which, key=keys, offset=offsets, name=names, timeout_ms=often(4, 60_000, 1_000, 1))
park = move("park", sleeps=st.booleans(), then=often(1, "wake", "resume", "pause"))
complete = move("complete", which=which, state=values, result=st.none() | values, next_message=st.none() | values)
fail = move(
    "fail",
    which=which,
    is_final=often(5, False, True),
    retry_in_ms=often(5, None, 0, 1_000, 5_000, 366 * DAY_MS, 366 * DAY_MS + 1),
)
heartbeat = move("heartbeat", which=which, after_ms=often(1, 0, 10, 500))
step = move("step", parts=often(3, 3, 2, 1), cursor=values, output=values, twice=st.booleans())
crash = move("crash", how=often(1, "fail", "release", "expire"), cursor=values, output=values)
second_chance = move("second_chance")
listen_late = move("listen_late", name=names, count=often(1, 2, 1), values=st.tuples(values, values))

send = move("send", place=place, known=often(2, False, True), which=which, message=values)
signal = move("signal", place=place, more=more, id=often(1, "e1", "e2", "e3", "e/4", "e5"), name=names, value=values)
answer = move("answer", which=st.integers(0, 3), value=values, late_ms=often(3, None, -1, 0, 1))
control = move(
    "control",
    place=place,
    more=st.one_of(more, more, st.none()),
    action=often(2, "resume", "retry", "retry", "skip", "wake", "wake", "pause", "cancel_turn"),
)
create = move(
    "create",
    graph=st.sampled_from("gh"),
    id=st.sampled_from("abc"),
    pair=st.sampled_from(PAIRS),
    lease_ms=often(2, 60_000, 1_000, 100),
    attempts=often(2, 3, 1, 2),
    exhausted=st.sampled_from(("block", "skip")),
    state=values,
)
delete = move("delete", place=place)

pass_time = move("pass_time", ms=often(3, 1, 10, 99, 100, 999, 1_000, 2_000))
pass_days = move("pass_time", ms=often(2, DAY_MS + 1, 400 * DAY_MS))
pass_until = move("pass_until", which=st.integers(0, 5), more_ms=often(3, 0, -1, 1))

repeat = move("repeat", back=st.integers(0, 30))
repeat_late = move("repeat_late", back=st.integers(0, 5))
repeat_at_once = move("repeat_at_once")
settle = move("settle")
prune = move("prune", days=often(2, 2, 0, 1))

work = mix(
    (2, begin), (2, progress), (2, save), (3, step), (3, crash), (2, sleep), (1, park), (2, listen), (2, listen_late),
    (3, complete), (2, fail), (1, second_chance), (3, heartbeat), (2, repeat_at_once), (1, pass_time), (1, answer),
    (2, control),
)  # fmt: skip
elsewhere = mix(
    (3, send), (3, signal), (4, answer), (6, control), (2, create), (1, delete), (3, claim), (2, pass_time),
    (4, pass_until), (1, pass_days), (1, settle), (1, repeat_at_once),
)  # fmt: skip
again = mix(
    (4, repeat), (2, repeat_late), (2, repeat_at_once), (1, settle), (2, prune), (1, complete), (1, pass_until),
    (1, pass_days),
)  # fmt: skip
