"""Publishing to JetStream with pipelined acknowledgements: one inbox for all, no request machinery per message."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec
import nats.errors
from nats.aio.msg import Msg

from services.kit.nats_connection import NatsConnection

# Bounds what waits for an acknowledgement; further publishes are refused at once.
MOST_PENDING = 20_000
_WRONG_SEQUENCE = frozenset({10071, 10164})


class NotAcknowledged(Exception):
    """The server did not confirm in time; whether it stored the message is not known."""


class WrongSequence(Exception):
    """The server refused: the subject's last sequence is another than the expected one."""


class PublishRefused(Exception):
    """The server refused the message itself (too large, no such stream, stream full)."""


class _Failure(msgspec.Struct):
    err_code: int = 0
    description: str = ""


class _Answer(msgspec.Struct):
    seq: int = 0
    duplicate: bool = False
    error: _Failure | None = None


_decoder = msgspec.json.Decoder(_Answer)


class AckPublisher:
    """Publishes and awaits acknowledgements on a connection."""

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection
        self._pending: dict[str, asyncio.Future[int]] = {}
        self._counter = 0
        self._inbox = ""
        connection.on_lost(self._fail_all)

    async def start(self) -> None:
        """Subscribes to the inbox; call once, connected."""
        client = self._connection.client
        self._inbox = client.new_inbox() + "."
        await client.subscribe(self._inbox + "*", cb=self._on_answer)  # pyright: ignore[reportUnknownMemberType]

    @property
    def pending(self) -> int:
        """Messages that wait for an acknowledgement."""
        return len(self._pending)

    def _fail_all(self) -> None:
        pending, self._pending = self._pending, {}
        for future in pending.values():
            if not future.done():
                future.set_exception(NotAcknowledged("the connection broke"))
                # A waiter that was cancelled meanwhile must not be reported as never retrieved.
                future.exception()

    async def _on_answer(self, message: Msg) -> None:
        future = self._pending.pop(message.subject[len(self._inbox) :], None)
        if future is None or future.done():
            return
        if message.headers and message.headers.get("Status") == "503":
            future.set_exception(NotAcknowledged("no stream takes the subject"))
            return
        try:
            answer = _decoder.decode(message.data)
        except msgspec.MsgspecError:
            future.set_exception(NotAcknowledged("the acknowledgement cannot be read"))
            return
        if answer.error is None:
            future.set_result(answer.seq)
        elif answer.error.err_code in _WRONG_SEQUENCE:
            future.set_exception(WrongSequence(answer.error.description))
        else:
            future.set_exception(PublishRefused(f"{answer.error.err_code} {answer.error.description}"))

    async def publish(
        self, subject: str, payload: bytes, headers: Mapping[str, str] | None = None, *, timeout: float
    ) -> int:
        """Publishes; returns the sequence. Raises NotAcknowledged, WrongSequence, PublishRefused."""
        if not self._connection.is_connected:
            raise NotAcknowledged("not connected")
        if len(self._pending) >= MOST_PENDING:
            raise NotAcknowledged(f"{MOST_PENDING} messages wait already")
        self._counter += 1
        token = str(self._counter)
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._pending[token] = future
        try:
            async with asyncio.timeout(timeout):
                await self._connection.client.publish(
                    subject, payload, reply=self._inbox + token, headers=None if headers is None else dict(headers)
                )
                return await future
        except TimeoutError as error:
            raise NotAcknowledged(f"not acknowledged within {timeout} s") from error
        except nats.errors.MaxPayloadError as error:
            raise PublishRefused("the message is too large") from error
        except (nats.errors.Error, OSError) as error:
            raise NotAcknowledged(f"{type(error).__name__}") from error
        finally:
            self._pending.pop(token, None)
