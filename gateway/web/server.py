"""The HTTP server: uvicorn on a socket of ours, inside kit's life of a service."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Generator

import uvicorn

from gateway.web.front import Front
from services.kit import errors
from services.kit.config import SettingsError

_BACKLOG = 1_024
_START_SECONDS = 10.0
# A WebSocket message of a client: a person's input, an acknowledgement.
_SOCKET_MESSAGE_BYTES = 1 << 20
_KEEP_ALIVE_SECONDS = 60


def listen_on(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. Raises SettingsError naming a port that is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # Accepted sockets inherit it. Without it an answer in two writes waits 40 ms for a delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise SettingsError(f"HYPERKITTY_REST_PORT: cannot listen on {host}:{port}: {error.strerror}") from error
    return listener


class _Embedded(uvicorn.Server):
    """Leaves the process's signals to kit."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()


class WebServer:
    """Serves a front until it is stopped."""

    def __init__(self, front: Front, listener: socket.socket, grace_seconds: float) -> None:
        self._front = front
        self._listener = listener
        self._server = _Embedded(
            uvicorn.Config(
                front,
                loop="none",
                http="httptools",
                ws="websockets-sansio",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                # The source of a refusal is the peer itself, until a proxy is configured.
                proxy_headers=False,
                backlog=_BACKLOG,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=max(1, round(grace_seconds)),
                ws_max_size=_SOCKET_MESSAGE_BYTES,
                # Compression costs more than it saves on loopback and inside a cluster.
                ws_per_message_deflate=False,
            )
        )
        self._task: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._listener.getsockname()[1])

    async def start(self) -> None:
        """Returns when requests are taken."""
        self._task = asyncio.create_task(self._server.serve(sockets=[self._listener]), name="web")
        ready = asyncio.create_task(self._server.listening.wait())
        try:
            async with asyncio.timeout(_START_SECONDS):
                await asyncio.wait([self._task, ready], return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if self._task.done():
            await self._task

    async def run(self) -> None:
        """Returns when the server has ended. Raises what ended it."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def stop(self) -> None:
        """Closes WebSockets with a reason, lets requests end, and stops."""
        await self._front.sockets.stop(errors.unavailable("the gateway is stopping", 1_000))
        self._server.should_exit = True
        if self._task is not None:
            await self._task
