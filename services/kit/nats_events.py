"""The event log on a JetStream stream (SPEC §9)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from google.protobuf.message import DecodeError
from hyperkitty.events.v1 import events_pb2
from hyperkitty.events.v1.events_pb2 import Event
from nats.js import api

from services.kit import logs
from services.kit.deadlines import current_budget
from services.kit.event_log import (
    HEARTBEAT_SECONDS,
    EventFilter,
    EventRefused,
    LogFacts,
    LogUnavailable,
    LogUnreadable,
    ReadItem,
    Repeats,
    Start,
    expired,
    subject_of,
)
from services.kit.nats_acks import AckPublisher, NotAcknowledged, PublishRefused, WrongSequence
from services.kit.nats_connection import NatsConnection
from services.kit.nats_reader import Delivered, OrderedReader, Position, newest
from services.kit.nats_streams import StreamState, StreamUnavailable, ensure_stream, message_at, stream_state

log = logs.get(__name__)

STREAM = "HK_EVENTS"
_DAY = 86_400.0
_KEPT_SECONDS = 30 * _DAY
_KEPT_BYTES = 4 * 1024**3
# How long the server itself drops a repeated event_id; readers drop what comes later.
_DUPLICATE_SECONDS = 600.0
_CHECK_SECONDS = 5.0


def log_config(*, max_bytes: int = _KEPT_BYTES, max_events: int = -1, replicas: int = 1) -> api.StreamConfig:
    """The stream: 30 days or 4 GiB, whichever is first; nobody may delete or purge."""
    return api.StreamConfig(
        name=STREAM,
        subjects=["hk.events.>"],
        retention=api.RetentionPolicy.LIMITS,
        discard=api.DiscardPolicy.OLD,
        max_age=_KEPT_SECONDS,
        max_bytes=max_bytes,
        max_msgs=max_events,
        duplicate_window=_DUPLICATE_SECONDS,
        deny_delete=True,
        deny_purge=True,
        allow_direct=True,
        num_replicas=replicas,
    )


class NatsEventLog:
    """See EventLog. `open` makes the stream where it is missing."""

    def __init__(self, connection: NatsConnection, publisher: AckPublisher) -> None:
        self._connection = connection
        self._publisher = publisher

    async def open(self, *, max_bytes: int = _KEPT_BYTES, max_events: int = -1, replicas: int = 1) -> None:
        """Makes the stream. Raises StreamUnavailable."""
        await ensure_stream(self._connection, log_config(max_bytes=max_bytes, max_events=max_events, replicas=replicas))

    async def publish(self, event: Event, *, timeout: float = 2.0) -> int:
        if not event.event_id or not event.category or not event.tenant:
            raise EventRefused("an event needs event_id, category and tenant")
        subject, payload = subject_of(event), event.SerializeToString()
        headers = {"Nats-Msg-Id": event.event_id}
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            try:
                return await self._publisher.publish(subject, payload, headers, timeout=left)
            except (PublishRefused, WrongSequence) as error:
                raise EventRefused(str(error)) from error
            except NotAcknowledged as error:
                # A broken connection may be back in time; the event_id keeps a second try from doubling the event.
                if self._connection.is_connected or not await self._back(deadline):
                    raise LogUnavailable(str(error)) from error

    async def _back(self, deadline: float) -> bool:
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                await self._connection.wait_connected()
        except TimeoutError:
            return False
        return True

    async def _state(self) -> StreamState:
        try:
            return await stream_state(self._connection, STREAM)
        except StreamUnavailable as error:
            raise LogUnreadable(str(error)) from error

    async def first_sequence(self) -> int:
        return (await self._state()).first

    async def last_sequence(self) -> int:
        return (await self._state()).last

    async def facts(self) -> LogFacts:
        state = await self._state()
        first = Event()
        try:
            data = await message_at(self._connection, STREAM, state.first) if state.messages else None
            first.ParseFromString(data or b"")
        except StreamUnavailable as error:
            raise LogUnreadable(str(error)) from error
        except DecodeError:
            log.error("event_unreadable", sequence=state.first)
        return LogFacts(state.messages, state.bytes, state.max_bytes, state.last, first.emitted_at_ms)

    async def recent(self, wanted: EventFilter, limit: int) -> list[Event]:
        timeout = min(10.0, current_budget().remaining())
        try:
            found = await newest(self._connection, STREAM, wanted.patterns(), limit, before=None, timeout=timeout)
        except StreamUnavailable as error:
            raise LogUnreadable(str(error)) from error
        repeats = Repeats()
        events = [_decode(each) for each in found]
        return [event for event in events if event is not None and not repeats.is_repeat(event.event_id)]

    async def read(
        self,
        wanted: EventFilter,
        start: Start,
        *,
        until_end: bool = False,
        heartbeat: float = HEARTBEAT_SECONDS,
    ) -> AsyncIterator[ReadItem]:
        state = await self._state()
        position = Position(after=state.last, since_ms=None)
        if start.after_sequence is not None:
            position = Position(after=min(start.after_sequence, state.last))
        elif start.since_ms is not None:
            position = Position(since_ms=start.since_ms)
        if position.after is not None and position.after + 1 < state.first:
            yield expired(position.after + 1, state.first - 1)
            position = Position(after=state.first - 1)
        reader = OrderedReader(self._connection, STREAM, wanted.patterns(), position)
        walk = _Walk(reader, position.after or 0, state.last if until_end else None, heartbeat)
        try:
            async for item in walk.items():
                yield item
        finally:
            await reader.close()


class _Walk:
    """Reads on: turns messages into events, notices gaps, beats."""

    def __init__(self, reader: OrderedReader, position: int, end: int | None, heartbeat: float) -> None:
        self._reader = reader
        self._position = position
        self._end = end
        self._heartbeat = heartbeat
        self._repeats = Repeats()
        self._checked = time.monotonic()

    async def items(self) -> AsyncIterator[ReadItem]:
        if self._end is not None and not await self._has_any():
            return
        due = time.monotonic() + self._heartbeat
        while True:
            delivered = await self._reader.next(max(0.0, min(due - time.monotonic(), _CHECK_SECONDS)))
            if time.monotonic() - self._checked > _CHECK_SECONDS:
                gap = await self._missing(delivered)
                if gap is not None:
                    yield gap
            if delivered is not None:
                if self._is_past_end(delivered, 0):
                    return
                event = self._event(delivered)
                if event is not None:
                    yield event
                if self._is_past_end(delivered, 1):
                    return
            if time.monotonic() >= due:
                yield events_pb2.Heartbeat(last_sequence=self._position)
                due = time.monotonic() + self._heartbeat

    async def _has_any(self) -> bool:
        try:
            await self._reader.open()
        except StreamUnavailable as error:
            raise LogUnreadable(str(error)) from error
        return self._reader.pending_at_start > 0

    def _is_past_end(self, delivered: Delivered, ahead: int) -> bool:
        """Whether reading to the end is over: before this message (ahead 0) or after it (ahead 1)."""
        if self._end is None:
            return False
        return delivered.sequence + ahead > self._end or (ahead == 1 and delivered.pending == 0)

    def _event(self, delivered: Delivered) -> Event | None:
        self._position = delivered.sequence
        event = _decode(delivered)
        return None if event is None or self._repeats.is_repeat(event.event_id) else event

    async def _missing(self, delivered: Delivered | None) -> events_pb2.Gap | None:
        """What expired before it was read; moves the position on when everything up to the end was delivered."""
        self._checked = time.monotonic()
        try:
            state = await self._reader.state()
        except StreamUnavailable:
            return None
        gap = None
        if self._position and self._position + 1 < state.first:
            gap = expired(self._position + 1, state.first - 1)
            self._position = state.first - 1
        if delivered is None and await self._reader.is_caught_up():
            # Asked for before: nothing up to there was still waiting.
            self._position = max(self._position, state.last)
            gap = None
        return gap


def _decode(delivered: Delivered) -> Event | None:
    event = Event()
    try:
        event.ParseFromString(delivered.data)
    except DecodeError:
        log.error("event_unreadable", sequence=delivered.sequence)
        return None
    event.sequence = delivered.sequence
    return event
