"""The routes beside the data channel, one row each (blobhub 2.3, 2.4); `run` is one operation in one transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import msgspec

from turnbuckle.operations import anonymous, hub_blob, hub_place, hub_revision, hub_run
from turnbuckle.operations.hub_place import Visitor, denied
from turnbuckle.store.transaction import Transaction
from turnbuckle.wire.hub_blob import (
    HubCommitRevisionRequest,
    HubCreateKeyRequest,
    HubCreateRevisionRequest,
    HubListRevisionsQuery,
    HubRefreshTokenRequest,
    HubSetDefaultRevisionRequest,
)
from turnbuckle.wire.hub_run import HubPostEventsRequest, HubRunQuery, HubWaitRequest
from turnbuckle.wire.server import NoQuery

Path = dict[str, str]
Answer = dict[str, Any]


@dataclass(frozen=True)
class Route:
    method: str
    path: str  # `/v1/blobs/{org}/{blob}`
    run: Callable[..., Answer]  # (transaction, visitor, path, body or query)
    summary: str
    body: type[msgspec.Struct] | None = None
    query: type[msgspec.Struct] = NoQuery
    is_write: bool = False
    is_open: bool = False  # without a credential (decision 20): `run` gets the environment in place of a visitor
    is_of_runner: bool = False  # for keys of scope `runtime`

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path.split("/")[1:])


def _mint(tx: Transaction, environment: str, path: Path, query: NoQuery) -> Answer:
    return anonymous.mint(tx, environment)


def _refresh(tx: Transaction, environment: str, path: Path, request: HubRefreshTokenRequest) -> Answer:
    return anonymous.refresh(tx, request.refresh_token)


def _me(tx: Transaction, visitor: Visitor, path: Path, query: NoQuery) -> Answer:
    return hub_blob.me(tx, visitor)


def _my_orgs(tx: Transaction, visitor: Visitor, path: Path, query: NoQuery) -> Answer:
    return hub_blob.my_orgs(tx, visitor)


def _blob(tx: Transaction, visitor: Visitor, path: Path, query: NoQuery) -> Answer:
    return hub_blob.get(tx, visitor, hub_place.blob(tx, visitor, path["org"], path["blob"]))


def _limits(tx: Transaction, visitor: Visitor, path: Path, query: NoQuery) -> Answer:
    return hub_blob.limits(tx, visitor, hub_place.blob(tx, visitor, path["org"], path["blob"]))


def _revisions(tx: Transaction, visitor: Visitor, path: Path, query: HubListRevisionsQuery) -> Answer:
    return hub_revision.list_page(tx, visitor, hub_place.blob(tx, visitor, path["org"], path["blob"]), query)


def _create_revision(tx: Transaction, visitor: Visitor, path: Path, request: HubCreateRevisionRequest) -> Answer:
    return hub_revision.create(tx, visitor, hub_place.blob(tx, visitor, path["org"], path["blob"]), request)


def _set_default(tx: Transaction, visitor: Visitor, path: Path, request: HubSetDefaultRevisionRequest) -> Answer:
    return hub_revision.set_default(tx, visitor, hub_place.blob(tx, visitor, path["org"], path["blob"]), request)


def _revision_of_blob(tx: Transaction, visitor: Visitor, path: Path, query: NoQuery) -> Answer:
    blob = hub_place.blob(tx, visitor, path["org"], path["blob"])
    return hub_revision.get_of_blob(tx, visitor, blob, path["ref"])


def _revision(tx: Transaction, visitor: Visitor, path: Path, query: NoQuery) -> Answer:
    return hub_revision.get(tx, visitor, hub_place.place(tx, visitor, path["revision"]))


def _commit(tx: Transaction, visitor: Visitor, path: Path, request: HubCommitRevisionRequest) -> Answer:
    return hub_revision.commit(tx, visitor, hub_place.place(tx, visitor, path["revision"], lock=True), request)


def _metadata(tx: Transaction, visitor: Visitor, path: Path, query: NoQuery) -> Answer:
    return hub_revision.metadata(tx, visitor, hub_place.place(tx, visitor, path["revision"]), path["key"])


def _operation(tx: Transaction, visitor: Visitor, path: Path, query: NoQuery) -> Answer:
    return hub_revision.operation(tx, visitor, path["operation"])


def _org_key(tx: Transaction, visitor: Visitor, path: Path, request: HubCreateKeyRequest) -> Answer:
    return hub_blob.create_api_key(tx, visitor, "org", path["org"], request)


def _blob_key(tx: Transaction, visitor: Visitor, path: Path, request: HubCreateKeyRequest) -> Answer:
    return hub_blob.create_api_key(tx, visitor, "blob", path["blob"], request)


def _run(tx: Transaction, visitor: Visitor, path: Path, query: HubRunQuery) -> Answer:
    return hub_run.get(tx, visitor, query)


def _post_events(tx: Transaction, visitor: Visitor, path: Path, request: HubPostEventsRequest) -> Answer:
    return hub_run.post_events(tx, visitor, request)


def _wait(tx: Transaction, visitor: Visitor, path: Path, request: HubWaitRequest) -> Answer:
    return hub_run.wait(tx, visitor, request)


_BLOB, _REVISION, _EXECUTIONS = "/v1/blobs/{org}/{blob}", "/v1/revisions/{revision}", "/v1/hub/executions"

ROUTES: tuple[Route, ...] = (
    Route("GET", "/v1/auth/core/anonymous", _mint, "Tokens of a caller without a key.", is_write=True, is_open=True),
    Route("POST", "/v1/auth/core/refresh", _refresh, "A new access token.", HubRefreshTokenRequest, is_write=True,
          is_open=True),
    Route("GET", "/v1/users/me", _me, "Who the credential is."),
    Route("GET", "/v1/users/me/orgs", _my_orgs, "The organizations it reaches; 403 for a key of one."),
    Route("GET", _BLOB, _blob, "One blob; org and blob each by id or alias."),
    Route("GET", f"{_BLOB}/limits", _limits, "Its limits, in groups."),
    Route("GET", f"{_BLOB}/revisions", _revisions, "Its revisions, newest first.", query=HubListRevisionsQuery),
    Route("POST", f"{_BLOB}/revisions", _create_revision, "A draft made from the committed default.",
          HubCreateRevisionRequest, is_write=True),
    Route("GET", f"{_BLOB}/revisions/{{ref}}", _revision_of_blob, "One revision, by id or `default`."),
    Route("POST", f"{_BLOB}/default_revision", _set_default, "Ours: what `default` means from now on.",
          HubSetDefaultRevisionRequest, is_write=True),
    Route("GET", _REVISION, _revision, "One revision by its id alone."),
    Route("POST", f"{_REVISION}/commit", _commit, "Freeze a draft.", HubCommitRevisionRequest, is_write=True),
    Route("GET", f"{_REVISION}/metadata/{{key}}", _metadata, "Metadata of a revision: `readme`."),
    Route("GET", "/v1/operations/{operation}", _operation, "A job on a revision."),
    Route("POST", "/v1/orgs/{org}/api_keys", _org_key, "A key for one organization.", HubCreateKeyRequest,
          is_write=True),
    Route("POST", "/v1/blobs/{blob}/api_keys", _blob_key, "A key for one blob.", HubCreateKeyRequest, is_write=True),
    Route("GET", f"{_EXECUTIONS}/run", _run, "What a run needs; the first call starts it.", query=HubRunQuery,
          is_write=True, is_of_runner=True),
    Route("POST", f"{_EXECUTIONS}/events", _post_events, "Events of a run.", HubPostEventsRequest, is_write=True,
          is_of_runner=True),
    Route("POST", f"{_EXECUTIONS}/wait", _wait, "What a turn waits for.", HubWaitRequest, is_write=True,
          is_of_runner=True),
)  # fmt: skip
DATA = ("v1", "revisions", "{revision}", "data", "{channel}")
PREFIXES = tuple(sorted({"/".join(route.path.split("/")[:3]) for route in ROUTES}))  # `/v1/blobs` and the like


def check_runner(route: Route, visitor: Visitor) -> None:
    if route.is_of_runner and visitor.scope != "runtime":
        raise denied("a route for this key")


def segments_of(raw_path: bytes) -> tuple[str, ...] | None:
    """The path's parts, each percent-decoded by itself; None when one is empty or no UTF-8."""
    try:
        parts = tuple(unquote(part, errors="strict") for part in raw_path.decode("ascii").split("/")[1:])
    except UnicodeDecodeError:
        return None
    return parts if all(parts) else None


def match(pattern: tuple[str, ...], segments: tuple[str, ...]) -> Path | None:
    """The named parts of a path that fits."""
    if len(pattern) != len(segments):
        return None
    path = {}
    for wanted, part in zip(pattern, segments, strict=True):
        if wanted.startswith("{"):
            path[wanted[1:-1]] = part
        elif wanted != part:
            return None
    return path
