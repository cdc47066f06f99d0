"""Questions to a person over HTTP: who may answer, what is refused and where, and a turn that waits for its answer."""

from typing import Any

import pytest

from tests.e2e.api import KEY, Api, ok
from turnbuckle.http import reviews as conductor
from turnbuckle.operations import key as keys
from turnbuckle.store.key import Grant
from turnbuckle.wire.errors import Refused

REVIEWS = "/v1/reviews"
OPTIONS = [{"id": "parquet", "label": "Parquet"}, {"id": "tiles", "label": "Tiles"}]
QUESTION: dict[str, Any] = {
    "kind": "choice",
    "key": "floor:big hall",
    "title": "Which floor covering does the hall have?",
    "question": {"options": OPTIONS},
    "origin": {"kind": "agent"},
}
PARQUET = {"answer": {"decision": "choose", "option": "parquet"}}


async def asked(api: Api, **fields: Any) -> Any:
    return ok(await api.post(REVIEWS, {**QUESTION, **fields}))


async def waiting(api: Api) -> tuple[dict[str, Any], Any]:
    """The lease on a turn, and the item it asks."""
    held = await api.held()
    item = await asked(api, wait={"identity": "a", "turn": 1, "signal": ""})
    return held, item


async def listening(api: Api, held: dict[str, Any], item: Any, timeout_ms: int = 60_000) -> Any:
    fields = {"key": "floor.answer", "position": 0, "name": item["wait"]["signal"], "timeout_ms": timeout_ms}
    return ok(await api.turn("wait-signal", held, **fields))


async def answered(api: Api, item: Any, key: str = "k-1", **body: Any) -> Any:
    return ok(await api.post(f"{REVIEWS}/answer", {**PARQUET, **body}, {"idempotency-key": key}, id=item["id"]))


# -- an answer and the turn that waits for it --------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before the wait", "during the wait"])
async def test_the_turn_hears_the_answer(api: Api, when: str) -> None:
    """B046: after the answer the turn goes on at its wait, on any worker."""
    held, item = await waiting(api)
    if when == "during the wait":
        await listening(api, held, item)
        assert await api.claimed() is None

    told = await answered(api, item)

    assert told["effects"]["delivery"] == {"state": "sent", "attempts": 1, "sent_to": ["signal"]}
    turn = (await api.claimed())["turn"] if when == "during the wait" else await listening(api, held, item)
    heard = turn["steps"][0]["output"]
    assert heard == {"received": True, "value": told["answer"]}
    assert told["answer"]["by"].startswith("key:")


async def test_an_answer_given_twice_is_heard_once(api: Api) -> None:
    held, item = await waiting(api)
    await listening(api, held, item)

    first, again = await answered(api, item), await answered(api, item)

    assert again == first
    turn = (await api.claimed())["turn"]
    assert len(turn["signals"]) == 1


async def test_a_late_answer_is_there_to_be_read(api: Api, clock: Any) -> None:
    """The wait has ended; the step that reads the item once more finds the answer."""
    held, item = await waiting(api)
    await listening(api, held, item, timeout_ms=1_000)
    clock.pass_ms(1_000)
    turn = (await api.claimed())["turn"]
    assert turn["steps"][0]["output"] == {"received": False, "value": None}

    told = await answered(api, item)

    shown = ok(await api.get(f"{REVIEWS}/get", id=item["id"]))
    assert (shown["status"], shown["answer"]["option"]) == ("answered", "parquet")
    assert told["effects"]["delivery"]["state"] == "sent"  # the turn goes on and may still listen for it
    assert ok(await api.get(f"{REVIEWS}/detail", id=item["id"])) == shown


async def test_an_answer_after_a_withdrawal_is_refused_and_heard_by_nobody(api: Api) -> None:
    held, item = await waiting(api)
    await listening(api, held, item)
    ok(await api.post(f"{REVIEWS}/withdraw", {"reason": "asked in error"}, id=item["id"]))

    refused = await api.post(f"{REVIEWS}/answer", PARQUET, id=item["id"])

    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    assert await api.claimed() is None


