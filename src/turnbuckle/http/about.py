"""What the server process says of itself; all but `served` without a key and outside any graph."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from turnbuckle import CONTRACT_VERSION, __version__
from turnbuckle.store import migrate
from turnbuckle.wire.server import Health, NoQuery, Version, WorkflowServedResponse

if TYPE_CHECKING:
    from turnbuckle.http.app import App

CAPABILITIES = ("workflows", "workflow_runs")


def health(app: "App") -> Health:
    return Health(
        status="draining" if app.room.is_closed else "ok",
        mode=app.config.mode,
        store=app.store.database.kind,
    )


def version(app: "App") -> Version:
    return Version(
        version=CONTRACT_VERSION,
        built_at="",
        git_commit="",
        persisted_format=str(migrate.newest()),
        capabilities=list(CAPABILITIES) if app.config.workflows else [],
        server=f"turnbuckle/{__version__}",
    )


async def served(
    app: "App", graph_id: str, query: NoQuery, gone: Callable[[], Awaitable[None]]
) -> WorkflowServedResponse:
    """Which types and versions of the graph workers have claimed from this process."""
    return app.served.of_graph(graph_id, await app.store.read(lambda tx: tx.now_ms))
