"""A streaming rpc as a WebSocket: one JSON object a message in both directions (SPEC §11)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import TypeVar, cast

import grpc
from google.protobuf.message import Message
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.calls.backends import Backends, Metadata, Stream, messages
from gateway.calls.failures import refusal_of
from gateway.routing.routes import Route
from gateway.transcoding.decode import decoder
from gateway.transcoding.encode import encode_present
from gateway.transcoding.json_text import dump, parse
from gateway.transcoding.mismatch import Mismatch
from gateway.web.body import ClientGone
from gateway.web.exchange import Receive, Send, invalid
from gateway.web.outbox import Outbox
from services.kit import errors
from services.kit.errors import Refusal

T = TypeVar("T")

SEND_SECONDS = 30.0
_MOST_INCOMING = 64
# RFC 6455 §7.4.1.
GOING_AWAY = 1001
POLICY_VIOLATION = 1008
INTERNAL = 1011


class Socket:
    """One accepted WebSocket."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._ending: asyncio.Future[Refusal] = asyncio.get_running_loop().create_future()

    def end(self, refusal: Refusal) -> None:
        """Closes the socket with a reason, from outside: the gateway stops, the token has ended."""
        if not self._ending.done():
            self._ending.set_result(refusal)

    async def unless_ended(self, work: Coroutine[object, object, T]) -> T:
        """Awaits `work`; raises the Refusal of `end` when that comes first."""
        task = asyncio.create_task(work)
        try:
            await asyncio.wait([task, self._ending], return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise self._ending.result()
            return await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def run(
        self, backends: Backends, route: Route, caller: CallerIdentity, request: Message, metadata: Metadata
    ) -> None:
        """Carries the stream until one side ends it; tells the client why. Raises ClientGone when it went itself."""
        incoming: asyncio.Queue[Message] = asyncio.Queue(_MOST_INCOMING)
        requests = _requests(request, incoming) if route.rpc.client_streaming else request
        stream = await backends.stream(route.rpc, caller, requests, None, metadata)
        tasks = [
            asyncio.create_task(self._read(route, incoming)),
            asyncio.create_task(self._carry(stream, route)),
        ]
        try:
            done, _ = await asyncio.wait([*tasks, self._ending], return_when=asyncio.FIRST_COMPLETED)
            reason = self._ending.result() if self._ending in done else await cast("asyncio.Task[Refusal]", done.pop())
        finally:
            stream.cancel()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await self.close(reason)

    async def close(self, refusal: Refusal) -> None:
        """Says why, and closes. Raises ClientGone."""
        await self.send_json({"closing": {"reason": refusal.message, "code": errors.reason(refusal.code)}})
        await self._bounded({"type": "websocket.close", "code": close_code(refusal)})

    async def receive_text(self) -> str:
        """The next message of the client. Raises ClientGone, and Refusal for one that is not text."""
        message = await self._receive()
        if message["type"] != "websocket.receive":
            raise ClientGone
        text = message.get("text")
        if not isinstance(text, str):
            raise invalid("a message must be text: one JSON object")
        return text

    async def send_json(self, value: object) -> None:
        """Sends one JSON object. Raises ClientGone when it cannot be sent in 30 s."""
        await self._bounded({"type": "websocket.send", "text": dump(value).decode()})

    async def _bounded(self, message: dict[str, object]) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._send(message)
        except (TimeoutError, OSError):
            raise ClientGone from None

    async def _read(self, route: Route, incoming: asyncio.Queue[Message]) -> Refusal:
        """Takes what the client sends; returns why the socket must be closed because of it."""
        request_type = route.rpc.method.input_type
        decode = decoder(request_type)
        try:
            while True:
                text = await self.receive_text()
                if not route.rpc.client_streaming:
                    raise invalid("this stream takes no messages: give its filters as query parameters")
                message = route.rpc.request_class()
                decode(message, parse(text.encode("utf-8", "surrogatepass")))
                await incoming.put(message)
        except Mismatch as mismatch:
            return mismatch.refusal()
        except Refusal as refusal:
            return refusal

    async def _carry(self, stream: Stream, route: Route) -> Refusal:
        """Sends what the service streams; returns why it ended, when all of it is sent."""
        outbox = Outbox()
        sender = asyncio.create_task(self._drain(outbox))
        filler = asyncio.create_task(_fill(stream, route, outbox))
        try:
            await asyncio.wait([sender, filler], return_when=asyncio.FIRST_COMPLETED)
            if sender.done():
                # It ends before it is told to only when nothing can be sent.
                await sender
            reason = await filler
            outbox.close()
            await sender
        finally:
            sender.cancel()
            filler.cancel()
            await asyncio.gather(sender, filler, return_exceptions=True)
        return reason

    async def _drain(self, outbox: Outbox) -> None:
        while (message := await outbox.take()) is not None:
            await self.send_json(encode_present(message))


async def _fill(stream: Stream, route: Route, outbox: Outbox) -> Refusal:
    """Takes the stream into the outbox; returns why it ended."""
    try:
        async for message in messages(stream):
            await outbox.put(message)
    except grpc.aio.AioRpcError as error:
        return refusal_of(error, route.rpc)
    return errors.unavailable(f"the {route.rpc.process} service ended the stream")


async def _requests(first: Message, incoming: asyncio.Queue[Message]) -> AsyncIterator[Message]:
    yield first
    while True:
        yield await incoming.get()


def close_code(refusal: Refusal) -> int:
    """The WebSocket close code that goes with a reason."""
    if refusal.code == ErrorCode.ERROR_CODE_UNAVAILABLE:
        return GOING_AWAY
    return INTERNAL if errors.http_status(refusal.code) >= 500 else POLICY_VIOLATION
