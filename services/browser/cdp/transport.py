"""The pipe: one connected stream socket whose far end Chromium holds as descriptors 3 and 4."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Protocol, cast

from services.browser.cdp.framing import Deframer, MessageTooLarge

MAX_MESSAGE_BYTES = 128 * 1024 * 1024
HIGH_WATER_BYTES = 1024 * 1024


class Transport(Protocol):
    """What the client needs of a pipe; tests put a stub here."""

    @property
    def congested(self) -> bool:
        """Whether more than the high-water mark waits to be written."""
        ...

    def write(self, message: bytes) -> None:
        """Queue one message. Never blocks."""
        ...

    async def drained(self) -> None:
        """Wait until the browser has taken what waits, or the pipe is closed."""
        ...

    def close(self) -> None:
        """Close at once. `on_closed` is called, once, soon after."""
        ...


class PipeTransport(asyncio.Protocol):
    """A `Transport` over a socket. Messages are handed on as they arrive; nothing is queued for reading."""

    def __init__(
        self,
        on_message: Callable[[bytes], None],
        on_closed: Callable[[str], None],
        max_message_bytes: int,
    ) -> None:
        self._on_message = on_message
        self._on_closed = on_closed
        self._deframer = Deframer(max_message_bytes)
        self._transport: asyncio.Transport | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._reason = "the browser closed the pipe"

    @classmethod
    async def connect(
        cls,
        pipe: socket.socket,
        on_message: Callable[[bytes], None],
        on_closed: Callable[[str], None],
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> PipeTransport:
        """Take over `pipe`, a connected AF_UNIX stream socket. Local only, so it needs no deadline."""
        pipe.setblocking(False)
        loop = asyncio.get_running_loop()
        _, transport = await loop.create_unix_connection(
            lambda: cls(on_message, on_closed, max_message_bytes), sock=pipe
        )
        return transport

    @property
    def congested(self) -> bool:
        return not self._room.is_set()

    def write(self, message: bytes) -> None:
        if self._transport is not None:
            self._transport.write(message + b"\0")

    async def drained(self) -> None:
        await self._room.wait()

    def close(self) -> None:
        self._reason = "the pipe was closed here"
        if self._transport is not None:
            self._transport.abort()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=HIGH_WATER_BYTES)

    def data_received(self, data: bytes) -> None:
        try:
            messages = self._deframer.feed(data)
        except MessageTooLarge as too_large:
            self.close()
            self._reason = str(too_large)
            return
        for message in messages:
            self._on_message(message)

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._room.set()
        self._on_closed(f"{self._reason}: {exc}" if exc is not None else self._reason)
