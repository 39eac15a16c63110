"""Reading a stream in order, from any point, through every restart of NATS.

An ephemeral pull consumer without acknowledgements: the reader asks for a batch when it has used the last one up, so
a slow reader holds nothing back in memory. A consumer that is gone, silent or out of step is made again after
the last sequence that was delivered.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
import nats.errors
import nats.js.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import api

from services.kit import logs
from services.kit.nats_connection import NatsConnection
from services.kit.nats_streams import StreamState, StreamUnavailable, stream_state

log = logs.get(__name__)

_HEARTBEAT = 1.0
_SILENCE = 2.5
_EXPIRES = 30.0
_INACTIVE = 30.0
_RETRY = 0.25
_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Delivered:
    """One message, and how many more of the consumer's were waiting when it was sent."""

    subject: str
    data: bytes
    headers: dict[str, str]
    sequence: int
    pending: int


@dataclass
class Position:
    """Where reading begins: after a sequence, at a time, or with the last message of each subject."""

    after: int | None = None
    since_ms: int | None = None
    last_per_subject: bool = False


@dataclass
class _Consumer:
    name: str
    inbox: str
    subscription: Subscription | None = None
    expected: int = 1
    waiting: bool = False
    requested: int = 0
    arrived: deque[Msg] = field(default_factory=deque[Msg])
    signal: asyncio.Event = field(default_factory=asyncio.Event)


class _OutOfStep(Exception):
    """The consumer cannot be trusted any more; the text says why."""


class _NextRequest(msgspec.Struct):
    batch: int
    expires: int
    idle_heartbeat: int


