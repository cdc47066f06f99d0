"""One request sent, one answer read, and what is said when that fails (blobhub 4.11).

httpx's exceptions can hold the request, so the credential: their text is not shown and they are not chained.
"""

from collections.abc import Mapping

import httpx

from blobhub.errors import BlobHubError, NetworkError, RequestNotSent, ServerError
from blobhub.request import ApiRequest
from blobhub.version import USER_AGENT

# Shorter than the 5 s after which common servers close an idle connection: a write is not repeated once it may have
# been read, so it should not meet a connection that is just being closed.
KEEP_IDLE_SECONDS = 4.0


def open_http(transport: httpx.BaseTransport | None, timeout_seconds: float) -> httpx.Client:
    """A client that follows no redirect, for that could carry the credential elsewhere."""
    return httpx.Client(
        transport=transport,
        timeout=timeout_seconds,
        limits=httpx.Limits(keepalive_expiry=KEEP_IDLE_SECONDS),
        headers={"user-agent": USER_AGENT},
        follow_redirects=False,
    )


def exchange(
    http: httpx.Client, url: httpx.URL | str, request: ApiRequest, credential: Mapping[str, str]
) -> httpx.Response:
    """The answer, read to its end. RequestNotSent, NetworkError, or ServerError when it cannot be decompressed."""
    try:
        return http.request(
            request.method,
            url,
            params=request.params,
            content=request.content,
            headers={**request.headers, **credential},
        )
    except httpx.RequestError as error:
        failure = _failure(error)
    # Raised out here, so that the exception of httpx is not its context either.
    raise failure


def _failure(error: httpx.RequestError) -> BlobHubError:
    kind = type(error).__name__
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return RequestNotSent("request_not_sent", f"the server cannot be reached ({kind}); nothing was sent")
    if isinstance(error, httpx.DecodingError):
        return ServerError("invalid_response", "the answer cannot be decompressed")
    return NetworkError("network_error", f"no answer came ({kind}); the request may have run")
