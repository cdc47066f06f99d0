"""Where a host is: looked up once, checked, and connected to as it was checked, so that no second answer counts."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import Final

import httpx

from turnbuckle.outside.settings import Outside

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Lookup = Callable[[str, int], Awaitable[list[str]]]
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


class NotAllowed(Exception):
    """The request is not sent."""


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host. OSError when it has none."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[4][0]) for address in found]


def is_public(text: str) -> bool:
    """Whether anybody on the internet could reach it. An address inside another counts as that other."""
    address = ipaddress.ip_address(text.partition("%")[0])
    inner = _inner(address)
    return address.is_global and not address.is_multicast and (inner is None or is_public(str(inner)))


def _inner(address: Address) -> Address | None:
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)


class CheckedTransport(httpx.AsyncBaseTransport):
    """Connects to allowed hosts only, at the address that was checked; each request has a connection of its own."""

    def __init__(self, outside: Outside, lookup: Lookup = look_up) -> None:
        self._outside = outside
        self._lookup = lookup
        # A kept connection to one host could serve another at the same address.
        self._inner = httpx.AsyncHTTPTransport(limits=httpx.Limits(max_keepalive_connections=0), trust_env=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """NotAllowed for a host that is not on the list, or only at private addresses that it may not have."""
        host, port = request.url.host, port_of(request.url)
        if request.url.scheme not in ("http", "https") or not self._outside.is_allowed(host, port):
            raise NotAllowed(f"the server's allow-list has no {host}:{port}")
        address = await self._address(host, port)
        request.url = request.url.copy_with(host=address)  # the header Host and the certificate are the name's
        request.extensions = {**request.extensions, "sni_hostname": host}
        return await self._inner.handle_async_request(request)

    async def _address(self, host: str, port: int) -> str:
        try:
            found = await self._lookup(host, port)
        except (OSError, UnicodeError) as exc:
            raise httpx.ConnectError(f"{host} has no address") from exc
        may_be_private = self._outside.may_be_private(host, port)
        usable = [address for address in found if may_be_private or is_public(address)]
        if not usable:
            raise NotAllowed(f"{host} has a private address, and is not among those that may")
        return usable[0]

    async def aclose(self) -> None:
        await self._inner.aclose()


def port_of(url: httpx.URL) -> int:
    return url.port or {"http": 80, "https": 443}.get(url.scheme, 0)
