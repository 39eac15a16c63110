"""aiohttp's way to addresses: only those that kit's dialer has checked, and connections go to exactly them."""

from __future__ import annotations

import socket
from ipaddress import IPv6Address

from aiohttp.abc import AbstractResolver, ResolveResult

from services.kit.dialer import CheckedDialer
from services.kit.hosts import parse_host


class CheckedResolver(AbstractResolver):
    """Names only: aiohttp does not ask a resolver about literal addresses, which the fetcher checks itself."""

    def __init__(self, dialer: CheckedDialer) -> None:
        self._dialer = dialer

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Raises EgressBlocked, NameNotResolved, InvalidHost; aiohttp passes on what is no OSError."""
        addresses = await self._dialer.resolve(parse_host(host), port)
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET6 if isinstance(address, IPv6Address) else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """Nothing is held."""
