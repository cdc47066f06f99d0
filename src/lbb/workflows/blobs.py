"""Blobs: bytes kept beside the engine under their SHA-256, for outputs too large for a step (lbb-engine 3.20)."""

import json
from typing import TYPE_CHECKING, Any

from lbb.models import WorkflowBlob
from lbb.workflows import limits
from lbb.workflows.json_rules import encode_json

if TYPE_CHECKING:
    from lbb.async_client import AsyncLbbClient

_PATH = "/v1/workflows/blobs"


async def fetch_blob(client: "AsyncLbbClient", key: str) -> bytes:
    """The bytes of a blob; LbbError 404 for an unknown key."""
    answer = await client.binary_request("GET", _PATH, params={"key": key})
    data: bytes = answer.data
    return data


def read_json(data: bytes, key: str) -> Any:
    """ValueError when the blob holds no JSON."""
    try:
        return json.loads(data)
    except ValueError as exc:
        raise ValueError(f"blob {key!r} holds no JSON: {exc}") from exc


class WorkflowBlobsNamespace:
    """`client.workflows.blobs`. A blob lives while an instance mentions its key, and at least a day."""

    def __init__(self, client: "AsyncLbbClient") -> None:
        self._client = client

    async def put(self, data: bytes | str, *, workflow_id: str) -> WorkflowBlob:
        """Keep the bytes (a text as UTF-8) for the instance. The same bytes get the same key.

        ValueError for more than 8 MiB, before anything is sent.
        """
        content = data.encode() if isinstance(data, str) else bytes(data)
        if len(content) > limits.BLOB_BYTES:
            raise ValueError(f"a blob is at most {limits.BLOB_BYTES:,} bytes, got {len(content):,}")
        answer = await self._client.raw_request(
            "POST", _PATH, params={"workflow_id": workflow_id}, content=content, options={"retry": True}
        )
        return answer.model(WorkflowBlob)

    async def get(self, key: str) -> bytes:
        """LbbError 404 for an unknown key."""
        return await fetch_blob(self._client, key)

    async def get_text(self, key: str) -> str:
        return (await self.get(key)).decode()

    async def put_json(self, value: Any, *, workflow_id: str) -> WorkflowBlob:
        """Keep the value as compact, unescaped UTF-8 JSON."""
        return await self.put(encode_json(value, "blob").text, workflow_id=workflow_id)

    async def get_json(self, key: str) -> Any:
        return read_json(await self.get(key), key)
