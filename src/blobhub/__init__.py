"""`blobhub`: the client that runs deployed definitions. Start with `connect`; `blobhub.types.workflow` runs workflows.

`connecting` chooses key and URL (`profiles` reads the file), `client` offers the API, `blob`, `revision` and
`operation` are what it gives. Underneath: `request` (build), `exchange` (send once), `answer` (read), `retry`
(again?), `anonymous` (the token of a client without a key); `api` puts them together.
"""

from blobhub.blob import Blob
from blobhub.client import Client
from blobhub.connecting import connect
from blobhub.errors import (
    AuthError,
    BlobHubError,
    CommandError,
    ConfigError,
    Conflict,
    NetworkError,
    NotFound,
    OperationFailed,
    PermissionDenied,
    RateLimited,
    RequestNotSent,
    ServerError,
    TypeMismatch,
    WaitTimeout,
)
from blobhub.operation import Operation
from blobhub.revision import Revision
from blobhub.settings import Identity
from blobhub.version import __version__

__all__ = [
    "AuthError",
    "Blob",
    "BlobHubError",
    "Client",
    "CommandError",
    "ConfigError",
    "Conflict",
    "Identity",
    "NetworkError",
    "NotFound",
    "Operation",
    "OperationFailed",
    "PermissionDenied",
    "RateLimited",
    "RequestNotSent",
    "Revision",
    "ServerError",
    "TypeMismatch",
    "WaitTimeout",
    "__version__",
    "connect",
]
