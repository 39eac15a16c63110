"""The session's proxy: accepts inside its network namespace, connects outside, to what the policy lets it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace

from services.browser.egress.connection import Connection
from services.browser.egress.look_ups import LookUps
from services.browser.egress.names import NameCache
from services.browser.egress.request_head import RequestHead
from services.kit import logs
from services.kit.dialer import CheckedDialer, EgressBlocked, EgressPolicy, NameNotResolved, Resolver
from services.kit.host_rules import HostRules, Rule
from services.kit.hosts import Host, InvalidHost, host_and_port

log = logs.get(__name__)

MOST_CONNECTIONS = 512
MOST_FAILURES = 256
HEAD_BYTES = 256 * 1024
DIAL_SECONDS = 20.0
SILENT_SECONDS = 900.0
SWEEP_SECONDS = 30.0
CLOSE_SECONDS = 2.0

_NET_ERRORS: tuple[tuple[type[Exception], str], ...] = (
    (EgressBlocked, "net::ERR_BLOCKED_BY_CLIENT"),
    (NameNotResolved, "net::ERR_NAME_NOT_RESOLVED"),
    (ConnectionRefusedError, "net::ERR_CONNECTION_REFUSED"),
    (ConnectionResetError, "net::ERR_CONNECTION_RESET"),
    (TimeoutError, "net::ERR_CONNECTION_TIMED_OUT"),
    (OSError, "net::ERR_ADDRESS_UNREACHABLE"),
)


@dataclass(frozen=True)
class DialFailure:
    """Why the last connection to a host and port failed: what Chromium, behind a proxy, cannot know."""

    net_error: str
    detail: str
    blocked: bool


@dataclass(frozen=True)
class Blocked:
    """A request that the policy refused; nothing of it was sent anywhere."""

    host: str
    port: int
    reason: str


@dataclass(slots=True)
class Counters:
    """What passed. Bytes are those on the wire to and from destinations, tunnels included."""

    connections: int = 0
    refused_connections: int = 0
    requests: int = 0
    blocked: int = 0
    failed: int = 0
    bytes_up: int = 0
    bytes_down: int = 0


class EgressProxy:
    """The proxy of one session. Its rules may grow while it runs; it ends with the session."""

    def __init__(
        self,
        policy: EgressPolicy,
        on_blocked: Callable[[Blocked], None] | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._policy = policy
        self._names = NameCache(resolver or LookUps())
        self._dialer = CheckedDialer(policy, self._names)
        self._on_blocked = on_blocked
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], Connection] = {}
        self._failures: dict[tuple[Host, int], DialFailure] = {}
        self._sweeper: asyncio.TimerHandle | None = None
        self.counters = Counters()

    async def start(self, listener: socket.socket) -> None:
        """Accept on a listening socket, which it owns from here on. Local only, so it needs no deadline."""
        self._server = await asyncio.start_server(self._accepted, sock=listener, limit=HEAD_BYTES, backlog=1024)
        self._sweep()

    def open_rule(self, rule: Rule) -> None:
        """Let a `host:port` be reached though it is loopback or private. HyperKitty's own ports stay closed.

        Raises ValueError for a rule that names no host and port.
        """
        if rule.host is None or rule.port is None:
            raise ValueError(f"{rule} names no host and port")
        opened = HostRules((*self._policy.opened.rules, rule)) if rule not in self._policy.opened.rules else None
        if opened is not None:
            self._policy = replace(self._policy, opened=opened)
            self._dialer = CheckedDialer(self._policy, self._names)

    def failure_of(self, url: str) -> DialFailure | None:
        """How the last attempt to connect to this URL's host failed; None when it succeeded, or never was made."""
        try:
            return self._failures.get(host_and_port(url))
        except InvalidHost:
            return None

    async def close(self) -> None:
        """Close every connection and accept no more."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._names.close()
        tasks = list(self._connections)
        for task, connection in list(self._connections.items()):
            connection.abort()
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)

    # what connections use

    async def dial(self, request: RequestHead) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a checked address of the destination.

        Raises EgressBlocked, or OSError (TimeoutError, NameNotResolved among them); either is remembered.
        """
        key = (request.host, request.port)
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                pair = await self._dialer.connect(*key)
        except (EgressBlocked, OSError) as error:
            self._remember(key, error)
            raise
        self._failures.pop(key, None)
        return pair

    def count_up(self, size: int) -> None:
        """Bytes sent to a destination."""
        self.counters.bytes_up += size

    def count_down(self, size: int) -> None:
        """Bytes got from a destination."""
        self.counters.bytes_down += size

    # inside

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or self._server is None or len(self._connections) >= MOST_CONNECTIONS:
            self.counters.refused_connections += 1
            writer.transport.abort()
            return
        self.counters.connections += 1
        connection = self._connections[task] = Connection(self, reader, writer)
        try:
            await connection.serve()
            await connection.finish(CLOSE_SECONDS)
        except asyncio.CancelledError:
            pass  # the proxy is closing; nobody else cancels this task
        except Exception as error:
            log.error("proxy_connection_failed", exc_info=error)
        finally:
            connection.abort()
            del self._connections[task]

    def _remember(self, key: tuple[Host, int], error: EgressBlocked | OSError) -> None:
        net_error = next(name for kind, name in _NET_ERRORS if isinstance(error, kind))
        blocked = isinstance(error, EgressBlocked)
        self._failures.pop(key, None)
        if len(self._failures) >= MOST_FAILURES:
            del self._failures[next(iter(self._failures))]
        self._failures[key] = DialFailure(net_error, str(error), blocked)
        if not isinstance(error, EgressBlocked):
            self.counters.failed += 1
            return
        self.counters.blocked += 1
        if self._on_blocked is not None:
            self._on_blocked(Blocked(str(error.host), error.port, error.reason))

    def _sweep(self) -> None:
        """End connections on which nothing moved for `SILENT_SECONDS`."""
        loop = asyncio.get_running_loop()
        for connection in self._connections.values():
            if connection.moved_at + SILENT_SECONDS < loop.time():
                connection.abort()
        self._sweeper = loop.call_later(SWEEP_SECONDS, self._sweep)
