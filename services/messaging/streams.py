"""Streams of a recipient's messages: each gets every message, in order, from what is queued on (SPEC §8)."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator

from hyperkitty.messaging.v1.messages_pb2 import Message
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from services.messaging.mailbox import DELIVERED, QUEUED, Mailbox

HEARTBEAT_SECONDS = 15.0
MOST_BUFFERED = 1_000
"""Messages that a stream may be behind; one that falls further is ended, and finds them queued when it comes back."""
_REMEMBERED = 20_000


class Stream:
    """One reader of one recipient's messages."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Message | Refusal] = asyncio.Queue(MOST_BUFFERED + 1)
        self._sent: OrderedDict[str, None] = OrderedDict()

    def offer(self, message: Message) -> None:
        """Hands a message on; ends a stream that does not keep up."""
        if self._queue.qsize() >= MOST_BUFFERED:
            self.fail(
                Refusal(
                    ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED,
                    f"the reader is {MOST_BUFFERED} messages behind",
                    hint="Subscribe again: what was not acknowledged is still queued.",
                )
            )
            return
        self._queue.put_nowait(message)

    def fail(self, refusal: Refusal) -> None:
        """Ends the stream after what it has already."""
        if not self._queue.full():
            self._queue.put_nowait(refusal)

    def is_new(self, message_id: str) -> bool:
        """Whether this stream has not had the message; remembers the last 20,000."""
        if message_id in self._sent:
            return False
        self._sent[message_id] = None
        if len(self._sent) > _REMEMBERED:
            self._sent.popitem(last=False)
        return True

    async def next(self, heartbeat: float) -> Message | None:
        """The next message, None when `heartbeat` seconds went by without one. Raises what ended the stream."""
        try:
            async with asyncio.timeout(heartbeat):
                item = await self._queue.get()
        except TimeoutError:
            return None
        if isinstance(item, Refusal):
            raise item
        return item


class Streams:
    """The open streams, by tenant and recipient; and who waits for a message to be acknowledged."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox
        self._open: dict[tuple[str, str], set[Stream]] = {}
        self._waiting: dict[str, asyncio.Future[None]] = {}
        mailbox.on_change(self._changed)

    def __len__(self) -> int:
        return sum(len(each) for each in self._open.values())

    def _changed(self, message: Message) -> None:
        if message.status == QUEUED:
            for stream in self._open.get((message.tenant, message.recipient), ()):
                stream.offer(message)
        elif message.status >= DELIVERED:
            waiting = self._waiting.pop(message.message_id, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(None)

    def expect(self, message: Message) -> asyncio.Future[None] | None:
        """A future of the message's acknowledgement, where a stream is open here that may give it."""
        if not self._open.get((message.tenant, message.recipient)):
            return None
        future = asyncio.get_running_loop().create_future()
        self._waiting[message.message_id] = future
        future.add_done_callback(lambda _: self._waiting.pop(message.message_id, None))
        return future

    async def read(self, stream: Stream, tenant: str, recipient: str) -> AsyncIterator[Message | None]:
        """What is queued, then what comes; None is a sign of life."""
        group = self._open.setdefault((tenant, recipient), set())
        group.add(stream)
        try:
            for summary in self._mailbox.waiting(tenant, recipient):
                found = await self._mailbox.get(summary.message_id)
                if found is not None and found.value.status == QUEUED and stream.is_new(summary.message_id):
                    yield found.value
            while True:
                message = await stream.next(HEARTBEAT_SECONDS)
                if message is None or stream.is_new(message.message_id):
                    yield message
        finally:
            group.discard(stream)
            if not group:
                self._open.pop((tenant, recipient), None)
