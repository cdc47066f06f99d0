"""The activities of executions: `chat` with a model, `http` with a host (decisions 30 and 50).

Secrets and the allow-list stay in the server: a request names a secret, an answer holds none. Only keys of scope
`runtime`, the flow workers', may ask.
"""

from typing import Any

import httpx
import msgspec
from msgspec import UNSET, Raw

from turnbuckle.http.activities import Activities, Gone, Job
from turnbuckle.models.openai import OpenAiProvider
from turnbuckle.models.provider import CallFailed, Conversation, Reply
from turnbuckle.models.roster import Models, Seat
from turnbuckle.models.sending import Sender
from turnbuckle.models.settings import OpenAiSettings
from turnbuckle.operations import activity
from turnbuckle.operations.caller import Caller
from turnbuckle.outside.address import CheckedTransport, NotAllowed, port_of
from turnbuckle.outside.request import Answered, Asked, HttpOutside, NoAnswer
from turnbuckle.outside.settings import Outside
from turnbuckle.wire import limits
from turnbuckle.wire.activity import (
    ActivityRequest,
    ChatActivityRequest,
    ChatActivityResponse,
    HttpActivityRequest,
    HttpActivityResponse,
)
from turnbuckle.wire.errors import Refused

_NOBODY: Any = None  # no model is called
_BODY = "application/json"
_TEXT = "text/plain; charset=utf-8"


class OutsideActivities:
    def __init__(self, activities: Activities, models: Models, outside: Outside) -> None:
        self._activities = activities
        self._models = models
        self._outside = outside
        self._http = HttpOutside(outside)

    async def aclose(self) -> None:
        await self._http.aclose()

    # -- chat ----------------------------------------------------------------------------------------------------

    async def chat(
        self, graph_id: str, request: ChatActivityRequest, caller: Caller, gone: Gone
    ) -> ChatActivityResponse:
        """The text with which a conversation goes on."""
        _check_caller(caller)
        if sum(len(message.content) for message in request.messages) > limits.CHAT_CHARS:
            what = f"messages: got over {limits.CHAT_CHARS:,} characters together"
            raise Refused("invalid_param", what, param="messages")
        inputs = _inputs(request)
        asked = activity.ask(graph_id, caller, "chat", request, inputs, request.messages[-1].content)
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        conversation = Conversation(messages, request.max_tokens, request.temperature)
        return await self._activities.answer(
            Job(
                asked,
                ChatActivityResponse,
                lambda seat: _conversed(seat, conversation),
                lambda reply, cost: ChatActivityResponse(
                    text=reply.value,
                    model=reply.model,
                    tokens_in=reply.tokens_in,
                    tokens_out=reply.tokens_out,
                    cost_micro_usd=cost,
                    cached=False,
                ),
                lambda answer: msgspec.json.encode(answer.text),
                self._seat(request),
            ),
            gone,
        )

    def _seat(self, request: ChatActivityRequest) -> Seat | None:
        """Another model than the server's own, or another endpoint; None for the server's."""
        if request.base_url is not None:
            return self._seat_at(request.base_url, request)
        if request.model is None:
            return None
        try:
            return self._models.serving("chat")._replace(model=request.model)
        except Refused:
            return None  # a stored answer needs no model; without one the same refusal comes again

    def _seat_at(self, base_url: str, request: ChatActivityRequest) -> Seat:
        """An endpoint of its own, under the same allow-list as any other host."""
        if request.model is None:
            raise Refused("invalid_param", "model: base_url needs a model beside it", param="model")
        try:
            url = httpx.URL(base_url)
            settings = msgspec.convert({"kind": "openai", "url": base_url, "retries": 0}, OpenAiSettings)
        except (httpx.InvalidURL, msgspec.ValidationError) as exc:
            raise Refused("invalid_param", f"base_url: {base_url[:200]!r} is no address", param="base_url") from exc
        secret = None
        if request.credential is not None:
            secret = self._outside.secret(request.credential, url.host, port_of(url))
            if secret is None:
                what = f"the server has no secret {request.credential!r} for {url.host}"
                raise Refused("activity_request_refused", what)
        sender = Sender("base_url", settings, secret, transport=CheckedTransport(self._outside))
        return Seat(url.host, request.model, OpenAiProvider(settings, sender))

    # -- http ----------------------------------------------------------------------------------------------------

    async def http(
        self, graph_id: str, request: HttpActivityRequest, caller: Caller, gone: Gone
    ) -> HttpActivityResponse:
        """A host's answer, whatever its status."""
        _check_caller(caller)
        asked = activity.ask(graph_id, caller, "http", request, _inputs(request), f"{request.method} {request.url}")
        wanted = _wanted(request)
        host = httpx.URL(request.url).host if _is_url(request.url) else ""
        return await self._activities.answer(
            Job(
                asked,
                HttpActivityResponse,
                lambda seat: self._send(wanted),
                lambda reply, cost: _told(reply.value),
                lambda answer: msgspec.json.encode(answer.status),
                Seat("http", host, _NOBODY),
            ),
            gone,
        )

    async def _send(self, wanted: Asked) -> Reply[Answered]:
        try:
            return Reply(await self._http.send(wanted), "", 0)
        except NotAllowed as exc:
            raise CallFailed("activity_request_refused", str(exc)) from exc
        except NoAnswer as exc:
            raise CallFailed("http_unavailable", str(exc)) from exc


async def _conversed(seat: Seat, conversation: Conversation) -> Reply[str]:
    try:
        return await seat.provider.chat(seat.model, conversation)
    except NotAllowed as exc:
        raise CallFailed("activity_request_refused", str(exc)) from exc


def _check_caller(caller: Caller) -> None:
    if caller.scope != "runtime":
        raise Refused("forbidden", f"the key's scope is {caller.scope}; this call is for flow workers")


def _inputs(request: ActivityRequest) -> dict[str, Any]:
    """What makes it another request: all but who asks."""
    fields = {name: getattr(request, name) for name in request.__struct_fields__}
    return {
        name: value
        for name, value in fields.items()
        if name not in ActivityRequest.__struct_fields__ and value is not None and value is not UNSET
    }


def _wanted(request: HttpActivityRequest) -> Asked:
    if request.text is not None and isinstance(request.json, Raw):
        raise Refused("invalid_param", "text: got it beside json, expected one of the two", param="text")
    content, kind = None, None
    if isinstance(request.json, Raw):
        content, kind = bytes(request.json), _BODY
    elif request.text is not None:
        content, kind = request.text.encode(), _TEXT
    assert request.effect_id is not None
    return Asked(
        request.method,
        request.url,
        request.headers or {},
        content,
        kind,
        None if request.timeout_s is None else float(request.timeout_s),
        request.credential,
        request.effect_id,
    )


def _told(answered: Answered) -> HttpActivityResponse:
    if answered.json is not None:
        return HttpActivityResponse(status=answered.status, headers=answered.headers, json=Raw(answered.json))
    return HttpActivityResponse(status=answered.status, headers=answered.headers, text=answered.text)


def _is_url(text: str) -> bool:
    try:
        httpx.URL(text)
    except httpx.InvalidURL:
        return False
    return True
