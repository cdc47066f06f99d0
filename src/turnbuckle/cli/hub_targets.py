"""What the targets of schedules name, looked up before anything is written (blobhub 7.1)."""

from typing import Any

from blobhub import Client, PermissionDenied, Revision
from blobhub.request import path_of
from turnbuckle.cli.hub_failure import HubFailure
from turnbuckle.cli.hub_remote import find_definition
from turnbuckle.cli.hub_server import blob_at, revision_at
from turnbuckle.hub.alias import is_alias
from turnbuckle.hub.limits import EXECUTIONS
from turnbuckle.hub_deploy.problem import Advisory

_SATURATED = 0.8  # of the executions that a session may hold


class Targets:
    """`make` lets missing sessions be made, under their alias. `advisories` fills, `made` has their aliases."""

    def __init__(self, client: Client, *, make: bool) -> None:
        self._client = client
        self._make = make
        self.made: list[str] = []
        self.advisories: list[Advisory] = []

    def resolve(self, target: dict[str, Any]) -> dict[str, Any]:
        """The target as the server will keep it: under a pinned revision with the session's id.

        HubFailure BLOB_*, REVISION_*, DEFINITION_NOT_ACCESSIBLE, SESSION_NOT_ACCESSIBLE.
        """
        place = target["target"]
        revision = self._revision(place, is_write=True)
        session = self._session(revision, place["session"])
        workflow = target["workflow"]
        home = self._revision(workflow) if "blob" in workflow else revision
        find_definition(home, workflow["definition"], "workflow")
        if session is None or place["revision"] == "default":
            return target
        return {**target, "target": {**place, "session": session["id"]}}

    def _revision(self, place: dict[str, Any], *, is_write: bool = False) -> Revision:
        name = "/".join(place[key] for key in ("org", "blob") if key in place)
        return revision_at(blob_at(self._client, name), place.get("revision", "default"), is_write=is_write)

    def _session(self, revision: Revision, name: str) -> dict[str, Any] | None:
        """None when it is missing and not to be made."""
        try:
            session: dict[str, Any] = revision.query("get_session", session_id=name)["session"]
        except PermissionDenied as error:
            if not is_alias(name):
                raise HubFailure("SESSION_NOT_ACCESSIBLE", f"the revision has no session {name}") from error
            if name not in self.made:
                self.made.append(name)
            return revision.command("create_session", alias=name)["session"] if self._make else None
        self._look_at_room(revision, session)
        return session

    def _look_at_room(self, revision: Revision, session: dict[str, Any]) -> None:
        held = (session.get("held") or {}).get(EXECUTIONS, 0)
        blob = revision.blob
        groups = self._client.request("GET", path_of("blobs", blob.org_id, blob.id, "limits"))["groups"]
        most = next((one["value"] for group in groups for one in group["limits"] if one["id"] == EXECUTIONS), None)
        if most is not None and held >= _SATURATED * most:
            name = session.get("alias") or session["id"]
            what = f"the session {name} holds {held} of {most} executions; a fire over that is refused"
            self.advisories.append(Advisory("SESSION_NEAR_SATURATION", what))
