"""One conformance scenario: the file's fields, their checks, and the loaded value.

The format is described in conformance/workflow-worker/README.md; this module refuses every field it does not name.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conformance.matching import check_matcher
from tests.conformance.shape import (
    Check,
    anything,
    either,
    led_by,
    list_of,
    mapping,
    mapping_of,
    number,
    one_of,
    record,
    sentence,
    text,
    whole_number,
)

ENDINGS = ("return", "continue", "keep", "wait", "raise")
PROGRAMS = ("handler", "on_instances", "on_fan_in", "on_schedule", "on_events")

_REASON = record({"prompt": text, "schema": mapping})
_OWNED_WRITE = record(
    {"subjects": anything},
    dict.fromkeys(("relations", "properties", "retract_entities", "triplets", "entity_properties"), anything),
)

ACTION = led_by(
    {
        "heartbeat": record({"heartbeat": anything}, {"checkpoint": anything}),
        "progress": record({"progress": text, "done": number}, {"total": number, "unit": text}),
        "sleep_ms": record({"sleep_ms": whole_number(0)}),
        "block": record({"block": one_of(True)}),
        "raise": record({"raise": text}, {"message": text}),
        "reason": record({"reason": _REASON}, {"effect_id": either(text, one_of(True))}),
        "review": record({"review": mapping}),
        "blob_put": record({"blob_put": text}),
    }
)

OPERATION = led_by(
    {
        "step": record(
            {"step": text},
            {
                "kind": text,
                "timeout_ms": number,
                "heartbeat_timeout_ms": number,
                "do": list_of(ACTION),
                "returns": anything,
            },
        ),
        "sleep": record({"sleep": text, "ms": number}),
        "wait_for_signal": record({"wait_for_signal": text, "name": text, "timeout_ms": number}),
        "write_owned": record({"write_owned": text, "write": _OWNED_WRITE}, {"graph": anything}),
        "requeue": record(
            {"requeue": text, "failed": list_of(record({"instance": text}, {"error": text}))}, {"graph": anything}
        ),
        "wait_for_review": record({"wait_for_review": text, "request": mapping, "timeout_ms": number}),
        "review": record({"review": text, "request": mapping}),
        "review_items": record({"review_items": text, "keys": list_of(text)}),
        "wait": record({"wait": number}),
        "raise": record({"raise": text}, {"message": text}),
        "return": record({"return": record({}, {"state": anything, "result": anything})}),
        "continue": record({"continue": record({"state": anything, "message": anything})}),
        "keep": record({"keep": one_of(True)}),
    }
)


def program(value: object, path: str) -> Iterator[str]:
    """A list of operations that says how it ends, so that no runner has to guess what falling off means."""
    yield from list_of(OPERATION, at_least=1)(value, path)
    last = value[-1] if isinstance(value, list) and value else None
    if isinstance(last, dict) and not any(key in last for key in ENDINGS):
        yield f"{path}: the last operation must be one of {list(ENDINGS)}, got {last!r}"


REQUEST = record(
    {"method": one_of("GET", "POST", "PUT", "DELETE", "PATCH"), "path": sentence},
    {
        "query": mapping_of(text),
        "headers": mapping_of(text),
        "raw": text,
        "body": check_matcher,
        "same_body_as": whole_number(0),
    },
)


def response(value: object, path: str) -> Iterator[str]:
    fields: Mapping[str, Check] = {
        "status": whole_number(100),
        "body": anything,
        "delay_ms": whole_number(0),
        "transport_error": one_of(True),
        "claim": either(mapping, one_of(None)),
    }
    yield from record({}, fields)(value, path)
    # What arrives is an answer of its own, a claim's answer, or nothing.
    if isinstance(value, dict):
        kinds = [name for name in ("body", "claim", "transport_error") if name in value]
        if len(kinds) > 1 or ("status" in value and "transport_error" in value):
            yield f"{path}: {kinds} exclude each other"


def exchanges(value: object, path: str) -> Iterator[str]:
    yield from list_of(record({"request": REQUEST}, {"response": response}))(value, path)
    for index, exchange in enumerate(value) if isinstance(value, list) else ():
        earlier = exchange.get("request", {}).get("same_body_as", -1) if isinstance(exchange, dict) else -1
        if isinstance(earlier, int) and earlier >= index:
            yield f"{path}[{index}].request.same_body_as: expected an earlier request, got {earlier}"


def workflow(value: object, path: str) -> Iterator[str]:
    fields = {"type": one_of("plain", "triggered"), "name": sentence, "version": sentence}
    yield from record(fields, {"initial_state": anything, "worker": mapping})(value, path)


EXPECT = record(
    {"outcomes": list_of(one_of("claimed", "idle", "error"), at_least=1)},
    {
        "ran": list_of(text),
        "effect_ids": list_of(text),
        "captured": check_matcher,
        "settle_ms": whole_number(0),
    },
)

SCENARIO = record(
    {
        "name": sentence,
        "rule": sentence,
        "workflow": workflow,
        "task": mapping,
        "exchanges": exchanges,
        "expect": EXPECT,
    },
    {
        "client_graph": sentence,
        "capture": record({"workflow": sentence}),
        "runs": whole_number(1),
        **dict.fromkeys(PROGRAMS, program),
    },
)


class BadScenario(ValueError):
    """A scenario that does not fit the format, or asks its program for something that is not there."""


@dataclass(frozen=True)
class Scenario:
    """A checked scenario; fields as in the file, defaults filled in."""

    name: str
    rule: str
    workflow: dict[str, Any]
    client_graph: str
    task: dict[str, Any]
    exchanges: list[dict[str, Any]]
    programs: dict[str, list[dict[str, Any]]]
    capture: dict[str, Any] | None
    runs: int
    expect: dict[str, Any]

    @property
    def is_plain(self) -> bool:
        return bool(self.workflow["type"] == "plain")


def problems_of(document: object) -> list[str]:
    """Everything in a parsed scenario that is against the format."""
    found = list(SCENARIO(document, "scenario"))
    return found or list(_problems_between_fields(document))


def _problems_between_fields(document: Any) -> Iterator[str]:
    runs, outcomes = document.get("runs", 1), document["expect"]["outcomes"]
    if len(outcomes) != runs:
        yield f"scenario.expect.outcomes: expected one per run, {runs} in all, got {len(outcomes)}"
    named = [name for name in PROGRAMS if name in document]
    is_plain = document["workflow"]["type"] == "plain"
    if is_plain and named != ["handler"]:
        yield f"scenario: a plain workflow has the program `handler` alone, got {named}"
    if not is_plain and (not named or "handler" in named):
        yield f"scenario: a triggered workflow has one or more of {list(PROGRAMS[1:])}, got {named}"
    if "captured" in document["expect"] and "capture" not in document:
        yield "scenario.expect.captured: nothing is captured without the field `capture`"


def parse(document: Any) -> Scenario:
    """The scenario of a parsed file. BadScenario names every problem."""
    if found := problems_of(document):
        raise BadScenario("\n".join(found))
    return Scenario(
        name=document["name"],
        rule=document["rule"],
        workflow=document["workflow"],
        client_graph=document.get("client_graph", "main"),
        task=document["task"],
        exchanges=document["exchanges"],
        programs={name: document[name] for name in PROGRAMS if name in document},
        capture=document.get("capture"),
        runs=document.get("runs", 1),
        expect=document["expect"],
    )


def load(path: Path) -> Scenario:
    """The scenario in a file. BadScenario names the file and every problem."""
    try:
        return parse(json.loads(path.read_text("utf-8"), object_pairs_hook=_without_duplicates))
    except ValueError as exc:
        raise BadScenario(f"{path.name}: {exc}") from exc


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key written twice would hide the first of the two from the runner."""
    keys = [key for key, _ in pairs]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise BadScenario(f"keys written twice: {twice}")
    return dict(pairs)
