"""Outgoing connections that go where they were checked to go (SPEC §5): the browser's proxy and search use it.

A name is resolved here once, every address is judged, and the connection is made to an address that passed:
a second look-up, which could answer differently (DNS rebinding), never happens.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from ipaddress import ip_address

from services.kit.addresses import Address, judge
from services.kit.host_rules import HostRules
from services.kit.hosts import Host, judge_host

Resolver = Callable[[str, int], Awaitable[list[Address]]]

_MOST_ADDRESSES = 16


class EgressBlocked(Exception):
    """The policy refuses this destination; nothing was sent to it."""

    def __init__(self, host: Host, port: int, reason: str) -> None:
        super().__init__(f"{host}:{port} is refused: {reason}")
        self.host = host
        self.port = port
        self.reason = reason


class NameNotResolved(OSError):
    """The name has no address."""


@dataclass(frozen=True)
class EgressPolicy:
    """What may be reached."""

    # Hosts that may be reached; None: every public one.
    rules: HostRules | None = None
    # `host:port` rules: the only way to a loopback or private address.
    opened: HostRules = field(default_factory=HostRules)
    # HyperKitty's own ports on this machine; no rule opens them.
    own_ports: frozenset[int] = frozenset()


async def system_resolver(name: str, port: int) -> list[Address]:
    """The machine's resolver (hosts file and DNS), without duplicates, in its order of preference."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise NameNotResolved(f"{name} could not be resolved: {error.strerror}") from error
    # The second part of an IPv6 scope (`%eth0`) is only for link-local addresses, which are refused anyway.
    return list(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


class CheckedDialer:
    """Resolves, judges, connects. One per policy; cheap."""

    def __init__(self, policy: EgressPolicy, resolver: Resolver = system_resolver) -> None:
        self._policy = policy
        self._resolver = resolver

    def check_name(self, host: Host, port: int) -> bool:
        """Judges what can be judged without resolving; True when a rule opens private addresses for it.

        Raises EgressBlocked.
        """
        policy = self._policy
        opened = policy.opened.opens(host, port) or (policy.rules is not None and policy.rules.opens(host, port))
        early = judge_host(host)
        if early is not None and not early.public and not opened:
            raise EgressBlocked(host, port, early.reason)
        if policy.rules is not None and not opened and host.address is not None and not policy.rules.allows(host, port):
            raise EgressBlocked(host, port, "not among the session's egress domains")
        return opened

    async def resolve(self, host: Host, port: int) -> list[Address]:
        """The addresses of a host that may be connected to, never empty. The caller sets the deadline.

        Raises EgressBlocked when the policy refuses all, NameNotResolved when there are none.
        """
        opened = self.check_name(host, port)
        found = [host.address] if host.address is not None else await self._resolver(host.name, port)
        if not found:
            raise NameNotResolved(f"{host} has no address")
        named = opened or self._policy.rules is None or self._policy.rules.allows(host, port)
        allowed: list[Address] = []
        reason = ""
        for address in found[:_MOST_ADDRESSES]:
            refused = self._refusal(address, port, opened=opened, named=named)
            if refused is None:
                allowed.append(address)
            else:
                reason = reason or refused
        if not allowed:
            raise EgressBlocked(host, port, reason)
        return allowed

    def _refusal(self, address: Address, port: int, *, opened: bool, named: bool) -> str | None:
        verdict = judge(address)
        if not verdict.public and port in self._policy.own_ports:
            return "HyperKitty's own port"
        if not verdict.public and not opened:
            return f"{address} is not public: {verdict.reason}"
        if not named and not (self._policy.rules is not None and self._policy.rules.allows_address(address)):
            return "not among the session's egress domains"
        return None

    async def connect(
        self, host: Host, port: int, *, attempt_timeout: float = 5.0
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connects to the first checked address that answers. The caller sets the overall deadline.

        Raises EgressBlocked, NameNotResolved, OSError (ConnectionError, TimeoutError) of the last attempt.
        """
        failure: OSError = ConnectionRefusedError(f"{host}:{port} could not be reached")
        for address in await self.resolve(host, port):
            try:
                async with asyncio.timeout(attempt_timeout):
                    return await asyncio.open_connection(str(address), port)
            except OSError as error:
                failure = error
        raise failure
