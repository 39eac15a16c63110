"""The CDP client: ids, answers, events, flattened sessions. One client is one browser.

No retries and no policy: a command fails as it failed, and what to do about it is its caller's to say.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

from msgspec import DecodeError
from msgspec.json import Decoder, Encoder

from services.browser.cdp.domains.target import AttachedToTarget, DetachedFromTarget
from services.browser.cdp.errors import CdpClosed, CdpError, CdpMalformed, CdpOverloaded, CdpTimeout
from services.browser.cdp.framing import without_lone_surrogates
from services.browser.cdp.message import CdpObject, Command, Incoming, Outgoing, decoder_of, result_decoder
from services.browser.cdp.session import CdpSession
from services.browser.cdp.transport import MAX_MESSAGE_BYTES, PipeTransport, Transport

log = logging.getLogger(__name__)

MAX_PENDING = 4096

R = TypeVar("R", bound=CdpObject)

_incoming = Decoder(Incoming)
_encode = Encoder().encode


@dataclass(slots=True)
class _Pending:
    """A command that was sent and has no answer yet."""

    method: str
    session: CdpSession
    decoder: Decoder[CdpObject]
    future: asyncio.Future[CdpObject]


@dataclass(slots=True)
class Counters:
    """What passed, and what was dropped."""

    commands: int = 0
    messages: int = 0
    events_dropped: int = 0
    answers_dropped: int = 0
    malformed: int = 0
    failed_callbacks: int = 0


class CdpClient:
    """A browser's pipe. `browser` is the session of the browser itself; every attached target has its own."""

    def __init__(self) -> None:
        self._transport: Transport | None = None
        self._pending: dict[int, _Pending] = {}
        self._next_id = 1
        self._loop = asyncio.get_running_loop()
        self.counters = Counters()
        self.browser = CdpSession(self, None, None)
        self._sessions: dict[str | None, CdpSession] = {None: self.browser}

    @classmethod
    async def over(cls, pipe: socket.socket, max_message_bytes: int = MAX_MESSAGE_BYTES) -> CdpClient:
        """A client over a connected stream socket, which it owns from here on.

        A longer message than `max_message_bytes` closes it: what follows could not be told apart any more.
        """
        client = cls()
        client.attach(await PipeTransport.connect(pipe, client.on_message, client.on_closed, max_message_bytes))
        return client

    def attach(self, transport: Transport) -> None:
        """Use `transport`, which calls `on_message` and `on_closed`."""
        self._transport = transport

    @property
    def congested(self) -> bool:
        """Whether the browser is slow in taking what was sent; `send` waits then, `post` does not."""
        return self._transport is not None and self._transport.congested

    def session(self, session_id: str) -> CdpSession | None:
        """The session of an attached target; there from before `Target.attachedToTarget` is heard."""
        return self._sessions.get(session_id)

    def close(self) -> None:
        """Close the pipe and fail everything that waits, at once. The browser ends by itself when it sees that."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()
        self.on_closed("the client was closed")

    # what sessions use

    async def drained(self, method: str, timeout: float) -> float:
        """Wait for room in the pipe; returns what is left of `timeout` seconds. Raises CdpTimeout."""
        started = self._loop.time()
        if self._transport is not None:
            try:
                await asyncio.wait_for(self._transport.drained(), timeout)
            except TimeoutError:
                raise CdpTimeout(method, timeout) from None
        return timeout - (self._loop.time() - started)

    def post(self, session: CdpSession, command: Command[R], timeout: float) -> asyncio.Future[R]:
        """Write a command; the future is its result. See `CdpSession.post`."""
        future: asyncio.Future[R] = self._loop.create_future()
        transport = self._transport
        if transport is None or session.closed_reason is not None:
            future.set_exception(CdpClosed(f"{command.METHOD}: {session.closed_reason or 'not connected'}"))
        elif len(self._pending) >= MAX_PENDING:
            future.set_exception(CdpOverloaded(f"{command.METHOD}: {MAX_PENDING} commands wait for their answers"))
        else:
            self._send(session, command, timeout, future, transport)
        if future.done():
            future.exception()
        return future

    def _send(
        self,
        session: CdpSession,
        command: Command[R],
        timeout: float,
        future: asyncio.Future[R],
        transport: Transport,
    ) -> None:
        number = self._next_id
        self._next_id += 1
        message = _encode(Outgoing(id=number, method=command.METHOD, params=command, session_id=session.id))
        decoder = cast("Decoder[CdpObject]", result_decoder(type(command)))
        self._pending[number] = _Pending(command.METHOD, session, decoder, cast("asyncio.Future[CdpObject]", future))
        timer = self._loop.call_later(timeout, _expire, future, command.METHOD, timeout)

        def settled(done: asyncio.Future[R]) -> None:
            timer.cancel()
            self._pending.pop(number, None)
            if not done.cancelled():
                done.exception()  # marks it as seen: a posted command's failure may be dropped

        future.add_done_callback(settled)
        self.counters.commands += 1
        transport.write(message)

    def guarded(self, call: Callable[[], None], what: str) -> None:
        """Run a callback; one that raises is logged and counted, and stops nothing."""
        try:
            call()
        except Exception:
            self.counters.failed_callbacks += 1
            log.exception("a callback for %s failed", what)

    # what the transport calls

    def on_message(self, data: bytes) -> None:
        """One message from the browser."""
        self.counters.messages += 1
        try:
            message = _incoming.decode(data)
        except DecodeError:
            try:
                message = _incoming.decode(without_lone_surrogates(data))
            except ValueError:
                self.counters.malformed += 1
                log.exception("a CDP message of %d bytes cannot be read", len(data))
                return
        if message.id is not None:
            self._answer(message.id, message)
        elif message.method is not None:
            self._event(message.method, message)

    def _answer(self, number: int, message: Incoming) -> None:
        pending = self._pending.pop(number, None)
        if pending is None or pending.future.done():
            self.counters.answers_dropped += 1
        elif message.error is not None:
            pending.future.set_exception(CdpError(message.error.code, message.error.message, pending.method))
        else:
            try:
                pending.future.set_result(pending.decoder.decode(message.result))
            except DecodeError as error:
                self.counters.malformed += 1
                pending.future.set_exception(CdpMalformed(f"{pending.method}: {error}"))

    def _event(self, method: str, message: Incoming) -> None:
        session = self._sessions.get(message.session_id)
        if session is None:
            self.counters.events_dropped += 1
            return
        try:
            if method == AttachedToTarget.METHOD:
                attached = decoder_of(AttachedToTarget).decode(message.params).session_id
                self._sessions[attached] = CdpSession(self, attached, session)
            if not session.deliver(method, message.params):
                self.counters.events_dropped += 1
            if method == DetachedFromTarget.METHOD:
                self._detach(decoder_of(DetachedFromTarget).decode(message.params).session_id)
        except (CdpMalformed, DecodeError):
            self.counters.malformed += 1
            log.exception("the event %s does not have its shape", method)

    def _detach(self, session_id: str) -> None:
        session = self._sessions.pop(session_id, None)
        if session is None:
            return
        for child in [child for child in self._sessions.values() if child.parent is session and child.id]:
            self._detach(child.id or "")
        self._fail_session(session, "the target was detached")

    def _fail_session(self, session: CdpSession, reason: str) -> None:
        for pending in [waiting for waiting in self._pending.values() if waiting.session is session]:
            if not pending.future.done():
                pending.future.set_exception(CdpClosed(f"{pending.method}: {reason}"))
        session.mark_closed(reason)

    def on_closed(self, reason: str) -> None:
        """The pipe is gone: everything that waits fails, every session is closed."""
        self._transport = None
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:  # the browser's is the first: whoever loses a page can see that all is lost
            self._fail_session(session, reason)


def _expire(future: asyncio.Future[R], method: str, seconds: float) -> None:
    if not future.done():
        future.set_exception(CdpTimeout(method, seconds))
