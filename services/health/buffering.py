"""The bounded buffer between the log and one reader: 1,000 events or 4 MiB (SPEC §9).

A reader that is behind holds the log's reading back, and misses nothing. One that takes nothing at all for a while is
not waited for: what comes meanwhile is left out, and a gap says so in its place.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from hyperkitty.events.v1.event_service_pb2 import StreamEventsResponse
from hyperkitty.events.v1.events_pb2 import GAP_REASON_SLOW, Event, Gap, Heartbeat

from services.kit.event_log import ReadItem

MOST_EVENTS = 1_000
MOST_BYTES = 4 * 1024**2
STALLED_SECONDS = 10.0
# Events that one message of the stream carries at most.
_MESSAGE_EVENTS = 200
_MESSAGE_BYTES = 512 * 1024


class Buffer:
    """Filled by one task, drained by another."""

    def __init__(self, most_events: int = MOST_EVENTS, most_bytes: int = MOST_BYTES) -> None:
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._items: deque[ReadItem] = deque()
        self._bytes = 0
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._ended = False
        self._error: BaseException | None = None
        self.dropped = 0

    def _is_full(self) -> bool:
        return len(self._items) >= self._most_events or self._bytes >= self._most_bytes

    async def fill(self, items: AsyncIterator[ReadItem], stalled: float = STALLED_SECONDS) -> None:
        """Takes items until they end; what they raise, the reader gets after the items before it."""
        try:
            async for item in items:
                await self._put(item, stalled)
        except BaseException as error:
            self._error = error
            raise
        finally:
            self._ended = True
            self._filled.set()

    async def _put(self, item: ReadItem, stalled: float) -> None:
        if self._is_full() and not self._is_in_gap():
            self._room.clear()
            try:
                async with asyncio.timeout(stalled):
                    await self._room.wait()
            except TimeoutError:
                pass
        if not self._is_full() or isinstance(item, Gap):
            self._items.append(item)
            self._bytes += item.ByteSize()
        elif isinstance(item, Event):
            self._leave_out(item.sequence)
        self._filled.set()

    def _is_in_gap(self) -> bool:
        last = self._items[-1] if self._items else None
        return isinstance(last, Gap) and last.reason == GAP_REASON_SLOW

    def _leave_out(self, sequence: int) -> None:
        self.dropped += 1
        last = self._items[-1]
        if isinstance(last, Gap) and last.reason == GAP_REASON_SLOW:
            last.to_sequence = sequence
        else:
            self._items.append(Gap(from_sequence=sequence, to_sequence=sequence, reason=GAP_REASON_SLOW))

    async def drain(self) -> AsyncIterator[StreamEventsResponse]:
        """What is there, as few messages as possible; then what comes. Raises what `fill` met."""
        while True:
            while self._items:
                response = self._take()
                self._room.set()
                yield response
            if self._ended:
                if isinstance(self._error, Exception):
                    raise self._error
                return
            self._filled.clear()
            await self._filled.wait()

    def _take(self) -> StreamEventsResponse:
        first = self._items.popleft()
        self._bytes -= first.ByteSize()
        if isinstance(first, Gap):
            return StreamEventsResponse(gap=first)
        if isinstance(first, Heartbeat):
            return StreamEventsResponse(heartbeat=first)
        response = StreamEventsResponse(events=[first])
        size = first.ByteSize()
        while self._items and len(response.events) < _MESSAGE_EVENTS:
            following = self._items[0]
            size += following.ByteSize()
            if not isinstance(following, Event) or size > _MESSAGE_BYTES:
                break
            self._items.popleft()
            self._bytes -= following.ByteSize()
            response.events.append(following)
        return response
