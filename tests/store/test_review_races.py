"""Several people, servers and turns at one item at the same moment: one item, one answer, each told once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from tests.store.calls import Store, current, plain, send, start
from tests.store.review_calls import act, ask, ask_value, look, reply
from turnbuckle.wire.errors import Refused
from turnbuckle.wire.review import ReviewItem

T = TypeVar("T")
AT_ONCE = 8
ROUNDS = 5


def together(work: Callable[[int], T]) -> list[T]:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(work, range(AT_ONCE)))


def test_one_key_filed_by_many_turns_is_one_item_that_all_wait_for(store: Store) -> None:
    for number in range(AT_ONCE):
        start(store, f"i{number}")
        send(store, id="m", to=f"i{number}")

    for key in map("key-{}".format, range(ROUNDS)):
        made = together(lambda n, key=key: ask(store, key=key, wait={"identity": f"i{n}", "turn": 1}))  # type: ignore[misc]
        assert len({item.id for item in made}) == 1
        assert look(store, made[0]).waiting == AT_ONCE
        act(store, reply(store, made[0]))

    for number in range(AT_ONCE):
        assert len(current(store, id=f"i{number}").signals or []) == ROUNDS


def test_of_many_answers_one_is_taken(store: Store) -> None:
    for key in map("key-{}".format, range(ROUNDS)):
        item = ask(store, key=key)

        taken = [one for one in together(lambda n, item=item: _answered(store, item, f"{item.id}-{n}")) if one]  # type: ignore[misc]

        assert len(taken) == 1
        assert look(store, item).answer == taken[0].answer


def test_one_answer_sent_many_times_at_once_is_one(store: Store) -> None:
    for key in map("key-{}".format, range(ROUNDS)):
        item = ask(store, key=key)

        taken = together(lambda n, item=item: reply(store, item, key=item.id))  # type: ignore[misc]

        assert {one.status for one in taken} == {"answered"}


def _answered(store: Store, item: ReviewItem, key: str) -> ReviewItem | None:
    try:
        return reply(store, item, key=key, by=f"key:{key}")
    except Refused as refused:
        if refused.code != "conflict":
            raise
        return None


@pytest.mark.parametrize("is_value", [False, True])
def test_a_request_and_upkeep_at_one_answer_tell_it_once(store: Store, is_value: bool) -> None:
    """The value of a graph without a class is refused; that is noted once too."""
    start(store)
    send(store)
    for key in map("key-{}".format, range(ROUNDS)):
        wait = {"identity": "a", "turn": 1}
        subject = {"type": "Item", "name": key}
        item = ask_value(store, key=key, wait=wait, subject=subject) if is_value else ask(store, key=key, wait=wait)
        reply(store, item, "accept" if is_value else "choose")

        together(lambda n, item=item: act(store, item))  # type: ignore[misc]

        done = look(store, item)
        assert done.effects is not None
        assert done.effects.delivery is not None
        assert (done.effects.delivery.state, done.effects.delivery.attempts) == ("sent", 1)

    signals = current(store).signals or []
    assert len({one.id for one in signals}) == len(signals) == ROUNDS
    assert all(plain(one.value)["decision"] in ("choose", "accept") for one in signals)
