"""A server in the memory of a test: the routes this workflow uses, for one graph of products and one turn at a time.

It keeps what a server keeps (saved steps, commits by key, model answers by effect id, review items by key), so that a
turn can die and run again. It checks no types and no leases; the server's own tests do that.
"""

import json
import re
from collections import Counter
from typing import Any

import httpx
from lbb import AsyncLbbClient, stable_hash_hex
from lbb.workflows import LbbActivities, WorkflowWorker, lbb_activities

from values_extract import mock_models
from values_extract.settings import DEFAULTS, VERSION, WORKFLOW, Settings
from values_extract.workflow import create_workflow

Json = Any
NAMESPACE = "https://littlebigbrain.com/e/"
SENTINEL = "\0lbb-eid:"


class WorkerDied(BaseException):
    """The process is gone: nothing in it can catch this."""


class FakeServer:
    """Put products with `put`, then `await run()` is one message about them and all turns it takes."""

    def __init__(self, settings: Settings = DEFAULTS) -> None:
        self.settings = settings
        self.products: dict[str, Json] = {}  # by IRI: {name, text}
        self.fields: dict[str, dict[str, Json]] = {}  # by IRI: what was written
        self.edges: dict[tuple[str, str, str], Json] = {}  # by (source, relation, target): the triplet
        self.names: dict[str, str] = {}  # by IRI
        self.commits: dict[str, Json] = {}  # by idempotency key: the body
        self.commit_keys_sent: list[str] = []
        self.reviews: dict[str, Json] = {}  # by item key
        self.requeued: list[Json] = []
        self.calls: Counter[str] = Counter()  # model calls that ran, by activity
        self.state: Json = {}
        self.refuses: set[str] = set()  # names of products that the reasoning model refuses
        self.dies_before_saving: str | None = None  # a step key
        self.proposals: dict[str, list[Json]] = {}  # by name: what the reasoning model says instead of reading
        self._effects: dict[tuple[str, str], Json] = {}
        self._turns: list[Json] = []
        self._number = 0
        self._is_dead = False  # the worker: nothing it sends arrives any more

    # -- what a test does ------------------------------------------------------------------------------------------

    def put(self, name: str, text: str) -> str:
        """A product with this text from now on; its IRI."""
        iri = NAMESPACE + stable_hash_hex([name])
        self.products[iri] = {"name": name, "text": text}
        self.names[iri] = name
        return iri

    async def run(self, *iris: str, removed: tuple[str, ...] = ()) -> dict[str, int]:
        """The counters of the turns of one message about `iris`, by default all products."""
        self._admit(self._message(list(iris or self.products), list(removed)))
        before: Counter[str] = Counter(self.state)
        while self._turns:
            await self.work()
        return {name: count - before[name] for name, count in self.state.items()}

    async def work(self) -> None:
        """One attempt of the next turn. WorkerDied when the test asked for it."""
        self._is_dead = False
        client = AsyncLbbClient("http://fake.test", graph="main", transport=httpx.MockTransport(self._answer))
        async with client:
            activities: LbbActivities = lbb_activities(client)
            worker = WorkflowWorker(client, [create_workflow(activities, self.settings)], worker="test")
            await worker.run_once()

    def answer(self, iri: str, name: str, decision: str, value: Json = None, error: str | None = None) -> None:
        """A person answers the open question about a property; `error` is why the graph refused the value."""
        item = self.item(iri, name)
        given = {"decision": decision} | ({} if value is None else {"value": value})
        item |= {"status": "answered", "answer": given, "effects": {"commit_error": error} if error else {}}

    def item(self, iri: str, name: str) -> Json:
        """The review item about a property."""
        found = [
            item
            for item in self.reviews.values()
            if item["subject"]["iri"] == iri and item["question"]["property"] == name
        ]
        assert len(found) == 1, f"{len(found)} items about {name} of {self.names[iri]}"
        return found[0]

    def open_items(self) -> list[Json]:
        return [item for item in self.reviews.values() if item["status"] == "open"]

    def values(self, iri: str) -> dict[str, Json]:
        """What is stored on a product now."""
        return self.fields.get(iri, {})

    def sources(self, iri: str) -> dict[str, Json]:
        """By property: the evidence of the edge to its source."""
        found = {}
        for (source, _, target), edge in self.edges.items():
            if source == iri:
                found[self.fields[target]["property"]] = edge["evidence"]
        return found

    # -- the engine ------------------------------------------------------------------------------------------------

    def _message(self, iris: list[str], removed: list[str]) -> Json:
        return {
            "type": "instances",
            "workflow": WORKFLOW,
            "graph": "main",
            "as_of_commit_seq": len(self.commits),
            "reason": "changed",
            "instances": iris,
            "removed": removed,
        }

    def _admit(self, message: Json) -> None:
        self._number += 1
        self._turns.append({"number": self._number, "message": message, "steps": []})

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if self._is_dead:
            raise WorkerDied(request.url.path)
        route = request.url.path.removeprefix("/v1/")
        body = json.loads(request.content) if request.content else dict(request.url.params)
        routes = {
            "workflows/turns/claim": self._claim,
            "workflows/turns/operation": lambda body: {},
            "workflows/turns/checkpoint": self._save,
            "workflows/turns/complete": self._complete,
            "workflows/turns/fail": self._fail,
            "query/sparql-text": self._sparql,
            "workflows/activities/reason": self._reason,
            "workflows/activities/decide": self._decide,
            "workflows/named/requeue": self._requeue,
        }
        if route == "graph/commit":
            return httpx.Response(200, json=self._commit(body, request.headers["idempotency-key"]))
        if route == "reviews":
            return httpx.Response(200, json=self._file(body) if request.method == "POST" else self._list(body))
        answer = routes[route](body)
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)

    def _claim(self, body: Json) -> Json:
        turn = self._turns[0]
        task = {
            "workflow_type": WORKFLOW,
            "state": self.state,
            "token": "T",
            "lease_ms": 60_000,
            "effect_prefix": f"prefix{turn['number']}",
            "turn": {
                "workflow_id": f"starter.{WORKFLOW}",
                "version": VERSION,
                "message_id": f"m-{turn['number']}",
                "status": "running",
                "attempt": 1,
                **turn,
            },
        }
        return {"task": json.loads(json.dumps(task))}

    def _save(self, body: Json) -> Json:
        if body["key"] == self.dies_before_saving:
            self.dies_before_saving, self._is_dead = None, True
            raise WorkerDied(body["key"])
        self._turns[0]["steps"].append({**body, "at_ms": 1})
        return {}

    def _complete(self, body: Json) -> Json:
        self.state = body["state"]
        del self._turns[0]
        if "continuation" in body:
            self._admit(body["continuation"]["message"])
        return {}

    def _fail(self, body: Json) -> Json:
        raise AssertionError(f"the turn failed: {body['error']}")

    def _requeue(self, body: Json) -> Json:
        self.requeued += body["items"]
        requeued = [item["instance"] for item in body["items"]]
        return {"attempt": 1, "not_before": "2027-01-01T00:00:00Z", "requeued": requeued, "exhausted": []}

    # -- models ----------------------------------------------------------------------------------------------------

    def _reason(self, body: Json) -> Json:
        asked = json.loads(body["prompt"])
        if asked["instance"] in self.refuses:
            return _error(422, "activity_request_refused", "the input is too large")
        said = self.proposals.get(asked["instance"])
        value = mock_models.reason(body["prompt"]) if said is None else {"values": said}
        return self._once("reason", body, {"value": value})

    def _decide(self, body: Json) -> Json:
        return self._once("decide", body, {"answers": mock_models.decide(body["state"], body["questions"])})

    def _once(self, activity: str, body: Json, answer: Json) -> Json:
        """The first answer under an effect id is kept; a repeat is no call."""
        key = (activity, body["effect_id"])
        if key in self._effects:
            return self._effects[key] | {"cached": True}
        self.calls[activity] += 1
        spent = {"model": "mock", "tokens_in": 1, "tokens_out": 1, "cost_micro_usd": 0, "cached": False}
        self._effects[key] = spent | answer
        return self._effects[key]

    # -- the graph -------------------------------------------------------------------------------------------------

    def _sparql(self, body: Json) -> Json:
        iris = re.findall(rf"<({NAMESPACE}[0-9a-f]{{32}})>", body["query"])
        rows = self._source_rows(iris) if "?source" in body["query"] else self._text_rows(iris)
        head = {"vars": list(rows[0]) if rows else []}
        bindings = [{name: {"type": "literal", "value": value} for name, value in row.items()} for row in rows]
        page = {"returned": len(rows), "total": len(rows), "offset": 0, "limit": 1_000, "has_more": False}
        return {"results": json.dumps({"head": head, "results": {"bindings": bindings}}), "row_page": page}

    def _text_rows(self, iris: list[str]) -> list[dict[str, str]]:
        found = [(iri, self.products[iri]) for iri in iris if iri in self.products]
        return [{"s": iri, "label": product["name"], "text": product["text"]} for iri, product in found]

    def _source_rows(self, iris: list[str]) -> list[dict[str, str]]:
        return [
            {
                "s": source,
                "source": target,
                "quote": self.names[target],
                "property": self.fields[target]["property"],
                "value": self.fields[target]["value"],
            }
            for source, _, target in self.edges
            if source in iris
        ]

    def _commit(self, body: Json, key: str) -> Json:
        self.commit_keys_sent.append(key)
        is_new = key not in self.commits
        if is_new:
            self.commits[key] = body
            self._remove(body)
            self._write(body)
        commit_seq = list(self.commits).index(key) + 1
        return {
            "commit_seq": commit_seq,
            "idempotency_key": key,
            "replayed": not is_new,
            "graph_created": False,
            "entities_written": len(body.get("entity_properties", [])),
            "edges_written": len(body.get("triplets", [])),
        }

    def _remove(self, body: Json) -> None:
        owned = body.get("replace_owned", {"subjects": []})
        subjects = {self._iri(subject) for subject in owned["subjects"]}
        said = {
            (self._iri(one["source"]), one["relation"], self._iri(one["target"])) for one in body.get("triplets", [])
        }
        gone = {self._iri(entity) for entity in owned.get("retract_entities", [])}
        for edge in list(self.edges):
            is_owned = edge[0] in subjects and edge[1] in owned.get("relations", [])
            if edge not in said and (is_owned or edge[0] in gone or edge[2] in gone):
                del self.edges[edge]
        for subject in subjects:
            for name in owned.get("properties", []):
                self.fields.get(subject, {}).pop(name, None)
        for iri in gone:
            self.fields.pop(iri, None)

    def _write(self, body: Json) -> None:
        for row in body.get("entity_properties", []):
            fields = self.fields.setdefault(self._iri(row), {})
            fields |= row.get("properties", {})
            for name in row.get("remove_fields", []):
                fields.pop(name, None)
        for edge in body.get("triplets", []):
            key = (self._iri(edge["source"]), edge["relation"], self._iri(edge["target"]))
            self.edges.setdefault(key, edge)  # an edge that stands keeps its evidence

    def _iri(self, reference: Json) -> str:
        key = reference["key"]
        entity_id = key.removeprefix(SENTINEL) if key.startswith(SENTINEL) else stable_hash_hex([key])
        self.names.setdefault(NAMESPACE + entity_id, reference["name"])
        return NAMESPACE + entity_id

    # -- reviews ---------------------------------------------------------------------------------------------------

    def _file(self, body: Json) -> Json:
        """A new item, or the one of the key: with the new question when it is open or reopened, else as it was."""
        known = self.reviews.get(body["key"])
        if known is None:
            known = self.reviews[body["key"]] = _new_item(len(self.reviews))
        elif known["status"] == "answered" and not _is_reopened(known, body):
            return known
        elif known["status"] == "answered":
            known["previous_answer"] = known.pop("answer")
        known |= {**body, "status": "open", "revision": known["revision"] + 1}
        return known

    def _list(self, params: Json) -> Json:
        wanted = params["key"].split(",")
        assert len(wanted) <= 100
        data = [self.reviews[key] for key in wanted if key in self.reviews]
        brief = [{name: value for name, value in item.items() if name != "facts"} for item in data]
        return {"object": "list", "data": brief, "has_more": False}


def _new_item(number: int) -> Json:
    return {
        "id": f"rev_{number}",
        "object": "review_item",
        "scope": "live",
        "revision": 0,
        "created": "2027-01-01T00:00:00Z",
        "updated": "2027-01-01T00:00:00Z",
    }


def _is_reopened(known: Json, body: Json) -> bool:
    is_other: bool = known["question"]["value"] != body["question"]["value"]
    is_new_text: bool = known["evidence_hash"] != body["evidence_hash"]
    is_rejected: bool = known["answer"]["decision"] == "reject"
    return is_other and (is_new_text or is_rejected)


def _error(status: int, code: str, message: str) -> httpx.Response:
    error = {"type": "invalid_request_error", "code": code, "message": message, "retryable": False}
    return httpx.Response(status, json={"error": error})
