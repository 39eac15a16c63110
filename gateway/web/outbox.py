"""What waits to be sent on a WebSocket: bounded; what is waiting goes out as one message.

A full outbox stops reading the service's stream: HTTP/2 holds the service back, whose own buffer then says `gap`.
"""

from __future__ import annotations

import asyncio
from collections import deque

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

MOST_MESSAGES = 1_000
MOST_BYTES = 4 << 20
# One message to the client: larger ones would make the others wait while it is written.
FRAME_BYTES = 256 << 10


class Outbox:
    """A bounded queue between one reader of a stream and one sender."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Message, int]] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()
        self._closed = False

    async def put(self, message: Message) -> None:
        """Adds a message; waits while the outbox is full. One message larger than the bound goes alone."""
        size = message.ByteSize()
        while self._waiting and (len(self._waiting) >= MOST_MESSAGES or self._bytes + size > MOST_BYTES):
            await self._wait()
        self._waiting.append((message, size))
        self._bytes += size
        self._changed.set()

    def close(self) -> None:
        """No more will be added."""
        self._closed = True
        self._changed.set()

    async def take(self) -> Message | None:
        """The next message with those after it that fit into it; None when the outbox is closed and empty."""
        while not self._waiting:
            if self._closed:
                return None
            await self._wait()
        first, size = self._pop()
        field = _only_list(first)
        while field is not None and self._waiting:
            following, following_size = self._waiting[0]
            if size + following_size > FRAME_BYTES or _only_list(following) is not field:
                break
            self._pop()
            first.MergeFrom(following)
            size += following_size
        self._changed.set()
        return first

    def _pop(self) -> tuple[Message, int]:
        message, size = self._waiting.popleft()
        self._bytes -= size
        return message, size

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()


def _only_list(message: Message) -> FieldDescriptor | None:
    """The one field that is set, when it is a list: two such messages are one with both lists."""
    present = message.ListFields()
    if len(present) != 1 or not present[0][0].is_repeated:
        return None
    return present[0][0]
