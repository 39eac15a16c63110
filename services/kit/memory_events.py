"""The event log in memory, for tests: same behaviour, nothing kept."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator

from hyperkitty.events.v1 import events_pb2
from hyperkitty.events.v1.events_pb2 import Event

from services.kit.clock import Clock, SystemClock
from services.kit.event_log import (
    HEARTBEAT_SECONDS,
    EventFilter,
    EventRefused,
    LogFacts,
    LogUnavailable,
    ReadItem,
    Start,
    expired,
)


class MemoryEventLog:
    """See EventLog. `available = False` makes publishing fail, as while the real log is away."""

    def __init__(self, most_events: int = 20_000, clock: Clock | None = None) -> None:
        self._events: deque[tuple[int, int, Event]] = deque(maxlen=most_events)
        self._by_id: dict[str, int] = {}
        self._last = 0
        self._clock = clock or SystemClock()
        self._changed = asyncio.Condition()
        self.available = True

    async def publish(self, event: Event, *, timeout: float = 2.0) -> int:
        del timeout
        if not self.available:
            raise LogUnavailable("the log is away")
        if not event.event_id or not event.category or not event.tenant:
            raise EventRefused("an event needs event_id, category and tenant")
        if event.event_id in self._by_id:
            return self._by_id[event.event_id]
        self._last += 1
        stored = Event()
        stored.CopyFrom(event)
        stored.sequence = self._last
        if len(self._events) == self._events.maxlen:
            self._by_id.pop(self._events[0][2].event_id, None)
        self._events.append((self._last, self._clock.now_ms(), stored))
        self._by_id[event.event_id] = self._last
        async with self._changed:
            self._changed.notify_all()
        return self._last

    @property
    def events(self) -> list[Event]:
        """Everything that is there, oldest first."""
        return [_copy(event) for _, _, event in self._events]

    async def recent(self, wanted: EventFilter, limit: int) -> list[Event]:
        found = [_copy(event) for _, _, event in self._events if wanted.matches(event)]
        return found[::-1][:limit]

    async def first_sequence(self) -> int:
        return self._events[0][0] if self._events else self._last + 1

    async def last_sequence(self) -> int:
        return self._last

    async def facts(self) -> LogFacts:
        held = self.events
        size = sum(event.ByteSize() for event in held)
        return LogFacts(len(held), size, -1, self._last, held[0].emitted_at_ms if held else 0)

    def _begin(self, start: Start) -> int:
        """The sequence after which to read."""
        if start.after_sequence is not None:
            return start.after_sequence
        if start.since_ms is not None:
            since = start.since_ms
            return next((sequence - 1 for sequence, stored, _ in self._events if stored >= since), self._last)
        return self._last

    async def read(
        self,
        wanted: EventFilter,
        start: Start,
        *,
        until_end: bool = False,
        heartbeat: float = HEARTBEAT_SECONDS,
    ) -> AsyncIterator[ReadItem]:
        position, end = self._begin(start), self._last
        due = time.monotonic() + heartbeat
        while True:
            first = await self.first_sequence()
            if position + 1 < first:
                yield expired(position + 1, first - 1)
                position = first - 1
            for sequence, _, event in list(self._events):
                if sequence <= position or (until_end and sequence > end):
                    continue
                position = sequence
                if wanted.matches(event):
                    yield _copy(event)
            if until_end and position >= end:
                return
            if time.monotonic() >= due:
                yield events_pb2.Heartbeat(last_sequence=position)
                due = time.monotonic() + heartbeat
            await self._wait(position, due - time.monotonic())

    async def _wait(self, position: int, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, seconds)), self._changed:
                await self._changed.wait_for(lambda: self._last > position)
        except TimeoutError:
            return


def _copy(event: Event) -> Event:
    copy = Event()
    copy.CopyFrom(event)
    return copy
