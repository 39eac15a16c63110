"""The connection to NATS: own credential, own inbox, reconnects for ever, never buffers while away (DESIGN §10)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import nats.errors
from nats.aio.client import Client
from nats.js import JetStreamContext

from services.kit import logs

log = logs.get(__name__)

_RECONNECT_WAIT = 0.25
_API_TIMEOUT = 2.0


class CredentialsUnreadable(Exception):
    """The credentials file does not hold `user:password`."""


def read_credentials(path: Path | None) -> tuple[str, str] | None:
    """User and password from the file, None where none is set. Raises CredentialsUnreadable."""
    if path is None:
        return None
    try:
        user, colon, password = path.read_text().strip().partition(":")
    except OSError as error:
        raise CredentialsUnreadable(f"{path}: {error.strerror}") from error
    if not colon or not user or not password:
        raise CredentialsUnreadable(f"{path} does not hold one line user:password")
    return user, password


class NatsConnection:
    """One connection of one process. `lost` listeners run when it breaks, `restored` ones when it is back."""

    def __init__(self, url: str, credentials: tuple[str, str] | None, name: str) -> None:
        self._url = url
        self._credentials = credentials
        self._name = name
        self._client = Client()
        self._connected = asyncio.Event()
        self._on_lost: list[Callable[[], None]] = []
        self._on_restored: list[Callable[[], None]] = []
        self._closing = False
        self._reported = ""
        # Set when the connection ended for good without being asked to: the process should end too.
        self.broken = asyncio.Event()

    @property
    def client(self) -> Client:
        return self._client

    @property
    def jetstream(self) -> JetStreamContext:
        return self._client.jetstream(timeout=_API_TIMEOUT)  # pyright: ignore[reportUnknownMemberType]

    @property
    def is_connected(self) -> bool:
        # The client knows of a broken connection before it tells its listeners.
        if self._connected.is_set() and not self._client.is_connected:
            self._lose("disconnected")
        return self._connected.is_set()

    def on_lost(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Runs `listener` when the connection breaks; returns the removal."""
        self._on_lost.append(listener)
        return lambda: self._on_lost.remove(listener)

    def on_restored(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Runs `listener` when the connection is back; returns the removal."""
        self._on_restored.append(listener)
        return lambda: self._on_restored.remove(listener)

    async def wait_connected(self) -> None:
        """Returns when the connection stands; the caller sets the deadline."""
        await self._connected.wait()

    def _lose(self, reason: str) -> None:
        if self._connected.is_set() and not self._closing:
            log.warning("nats_connection_lost", reason=reason)
        self._connected.clear()
        for each in list(self._on_lost):
            each()

    def _forget(self, reason: str) -> Callable[[], Awaitable[None]]:
        async def listener() -> None:
            self._lose(reason)
            if reason == "closed" and not self._closing:
                self.broken.set()

        return listener

    async def _restore(self) -> None:
        self._connected.set()
        self._reported = ""
        log.info("nats_connection_restored")
        for each in list(self._on_restored):
            each()

    async def _report(self, error: Exception) -> None:
        # While NATS is away each attempt reports the same.
        text = f"{type(error).__name__}: {error}"
        if self._connected.is_set() or text != self._reported:
            self._reported = text
            log.warning("nats_error", error=text)

    async def connect(self) -> None:
        """Connects, trying until it works; the caller sets the deadline. A refused credential raises."""
        user, password = self._credentials or (None, None)
        await self._client.connect(
            servers=self._url,
            name=self._name,
            user=user,
            password=password,
            inbox_prefix=f"_INBOX_{user}" if user else "_INBOX",
            max_reconnect_attempts=-1,
            reconnect_time_wait=_RECONNECT_WAIT,  # pyright: ignore[reportArgumentType]  (any number of seconds)
            connect_timeout=2,
            ping_interval=5,
            max_outstanding_pings=2,
            pending_size=-1,
            allow_reconnect=True,
            skip_subject_validation=True,
            error_cb=self._report,
            disconnected_cb=self._forget("disconnected"),
            closed_cb=self._forget("closed"),
            reconnected_cb=self._restore,
        )
        self._connected.set()

    async def close(self) -> None:
        """Ends the connection; nothing is sent afterwards. Safe to call twice."""
        self._closing = True
        self._connected.clear()
        if not self._client.is_closed:
            with contextlib.suppress(TimeoutError, OSError, nats.errors.Error):
                async with asyncio.timeout(2.0):
                    await self._client.close()
