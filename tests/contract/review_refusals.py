"""How each refusal about review items is met: (path, code) -> a request for which it is the answer."""

from typing import Any

import httpx

from tests.e2e.api import Api, ok

REVIEWS = "/v1/reviews"
QUESTION = {
    "kind": "choice",
    "title": "Which?",
    "question": {"options": [{"id": "x", "label": "X"}, {"id": "y", "label": "Y"}]},
    "origin": {"kind": "agent"},
}
CHOSEN = {"decision": "choose", "option": "x"}
BODIES: dict[str, dict[str, Any]] = {
    REVIEWS: QUESTION,
    f"{REVIEWS}/answer": {"answer": CHOSEN},
    f"{REVIEWS}/answer-batch": {"ids": ["rev_x"], "answer": CHOSEN},
    f"{REVIEWS}/withdraw": {"reason": "no"},
    f"{REVIEWS}/comment": {"text": "see page 3"},
}


async def show(api: Api, path: str, code: str) -> httpx.Response:
    """The answer of a request to `path` that is refused with `code`."""
    item = ok(await api.post(REVIEWS, {**QUESTION, "key": f"{path}:{code}"}))["id"]
    query = {} if path.endswith("batch") else {"id": item}
    if code == "review_stale":
        return await api.post(path, {**BODIES[path], "revision": 2}, **query)
    if code == "idempotency_conflict":
        headers = {"idempotency-key": f"{path}:{code}"}
        await api.post(f"{REVIEWS}/comment", {"text": "another request"}, headers, id=item)
        return await api.post(path, BODIES[path], headers, **query)
    if path.endswith("comment"):
        return await _one_comment_too_many(api, item)
    ok(await api.post(f"{REVIEWS}/withdraw", {"reason": "no"}, id=item))
    return await api.post(path, BODIES[path], **query)


async def _one_comment_too_many(api: Api, item: str) -> httpx.Response:
    while True:
        answer = await api.post(f"{REVIEWS}/comment", {"text": "again"}, id=item)
        if answer.status_code != httpx.codes.OK:
            return answer


SHOWN = [
    (f"{REVIEWS}/answer", "conflict"),
    (f"{REVIEWS}/answer", "review_stale"),
    (f"{REVIEWS}/answer", "idempotency_conflict"),
    (f"{REVIEWS}/answer-batch", "idempotency_conflict"),
    (f"{REVIEWS}/withdraw", "conflict"),
    (f"{REVIEWS}/withdraw", "idempotency_conflict"),
    (f"{REVIEWS}/comment", "conflict"),
    (f"{REVIEWS}/comment", "idempotency_conflict"),
]
