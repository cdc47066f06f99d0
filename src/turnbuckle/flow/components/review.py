"""review.ask: a question to a person as a review item of the engine; the run waits for its answer."""

import json
from typing import Any, Final

from lbb.workflows import WorkflowStepContext
from turnbuckle.flow.context import ComponentContext, ComponentRun
from turnbuckle.flow.failures import ComponentFailed
from turnbuckle.hub.position import Outcome
from turnbuckle.hub.value import create_value

_YEAR_S = 365 * 86_400
_TITLE, _PROMPT, _QUOTE = 200, 4_000, 4_000  # characters, as the engine takes them


async def ask(c: ComponentContext) -> Outcome:
    """By the result named like the chosen option where an edge leads on from it, else `answered`."""
    timeout_s = c.whole_setting("timeout_s", None, 1, _YEAR_S)
    asked = _question(c)
    if c.is_dry_run:
        c.captured(f"would ask a person: {asked['title']}")
        return Outcome("answered", {"answer": create_value("json", {"decision": "cant_tell", "dry_run": True})})
    c.reserve(3)

    async def file(s: WorkflowStepContext) -> Any:
        ctx = c.steps.ctx
        wait = {"identity": ctx.workflow_id, "turn": ctx.turn, "signal": ""}
        item = await c.client.reviews.create({**asked, "key": f"{c.run.execution_id}/{c.key}", "wait": wait})
        return {"id": item["id"], "signal": item["wait"]["signal"], "answer": item.get("answer")}

    filed = await c.step("ask", file)
    if filed["answer"] is not None:
        return _answered(c, filed["answer"])
    wait_ms = None if timeout_s is None else timeout_s * 1_000
    heard = await c.wait("answer", signal=filed["signal"], timeout_ms=wait_ms)
    if heard.received:
        return _answered(c, heard.value)

    async def read(s: WorkflowStepContext) -> Any:
        item = await c.client.reviews.get(filed["id"])
        return {"status": item["status"], "answer": item.get("answer")}

    late = await c.step("read", read)
    if late["answer"] is not None:  # an answer whose signal came too late still counts
        return _answered(c, late["answer"])
    return Outcome("withdrawn" if late["status"] == "withdrawn" else "timeout")


def _question(c: ComponentContext) -> dict[str, Any]:
    text = _text(c.plain("question"))
    if not text:
        raise ComponentFailed("bad_input", "`question` is empty")
    options = c.setting("options")
    title = str(c.setting("title") or text)[:_TITLE]
    asked: dict[str, Any] = {"title": title, "rationale": text[:_PROMPT]}
    if options:
        asked |= {"kind": "choice", "question": {"options": _options(options)}}
    else:
        asked |= {"kind": "answer", "question": {"prompt": text[:_PROMPT]}}
    if (evidence := _text(c.plain("evidence"))) != "":
        asked["evidence"] = [{"quote": evidence[:_QUOTE]}]
    origin = {"kind": "agent", "id": str(c.run.definition.get("alias"))[:255], "label": c.component.title[:_TITLE]}
    return asked | {"origin": origin}


def _options(given: Any) -> list[dict[str, str]]:
    if not isinstance(given, list) or not all(isinstance(one, dict) and "id" in one for one in given):
        raise ComponentFailed("bad_setting", "the setting `options` is no list of objects with an `id`")
    return [{"id": str(one["id"]), "label": str(one.get("label") or one["id"])[:_TITLE]} for one in given]


def _text(contents: Any) -> str:
    if contents is None:
        return ""
    return contents if isinstance(contents, str) else json.dumps(contents, ensure_ascii=False)


def _answered(c: ComponentContext, answer: dict[str, Any]) -> Outcome:
    option = answer.get("option")
    outputs = {"answer": create_value("json", answer)}
    if not isinstance(option, str):
        return Outcome("answered", outputs)
    outputs["choice"] = create_value("choice", option)
    is_wired = bool(c.wiring.targets(c.component.index, option))
    return Outcome(option if is_wired else "answered", outputs)


RUNS: Final[dict[str, ComponentRun]] = {"review.ask": ask}
