"""Routes outside any graph: what the server says of itself, without a key."""

from typing import TYPE_CHECKING

from turnbuckle import CONTRACT_VERSION, __version__
from turnbuckle.store import migrate
from turnbuckle.wire.server import Health, Version

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