async def test_a_recorded_answer_is_not_refused_when_its_delivery_fails(
    api: Api, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server lost its store after the answer was recorded; upkeep delivers it."""
    held, item = await waiting(api)
    await listening(api, held, item)

    async def fails(*_: Any) -> None:
        raise Refused("storage_degraded", "the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(conductor, "act", fails)
        told = await answered(api, item)
    assert (told["status"], told["effects"]["delivery"]["state"]) == ("answered", "pending")
    assert await api.claimed() is None

    clock.pass_ms(1_000)
    await conductor.act_on_due(api.app.store)

    assert (await api.claimed())["turn"]["steps"][0]["output"]["received"]
    assert (await answered(api, item))["effects"]["delivery"]["state"] == "sent"


async def test_a_batch_is_delivered_too(api: Api) -> None:
    held, item = await waiting(api)
    await listening(api, held, item)

    made = ok(await api.post(f"{REVIEWS}/answer-batch", {"ids": [item["id"]], **PARQUET}))

    assert (made["answered"], made["skipped"]) == (1, 0)
    assert (await api.claimed())["turn"]["steps"][0]["output"]["received"]


# -- who may -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("role", "may_ask", "may_answer"), [
    ("admin", True, True), ("write", True, True), ("review", False, True), ("read", False, False),
])  # fmt: skip
async def test_who_may_ask_and_answer(api: Api, role: str, may_ask: bool, may_answer: bool) -> None:
    """Decision 48."""
    item = await asked(api)
    key = f"lbb_sk_test_{role}"
    await api.app.store.write(lambda tx: keys.add(tx, key, role, Grant("test", "user", role)))
    mine = {"authorization": f"Bearer {key}"}

    filed = await api.post(REVIEWS, {**QUESTION, "key": "other"}, mine)
    said = await api.post(f"{REVIEWS}/answer", PARQUET, mine, id=item["id"])

    assert filed.status_code == (200 if may_ask else 403)
    assert said.status_code == (200 if may_answer else 403)
    assert (await api.get(REVIEWS, mine)).status_code == 200
    if may_answer:
        assert said.json()["answer"]["by"] == f"key:{keys.hash_of(key).hex()[:8]}"
        assert KEY not in said.text


# -- bad input, each with its field ------------------------------------------------------------------------------

ROW = {"type": "Item", "name": "Tea", "properties": {"price": 1}}
BAD_QUESTIONS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "change"}, "kind"),
    ({"title": ""}, "title"),
    ({"title": "x" * 201}, "title"),
    ({"key": "a,b"}, "key"),
    ({"key": "x" * 256}, "key"),
    ({"key": "a\nb"}, "key"),
    ({"origin": {}}, "origin.kind"),
    ({"origin": {"kind": "robot"}}, "origin.kind"),
    ({"question": {}}, "question.options"),
    ({"question": {"options": []}}, "question.options"),
    ({"question": {"options": [{"id": "a b", "label": "A"}]}}, "question.options[0].id"),
    ({"question": {"options": [{"id": "a"}]}}, "question.options[0].label"),
    ({"question": {"options": OPTIONS, "proposed": "cork"}}, "question.proposed"),
    ({"question": {"options": OPTIONS, "confidence": 1.5}}, "question.confidence"),
    ({"question": {"options": OPTIONS, "prompt": "Why?"}}, "question.prompt"),
    ({"question": {"options": OPTIONS, "colour": 1}}, "question.colour"),
    ({"kind": "value", "question": {"property": "price"}}, "question.value"),
    ({"kind": "value", "question": {"property": "price", "value": None}}, "question.value"),
    ({"evidence": [{"quote": "q"}, {}]}, "evidence[1].quote"),
    ({"evidence_hash": "x" * 129}, "evidence_hash"),
    ({"rationale": "x" * 4_001}, "rationale"),
    ({"scope": "dry"}, "scope"),
    ({"wait": {"identity": "a b", "turn": 1}}, "wait.identity"),
    ({"wait": {"identity": "a", "turn": 0}}, "wait.turn"),
    ({"wait": {"identity": "a", "turn": 1, "signal": "no spaces"}}, "wait.signal"),
    ({"workflow": {}}, "workflow.name"),
    ({"facts": {"entity_properties": [ROW, {"type": "Item"}]}}, "facts.entity_properties[1].name"),
    ({"facts": {"summary": "x" * 501}}, "facts.summary"),
    ({"facts": {"entity_properties": [ROW] * 201}}, "facts"),
    ({"answer": 1}, "answer"),
]


@pytest.mark.parametrize(("fields", "param"), BAD_QUESTIONS, ids=lambda one: one if isinstance(one, str) else None)
async def test_a_bad_question_is_refused_at_its_field(api: Api, fields: dict[str, Any], param: str) -> None:
    answer = await api.post(REVIEWS, {**QUESTION, **fields})

    assert (answer.status_code, answer.json()["error"].get("param")) == (400, param), answer.text
    assert ok(await api.get(REVIEWS))["data"] == []


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "answer"),
        ({"answer": {}}, "answer.decision"),
        ({"answer": {"decision": "maybe"}}, "answer.decision"),
        ({"answer": {"decision": "accept"}}, "answer.decision"),
        ({"answer": {"decision": "choose"}}, "answer.option"),
        ({"answer": {"decision": "choose", "option": "cork"}}, "answer.option"),
        ({"answer": {"decision": "choose", "option": "tiles", "value": 1}}, "answer.value"),
        ({"answer": {"decision": "cant_tell", "note": "x" * 1_001}}, "answer.note"),
        ({"answer": {"decision": "cant_tell", "by": "me"}}, "answer.by"),
        ({**PARQUET, "comment": ""}, "comment"),
        ({**PARQUET, "edits": [{}]}, "edits"),
        ({**PARQUET, "revision": "two"}, "revision"),
    ],
)
async def test_a_bad_answer_is_refused_at_its_field_and_changes_nothing(api: Api, body: Any, param: str) -> None:
    item = await asked(api)

    answer = await api.post(f"{REVIEWS}/answer", body, id=item["id"])

    assert (answer.status_code, answer.json()["error"].get("param")) == (400, param), answer.text
    assert ok(await api.get(f"{REVIEWS}/get", id=item["id"])) == item


async def test_facts_that_are_too_large_are_refused_with_both_sizes(api: Api) -> None:
    facts = {"entity_properties": [{**ROW, "properties": {"text": "x" * 70_000}}]}

    answer = await api.post(REVIEWS, {**QUESTION, "facts": facts})

    assert (answer.status_code, answer.json()["error"]["param"]) == (413, "facts")
    assert "expected at most 65536" in answer.json()["error"]["message"]


async def test_null_is_absent_and_texts_with_nul_come_back(api: Api) -> None:
    """Decision 9: NUL is fine in values; PostgreSQL's own text type would refuse it."""
    nothing = dict.fromkeys(("subject", "evidence", "facts", "workflow", "wait", "eval", "rationale", "evidence_hash"))
    question = {"options": OPTIONS, "proposed": None, "value": None, "prompt": None}

    item = await asked(api, title="a\x00b", question=question, **nothing)

    assert item["title"] == "a\x00b"
    assert item["question"] == {"options": OPTIONS}
    assert nothing.keys() & item.keys() == set()
    told = await answered(api, item, answer={"decision": "cant_tell", "note": "\x00"})
    assert told["answer"]["note"] == "\x00"


async def test_numbers_of_a_value_stay_as_they_are_written(api: Api) -> None:
    big = b'{"property":"n","value":12345678901234567890123.0}'
    body = b'{"kind":"value","title":"t","origin":{"kind":"agent"},"question":%s}' % big

    answer = await api.post(REVIEWS, body)

    assert b'"value":12345678901234567890123.0' in answer.content