class OrderedReader:
    """One reader of one stream. Iterate `messages()` once; `close()` always."""

    def __init__(
        self,
        connection: NatsConnection,
        stream: str,
        filters: Sequence[str],
        position: Position,
        *,
        batch: int = 256,
        headers_only: bool = False,
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._filters = list(filters)
        self._position = position
        self._batch = batch
        self._headers_only = headers_only
        self._consumer: _Consumer | None = None
        self._remove_listener = connection.on_restored(self._wake)
        self._stale = False
        # Sequence of the last delivered message; 0 before the first.
        self.last_sequence = 0
        # Matching messages that were waiting when the consumer was made.
        self.pending_at_start = 0

    def _wake(self) -> None:
        self._stale = True
        if self._consumer is not None:
            self._consumer.signal.set()

    def _config(self, name: str) -> api.ConsumerConfig:
        config = api.ConsumerConfig(
            name=name,
            ack_policy=api.AckPolicy.NONE,
            inactive_threshold=_INACTIVE,
            mem_storage=True,
            num_replicas=1,
            headers_only=self._headers_only or None,
        )
        if len(self._filters) == 1:
            config.filter_subject = self._filters[0]
        elif self._filters:
            config.filter_subjects = self._filters
        after = self.last_sequence or self._position.after
        if after is not None:
            config.deliver_policy = api.DeliverPolicy.BY_START_SEQUENCE
            config.opt_start_seq = after + 1
        elif self._position.since_ms is not None:
            config.deliver_policy = api.DeliverPolicy.BY_START_TIME
            config.opt_start_time = datetime.fromtimestamp(self._position.since_ms / 1000, UTC)
        elif self._position.last_per_subject:
            config.deliver_policy = api.DeliverPolicy.LAST_PER_SUBJECT
        return config

    async def open(self, *, listen: bool = True) -> None:
        """Makes the consumer. Raises StreamUnavailable."""
        client, jetstream = self._connection.client, self._connection.jetstream
        self._stale = False
        inbox = client.new_inbox()
        consumer = _Consumer(inbox.rsplit(".", 1)[1], inbox)

        async def arrived(message: Msg) -> None:
            consumer.arrived.append(message)
            consumer.signal.set()

        try:
            info = await jetstream.add_consumer(  # pyright: ignore[reportUnknownMemberType]
                self._stream, self._config(consumer.name)
            )
            if listen:
                consumer.subscription = await client.subscribe(  # pyright: ignore[reportUnknownMemberType]
                    inbox, cb=arrived
                )
        except (nats.errors.Error, nats.js.errors.Error, OSError) as error:
            raise StreamUnavailable(f"{self._stream}: {type(error).__name__}: {error}") from error
        self._consumer = consumer
        self.pending_at_start = info.num_pending or 0

    async def _request(self, consumer: _Consumer) -> None:
        body = _NextRequest(self._batch, int(_EXPIRES * _NANOSECONDS), int(_HEARTBEAT * _NANOSECONDS))
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{consumer.name}"
        try:
            await self._connection.client.publish(subject, msgspec.json.encode(body), reply=consumer.inbox)
        except (nats.errors.Error, OSError) as error:
            raise _OutOfStep(type(error).__name__) from error
        consumer.waiting = True
        consumer.requested = self._batch

    def _take(self, consumer: _Consumer, message: Msg) -> Delivered | None:
        """A data message, or None for a status that only ends the request."""
        status = (message.headers or {}).get("Status") if not message.reply.startswith("$JS.ACK.") else None
        if status is not None or not message.reply:
            if status == "100":
                return None
            consumer.waiting = False
            if status not in ("404", "408"):
                raise _OutOfStep(f"status {status}")
            return None
        # $JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>, or the longer form
        # with domain and account before the stream.
        fields = message.reply.split(".")
        stream_sequence, consumer_sequence, pending = int(fields[-4]), int(fields[-3]), int(fields[-1])
        if len(fields) > 9:
            stream_sequence, consumer_sequence, pending = int(fields[7]), int(fields[8]), int(fields[10])
        if consumer_sequence != consumer.expected:
            raise _OutOfStep(f"consumer sequence {consumer_sequence}, expected {consumer.expected}")
        consumer.expected += 1
        consumer.requested -= 1
        if consumer.requested == 0:
            consumer.waiting = False
        self.last_sequence = stream_sequence
        return Delivered(message.subject, message.data, message.headers or {}, stream_sequence, pending)

    async def next(self, timeout: float) -> Delivered | None:
        """The next message; None when none came within `timeout` seconds. Heals by itself."""
        deadline = time.monotonic() + timeout
        while True:
            consumer = await self._healthy(deadline)
            if consumer is None:
                return None
            try:
                while consumer.arrived:
                    delivered = self._take(consumer, consumer.arrived.popleft())
                    if delivered is not None:
                        return delivered
                if not consumer.waiting:
                    await self._request(consumer)
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                await self._wait(consumer, left)
            except _OutOfStep as error:
                log.info("reader_restarted", stream=self._stream, reason=str(error), after=self.last_sequence)
                await self._drop()

    async def _wait(self, consumer: _Consumer, left: float) -> None:
        consumer.signal.clear()
        try:
            async with asyncio.timeout(min(left, _SILENCE)):
                await consumer.signal.wait()
        except TimeoutError:
            if left > _SILENCE:
                raise _OutOfStep("silent") from None

    async def _healthy(self, deadline: float) -> _Consumer | None:
        """The consumer, made again when it is needed; None when that did not succeed in time."""
        if self._stale:
            await self._drop()
        while self._consumer is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            try:
                async with asyncio.timeout(left):
                    await self._connection.wait_connected()
                    await self.open()
            except TimeoutError:
                return None
            except StreamUnavailable as error:
                log.info("reader_waits", stream=self._stream, reason=str(error))
                await _pause(min(_RETRY, left))
        return self._consumer

    async def _drop(self) -> None:
        consumer, self._consumer = self._consumer, None
        self._stale = False
        if consumer is None or self._connection.client.is_closed:
            return
        try:
            if consumer.subscription is not None:
                await consumer.subscription.unsubscribe()
            # The server forgets an inactive consumer by itself; this is only sooner.
            if self._connection.is_connected:
                await self._connection.client.publish(f"$JS.API.CONSUMER.DELETE.{self._stream}.{consumer.name}", b"")
        except (nats.errors.Error, OSError):
            return

    async def close(self) -> None:
        """Ends reading and frees the consumer."""
        self._remove_listener()
        await self._drop()

    async def state(self) -> StreamState:
        """What the stream holds now. Raises StreamUnavailable."""
        return await stream_state(self._connection, self._stream)

    async def is_caught_up(self) -> bool:
        """Whether the consumer has delivered all that matches; False when that cannot be told."""
        consumer = self._consumer
        if consumer is None or consumer.arrived or self._stale:
            return False
        try:
            info = await self._connection.jetstream.consumer_info(self._stream, consumer.name)
        except (nats.errors.Error, nats.js.errors.Error, OSError):
            return False
        return info.num_pending == 0 and not consumer.arrived and consumer is self._consumer

    async def messages(self, idle: float = 3600.0) -> AsyncIterator[Delivered]:
        """Messages for ever."""
        while True:
            delivered = await self.next(idle)
            if delivered is not None:
                yield delivered


async def _pause(seconds: float) -> None:
    """Waits before the next attempt at something that announces its return in no other way."""
    try:
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().create_future()
    except TimeoutError:
        return


async def present(reader: OrderedReader, timeout: float, limit: int) -> list[Delivered]:
    """Every message that is there now, at most `limit`. Raises StreamUnavailable."""
    await reader.open()
    found: list[Delivered] = []
    deadline = time.monotonic() + timeout
    expected = min(reader.pending_at_start, limit)
    while len(found) < expected:
        delivered = await reader.next(deadline - time.monotonic())
        if delivered is None:
            raise StreamUnavailable("the stream did not deliver in time")
        found.append(delivered)
        if delivered.pending == 0:
            break
    return found


async def newest(
    connection: NatsConnection, stream: str, filters: Sequence[str], limit: int, *, before: int | None, timeout: float
) -> list[Delivered]:
    """The last `limit` matching messages before a sequence, newest first. Raises StreamUnavailable.

    A stream is read forwards only. A consumer's own count of what matches from a sequence on tells where to begin:
    the window grows backwards until it holds enough, and shrinks again when it holds far too much.
    """
    state = await stream_state(connection, stream)
    end = state.last + 1 if before is None else min(before, state.last + 1)
    window = _Window(connection, stream, filters, end)
    window.beyond = await window.count(end) if end <= state.last else 0
    low = await window.begin(limit, state.first)
    reader = OrderedReader(connection, stream, filters, Position(after=low - 1))
    try:
        last = deque[Delivered](maxlen=limit)
        for message in await present(reader, timeout, 1_000_000):
            if message.sequence >= end:
                break
            last.append(message)
        return list(last)[::-1]
    finally:
        await reader.close()


class _Window:
    """Finds from where on a stream holds enough of what matches, up to an end."""

    def __init__(self, connection: NatsConnection, stream: str, filters: Sequence[str], end: int) -> None:
        self._connection = connection
        self._stream = stream
        self._filters = filters
        self._end = end
        # Matching messages from the end on, which every count includes.
        self.beyond = 0

    async def count(self, start: int) -> int:
        """Matching messages from a sequence up to the end."""
        return await _count(self._connection, self._stream, self._filters, start) - self.beyond

    async def begin(self, limit: int, first: int) -> int:
        """A sequence from which on there are `limit` matching messages, and not very many more; or `first`."""
        low, high, size, found = self._end, self._end, max(limit, 16), 0
        while low > first and found < limit:
            low, high = max(first, self._end - size), low
            found = await self.count(low)
            size *= 8
        # `high` holds too few, `low` enough: halve what lies between while it is far too much.
        while found > 4 * limit and high - low > 1:
            middle = (low + high) // 2
            there = await self.count(middle)
            if there >= limit:
                low, found = middle, there
            else:
                high = middle
        return low


async def _count(connection: NatsConnection, stream: str, filters: Sequence[str], start: int) -> int:
    """Matching messages from a sequence on: a consumer's own count; it is never asked for a message."""
    reader = OrderedReader(connection, stream, filters, Position(after=start - 1))
    try:
        await reader.open(listen=False)
        return reader.pending_at_start
    finally:
        await reader.close()
