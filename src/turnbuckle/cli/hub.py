"""`turnbuckle hub`: blobs with definitions, what runs there, and what runs on a schedule (blobhub)."""

import click

from turnbuckle.cli.lazy import LazyGroup

_MODULES = {  # command: its module
    "definitions": "hub_definitions",
    "deploy": "hub_deploy",
    "diff": "hub_deploy",
    "init": "hub_init",
    "keys": "hub_keys",
    "pull": "hub_pull",
    "revisions": "hub_revisions",
    "run": "hub_run",
    "schedules": "hub_schedules",
    "sessions": "hub_sessions",
}
_EPILOG = (
    "`init` and `keys` work on the store itself. The others talk to a server as the blobhub SDK does: key and URL are "
    "BLOBHUB_API_KEY and BLOBHUB_API_URL, else those of a profile that `init --profile NAME` wrote, and the URL else "
    "http://127.0.0.1:7400/v1."
)


@click.group(cls=LazyGroup, modules=_MODULES, epilog=_EPILOG)
def hub() -> None:
    """Deploy definitions to blobs, and run them."""
