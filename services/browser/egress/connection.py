"""One connection from the browser to its proxy: a tunnel, or requests one after another."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from services.browser.egress import relay
from services.browser.egress.request_head import BadRequest, RequestHead, parse
from services.kit.dialer import EgressBlocked
from services.kit.hosts import Host

if TYPE_CHECKING:
    from services.browser.egress.proxy import EgressProxy

HEAD_SECONDS = 30.0
LINGER_SECONDS = 1.0
_LINGER_BYTES = 1024 * 1024
_PHRASES = {400: b"Bad Request", 403: b"Forbidden", 431: b"Request Header Fields Too Large", 502: b"Bad Gateway"}


@dataclass
class _Upstream:
    """A kept connection to one destination; `answers` copies what it says to the browser, as it is."""

    host: Host
    port: int
    writer: asyncio.StreamWriter
    answers: asyncio.Task[None]

    def close(self) -> None:
        self.answers.cancel()
        self.writer.transport.abort()


class Connection:
    """Requests of one accepted connection.

    Answers are not parsed: the browser does not pipeline, so its next request tells that the last answer is
    complete, and a destination that closes ends this connection too.
    """

    def __init__(self, proxy: EgressProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        self._upstream: _Upstream | None = None
        self._loop = asyncio.get_running_loop()
        self.moved_at = self._loop.time()

    def abort(self) -> None:
        """Close both sides at once."""
        self._writer.transport.abort()
        if self._upstream is not None:
            self._upstream.close()

    async def finish(self, seconds: float) -> None:
        """Close, and let what is written to the browser reach it, for at most so many seconds."""
        self._writer.close()
        try:
            async with asyncio.timeout(seconds):
                await self._writer.wait_closed()
        except OSError:
            return  # the browser is gone, or does not read: `abort` follows

    async def serve(self) -> None:
        """Serve until either side ends. Raises nothing for what either side does wrong."""
        try:
            while (request := await self._next_request()) is not None:
                if request.is_connect:
                    await self._tunnel(request)
                    return
                if not await self._forward(request):
                    return
        except BadRequest as error:
            await self._refuse(error.status, str(error))
        except (OSError, asyncio.IncompleteReadError):
            return  # one side is gone, which ends the connection

    async def _next_request(self) -> RequestHead | None:
        """The next request; None when the browser or the destination has ended."""
        first = asyncio.ensure_future(self._reader.read(1))
        waiting: set[asyncio.Future[bytes] | asyncio.Future[None]] = {first}
        if self._upstream is not None:
            waiting.add(self._upstream.answers)
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            ended = self._upstream is not None and self._upstream.answers.done()
            if ended or not first.done() or not first.result():
                return None
        finally:
            first.cancel()
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                rest = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise BadRequest("the head of the request is too large", 431) from None
        self._moved(0)
        self._proxy.counters.requests += 1
        return parse(first.result() + rest)

    async def _tunnel(self, request: RequestHead) -> None:
        pair = await self._dial(request)
        if pair is None:
            return
        reader, writer = pair
        self._writer.write(b"HTTP/1.1 200 Connection Established\r\n\r\n")
        self._upstream = _Upstream(request.host, request.port, writer, asyncio.ensure_future(self._answers(reader)))
        try:
            await relay.pump(self._reader, writer, self._sent)
            if writer.can_write_eof():
                writer.write_eof()
            await self._upstream.answers
        finally:
            self._upstream.close()

    async def _forward(self, request: RequestHead) -> bool:
        """Send a request on; whether the connection goes on after it."""
        upstream = self._upstream
        if upstream is None or (upstream.host, upstream.port) != (request.host, request.port):
            if upstream is not None:
                upstream.close()
                self._upstream = None
            pair = await self._dial(request)
            if pair is None:
                return False
            reader, writer = pair
            upstream = _Upstream(request.host, request.port, writer, asyncio.ensure_future(self._answers(reader)))
            self._upstream = upstream
        upstream.writer.write(request.onward)
        self._sent(len(request.onward))
        await relay.copy_body(self._reader, upstream.writer, request.body_bytes, self._sent)
        await upstream.writer.drain()
        return True

    async def _dial(self, request: RequestHead) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection to the destination, or None with the browser told.

        A failed plain request is closed without an answer: with one, an unreachable site would look like a
        site that answers. `EgressProxy.failure_of` knows what happened.
        """
        try:
            return await self._proxy.dial(request)
        except EgressBlocked as blocked:
            await self._refuse(403, f"{blocked.host}:{blocked.port} is refused by this session's network policy")
        except OSError as error:
            if request.is_connect:
                await self._refuse(502, str(error) or type(error).__name__)
        return None

    async def _answers(self, reader: asyncio.StreamReader) -> None:
        """Copy what the destination says; its end ends the browser's connection when all is delivered."""
        try:
            await relay.pump(reader, self._writer, self._got)
            if self._writer.can_write_eof():
                self._writer.write_eof()
        except OSError:
            self._writer.transport.abort()

    async def _refuse(self, status: int, text: str) -> None:
        body = text.encode("ascii", "replace") + b"\n"
        head = b"HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
        self._writer.write(head % (status, _PHRASES[status], len(body)) + body)
        if self._writer.can_write_eof():
            self._writer.write_eof()
        # Closed with unread input, the connection would be reset and the answer lost.
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                left = _LINGER_BYTES
                while left > 0 and (data := await self._reader.read(relay.CHUNK_BYTES)):
                    left -= len(data)
        except TimeoutError:
            return

    def _moved(self, _size: int) -> None:
        self.moved_at = self._loop.time()

    def _sent(self, size: int) -> None:
        self._moved(size)
        self._proxy.count_up(size)

    def _got(self, size: int) -> None:
        self._moved(size)
        self._proxy.count_down(size)
