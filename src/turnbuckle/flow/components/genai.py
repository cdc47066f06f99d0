"""genai.*: conversations with models, by the server's activity `chat`, which holds keys, prices and budgets."""

from typing import Any, Final

from lbb.workflows import WorkflowStepContext
from turnbuckle.flow.activities import activity
from turnbuckle.flow.context import ComponentContext, ComponentRun
from turnbuckle.flow.failures import ComponentFailed
from turnbuckle.hub.position import Outcome
from turnbuckle.hub.value import create_message, message_text, messages_of

_CHAT_S = 600.0
_ROLES = ("system", "user", "assistant")


async def chat(c: ComponentContext) -> Outcome:
    messages = _messages(c)
    if not messages:
        raise ComponentFailed("bad_input", "neither `messages` nor `message` has a text to answer")
    if c.is_dry_run:
        c.captured("would ask the model", messages=len(messages))
        return Outcome("success", {"message": create_message("assistant", "(dry run)")})
    asked = {"messages": messages} | _settings(c)

    async def ask(s: WorkflowStepContext) -> Any:
        return await activity(c, s, "chat", asked)

    answer = await c.step("", ask, timeout_s=_CHAT_S)
    return Outcome("success", {"message": create_message("assistant", answer["text"])})


def _messages(c: ComponentContext) -> list[dict[str, str]]:
    """The texts of the conversation: `messages`, then `message`."""
    found = [*messages_of(c.inputs.get("messages")), *messages_of(c.inputs.get("message"))]
    read = ((message.get("role"), message_text(message)) for message in found)
    return [{"role": role if role in _ROLES else "user", "content": text} for role, text in read if text]


def _settings(c: ComponentContext) -> dict[str, Any]:
    found = {name: c.setting(name) for name in ("model", "base_url", "temperature", "max_tokens")}
    found["credential"] = c.credential()
    return {name: value for name, value in found.items() if value is not None}


async def echo(c: ComponentContext) -> Outcome:
    """The last text of a user, or of anybody where no user wrote one."""
    messages = _messages(c)
    by_user = [message["content"] for message in messages if message["role"] == "user"]
    text = (by_user or [message["content"] for message in messages] or [""])[-1]
    return Outcome("success", {"message": create_message("assistant", text)})


RUNS: Final[dict[str, ComponentRun]] = {"genai.chat.openai": chat, "genai.chat.echo": echo}
