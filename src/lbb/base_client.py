"""What the sync and the async client share: everything that does not touch the network."""

import random
import time
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from lbb.answer import RawLbbResponse, answer
from lbb.idempotency import new_key
from lbb.request import PreparedRequest, RequestBuilder
from lbb.retry import Chance, Tries
from lbb.retry_event import RetryEvent
from lbb.sender import SenderReply
from lbb.settings import ClientSettings

DEFAULT_URL = "http://127.0.0.1:7400"
CONTRACT_VERSION = "2026-10-21"

Transport = TypeVar("Transport")
EventHooks = Mapping[str, list[Callable[..., Any]]]


class BaseClient(Generic[Transport]):
    """The settings of a client and the requests and answers they give. The two clients add the sending."""

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        graph: str | None = None,
        environment: str | None = None,
        api_version: str = CONTRACT_VERSION,
        max_retries: int = 6,
        retry_delay: float = 0.1,
        retry_budget_ms: float = 60_000.0,
        on_retry: Callable[[RetryEvent], object] | None = None,
        timeout: float = 120.0,
        transport: Transport | None = None,
        event_hooks: EventHooks | None = None,
        default_consistency: str | None = None,
        integrations_url: str | None = None,
    ) -> None:
        """The arguments are described in lbb-engine 2.2.

        `graph` None leaves the choice to the server (`main`); `environment` is the wire's `stack`; `retry_delay` and
        `timeout` are seconds. `transport` is an httpx transport for tests or proxies, `event_hooks` are httpx's.
        """
        self._settings = ClientSettings(
            base_url=base_url,
            api_key=api_key,
            graph=graph,
            environment=environment,
            api_version=api_version,
            max_retries=max_retries,
            retry_delay=retry_delay,
            retry_budget_ms=retry_budget_ms,
            on_retry=on_retry,
            timeout=timeout,
            default_consistency=default_consistency,
            integrations_url=integrations_url,
        )
        self._transport_given = transport is not None
        self._requests = RequestBuilder(self._settings)
        self._chance = Chance(time.monotonic, time.time, random.uniform)
        self._capabilities: frozenset[str] = frozenset()  # those the server is known to list
        self._open(transport, event_hooks)

    def _open(self, transport: Transport | None, event_hooks: EventHooks | None) -> None:
        """Make the sender. No connection is opened yet."""
        raise NotImplementedError

    @property
    def base_url(self) -> str:
        """Without a trailing slash."""
        return self._settings.base_url

    @property
    def graph_name(self) -> str | None:
        return self._settings.graph

    @property
    def default_consistency(self) -> str | None:
        """How graph reads see the newest commits unless a call says otherwise."""
        return self._settings.default_consistency

    def idempotency_key(self, prefix: str = "request") -> str:
        """A new key `<prefix>:<Unix microseconds>:<32 hex>`. Keep it to send the same request again."""
        return new_key(prefix)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r}, graph={self.graph_name!r})"

    def _now_ms(self) -> int:
        """Unix milliseconds by this client's clock."""
        return int(self._chance.unix_time() * 1000)

    def _tries(self, request: PreparedRequest) -> Tries:
        return Tries(request, self._chance, self._settings.on_retry)

    def _learn(self, version: Any) -> None:
        self._capabilities = frozenset(version.get("capabilities") or ())

    def _answer(self, reply: SenderReply, tries: Tries, *, binary: bool) -> RawLbbResponse:
        return answer(reply, tries, self._chance.unix_time, binary=binary)
