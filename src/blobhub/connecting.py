"""`connect`, and the ladder that chooses key and URL (blobhub 4.2)."""

import os

import httpx

from blobhub.client import Client
from blobhub.errors import ConfigError
from blobhub.profiles import Profile, ProfileFile, default_path, read_profiles
from blobhub.settings import Settings

DEFAULT_API_URL = "http://127.0.0.1:7400/v1"


def connect(
    *,
    profile: str | None = None,
    api_key: str | None = None,
    api_url: str | None = None,
    anonymous: bool = False,
    transport: httpx.BaseTransport | None = None,
) -> Client:
    """A client. Nothing is sent yet.

    The key is the argument, else `BLOBHUB_API_KEY`, else the profile's; without one the client is anonymous.
    The URL is the argument, else `BLOBHUB_API_URL`, else the profile's, else a server on this machine.
    The profile is the argument, else `BLOBHUB_PROFILE`, else the file's `default`. Empty text counts as absent.

    `anonymous=True` reads neither the file nor the keys. `transport` serves API and part requests.

    ConfigError for the profile file, also when a key is given. ValueError for `anonymous` with a key or a profile.
    """
    if anonymous:
        if api_key or profile:
            raise ValueError("anonymous=True takes neither api_key nor profile")
        return Client(Settings(api_url=_url(api_url, None), source="anonymous"), transport=transport)
    name, chosen = _profile(profile, read_profiles(default_path()))
    source, key = _key(api_key, name, chosen)
    return Client(Settings(api_url=_url(api_url, chosen), source=source, api_key=key), transport=transport)


def _profile(argument: str | None, file: ProfileFile) -> tuple[str | None, Profile | None]:
    named = argument or os.environ.get("BLOBHUB_PROFILE")
    name = named or file.default
    if name is None:
        return None, None
    if name not in file.profiles:
        # A default is content of the file, which no text shows.
        what = f"profile {named!r}" if named else "the profile its `default` names"
        raise ConfigError("profile_not_found", f"{default_path()} does not have {what}")
    return name, file.profiles[name]


def _key(argument: str | None, name: str | None, chosen: Profile | None) -> tuple[str, str | None]:
    """Where the key comes from, and the key."""
    if argument:
        return "argument", argument
    if key := os.environ.get("BLOBHUB_API_KEY"):
        return "env", key
    return (f"profile:{name}", chosen.key) if chosen else ("anonymous", None)


def _url(argument: str | None, chosen: Profile | None) -> str:
    of_profile = chosen.url if chosen else ""
    return argument or os.environ.get("BLOBHUB_API_URL") or of_profile or DEFAULT_API_URL
