"""io.*: the world outside: HTTP through the server, a person's next item in a thread, time."""

from typing import Any, Final

from lbb.workflows import WorkflowStepContext
from turnbuckle.flow.activities import activity
from turnbuckle.flow.context import ComponentContext, ComponentRun
from turnbuckle.flow.failures import ComponentFailed
from turnbuckle.flow.hub_calls import HubRefusal
from turnbuckle.hub.position import Outcome
from turnbuckle.hub.value import create_message, create_value, messages_of, plain, value_of

_HTTP_S = 120
_DAY_S = 86_400
_YEAR_S = 365 * _DAY_S


async def http(c: ComponentContext) -> Outcome:
    """`success` for an answer of 200 to 299, else `failure`; the server's allow-list decides whether it is sent."""
    url = c.plain("url")
    if not isinstance(url, str) or not url:
        raise ComponentFailed("bad_input", f"`url` is {url!r:.100}, expected a text")
    asked = _request(c, url)
    if c.is_dry_run:
        c.captured(f"would send {asked['method']} {url}", method=asked["method"], url=url)
        return Outcome("success", {"status": value_of(200), "headers": create_value("json", {})})

    async def send(s: WorkflowStepContext) -> Any:
        return await activity(c, s, "http", asked)

    return _answered(asked, await c.step("", send, timeout_s=_HTTP_S + 60))


def _answered(asked: dict[str, Any], answer: dict[str, Any]) -> Outcome:
    outputs = {
        "status": value_of(answer["status"]),
        "headers": create_value("json", answer["headers"]),
        "body": create_value("json", answer["json"]) if "json" in answer else create_value("text", answer["text"]),
    }
    if 200 <= answer["status"] < 300:
        return Outcome("success", outputs)
    what = f"{asked['method']} {asked['url']} was answered {answer['status']}"
    raise ComponentFailed("http_status", what, outputs)


def _request(c: ComponentContext, url: str) -> dict[str, Any]:
    asked: dict[str, Any] = {"method": str(c.setting("method", "GET")).upper(), "url": url}
    headers = c.setting("headers")
    if headers is not None:
        if not isinstance(headers, dict) or not all(isinstance(text, str) for text in headers.values()):
            raise ComponentFailed("bad_setting", "the setting `headers` is no object of texts")
        asked["headers"] = headers
    body = c.inputs.get("body")
    if body is not None and (contents := plain(body)) is not None:
        asked |= {"text": contents} if body.get("type") in ("text", "string", "message") else {"json": contents}
    timeout_s = c.whole_setting("timeout_s", None, 1, _HTTP_S)
    credential = c.credential()
    asked |= {} if timeout_s is None else {"timeout_s": timeout_s}
    return asked | ({} if credential is None else {"credential": credential})


async def wait_input(c: ComponentContext) -> Outcome:
    """Posts the prompt and goes on at the next item by somebody else; no worker is held meanwhile."""
    alias = c.text_setting("alias")
    timeout_s = c.whole_setting("timeout_s", None, 1, _YEAR_S)
    prompt = c.inputs.get("prompt")
    if c.is_dry_run:
        c.captured(f"would ask in the thread {alias} and wait for a reply")
        return Outcome("success", {"reply": create_message("user", "(dry run)")})
    c.reserve(3)
    signal = f"reply.{c.key}"[:128]

    async def ask(s: WorkflowStepContext) -> None:
        await _make_thread(c, alias)
        after = await _post(c, alias, prompt) if prompt is not None else await _last(c, alias)
        await c.hub.wait(
            execution_id=c.run.execution_id,
            workflow_id=c.steps.ctx.workflow_id,
            turn=c.steps.ctx.turn,
            signal=signal,
            on="thread",
            target=alias,
            **({} if after is None else {"after": after}),
        )

    await c.step("ask", ask)
    heard = await c.wait("reply", signal=signal, timeout_ms=None if timeout_s is None else timeout_s * 1_000)
    if not heard.received:
        return Outcome("timeout")
    item_id = heard.value["item_id"]

    async def read(s: WorkflowStepContext) -> Any:
        return (await c.query("get_session_thread_item", alias=alias, item_id=item_id))["item"]["content"]

    content = await c.step("read", read)
    return Outcome("success", {"reply": {"type": "message", "message": {"role": "user", "content": content}}})


async def _make_thread(c: ComponentContext, alias: str) -> None:
    try:
        await c.query("download_session_object", alias=alias)
    except HubRefusal as refusal:
        if refusal.code != "not_found":
            raise
        thread = {"type": "thread", "thread": {"attributes": {}, "metadata": {}}}
        await c.command("upload_session_object", alias=alias, value=thread)


async def _post(c: ComponentContext, alias: str, prompt: Any) -> str:
    messages = messages_of(prompt)
    text = create_message("assistant", str(plain(prompt)))["message"]["content"]
    content = [block for message in messages for block in message.get("content") or []] or text
    answer = await c.command("post_session_thread_item", alias=alias, content=content)
    return str(answer["item"]["id"])


async def _last(c: ComponentContext, alias: str) -> str | None:
    items = (await c.query("list_session_thread_items", alias=alias, limit=1))["items"]
    return items[0]["id"] if items else None


async def sleep(c: ComponentContext) -> Outcome:
    """An engine timer: no worker is held."""
    seconds = c.whole_setting("seconds", None, 0, _YEAR_S)
    if seconds is None:
        raise ComponentFailed("missing_setting", "the setting `seconds` is absent")
    if c.is_dry_run:
        c.captured(f"would sleep {seconds} s")
    else:
        await c.sleep("sleep", seconds * 1_000)
    return Outcome("next")


RUNS: Final[dict[str, ComponentRun]] = {"io.http": http, "io.wait_input": wait_input, "io.sleep": sleep}
