"""One flattened CDP session: what commands are sent on and events are heard from."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec import DecodeError, Raw, Struct

from services.browser.cdp.errors import CdpMalformed
from services.browser.cdp.message import CdpObject, Command, Event, decoder_of

if TYPE_CHECKING:
    from msgspec.json import Decoder

    from services.browser.cdp.client import CdpClient

log = logging.getLogger(__name__)

R = TypeVar("R", bound=CdpObject)
E = TypeVar("E", bound=Event)
_Callback = Callable[[Event], None]


class _Subscription(Struct):
    """The callbacks for one event of a session; the tuple is replaced, never changed, so a pass over it is safe."""

    decoder: Decoder[Event]
    callbacks: tuple[_Callback, ...] = ()


class CdpSession:
    """A connection to one target (`id` None: to the browser itself). Made by the client, when a target is attached."""

    __slots__ = ("_client", "_on_closed", "_subscriptions", "closed_reason", "id", "parent")

    def __init__(self, client: CdpClient, session_id: str | None, parent: CdpSession | None) -> None:
        self._client = client
        self._subscriptions: dict[str, _Subscription] = {}
        self._on_closed: list[Callable[[str], None]] = []
        self.id = session_id
        self.parent = parent
        self.closed_reason: str | None = None
        """Why nothing can be sent any more; None while the session is open."""

    async def send(self, command: Command[R], *, timeout: float) -> R:
        """Send a command and wait for its result, for at most `timeout` seconds.

        Raises CdpError (the browser refused), CdpTimeout, CdpClosed, CdpMalformed, CdpOverloaded. Cancelling
        the call forgets the answer; the browser may still run the command.
        """
        if self._client.congested:
            timeout = await self._client.drained(command.METHOD, timeout)
        return await self._client.post(self, command, timeout)

    def post(self, command: Command[R], *, timeout: float) -> asyncio.Future[R]:
        """Send a command now and return its future result: commands posted in a row run in that order.

        The future fails as `send` does, and may be dropped. For a handful of commands: it does not wait for
        the pipe to drain.
        """
        return self._client.post(self, command, timeout)

    def on(self, kind: type[E], callback: Callable[[E], None]) -> Callable[[], None]:
        """Call `callback` for each event of `kind` on this session; returns what ends that.

        Callbacks run one after another as messages arrive, so they must be quick; one that raises is logged
        and counted, and the others still run.
        """
        heard = cast("_Callback", callback)
        subscription = self._subscriptions.get(kind.METHOD)
        if subscription is None:
            subscription = _Subscription(cast("Decoder[Event]", decoder_of(kind)))
            self._subscriptions[kind.METHOD] = subscription
        subscription.callbacks = (*subscription.callbacks, heard)

        def unsubscribe() -> None:
            kept = list(subscription.callbacks)
            if heard in kept:
                kept.remove(heard)
            subscription.callbacks = tuple(kept)

        return unsubscribe

    def on_closed(self, callback: Callable[[str], None]) -> None:
        """Call `callback` with the reason once the session is gone: at once when it already is."""
        if self.closed_reason is not None:
            callback(self.closed_reason)
        else:
            self._on_closed.append(callback)

    def child(self, session_id: str) -> CdpSession | None:
        """The session of a target that was attached through this one; None when it is gone again."""
        return self._client.session(session_id)

    # for the client

    def deliver(self, method: str, params: Raw) -> bool:
        """Decode an event and call its callbacks. False when nobody listens. Raises CdpMalformed."""
        subscription = self._subscriptions.get(method)
        if subscription is None or not subscription.callbacks:
            return False
        try:
            event = subscription.decoder.decode(params)
        except DecodeError as error:
            raise CdpMalformed(f"{method}: {error}") from error
        for callback in subscription.callbacks:
            self._client.guarded(lambda callback=callback: callback(event), method)
        return True

    def mark_closed(self, reason: str) -> None:
        """Nothing can be sent from here on; whoever asked is told."""
        if self.closed_reason is None:
            self.closed_reason = reason
            waiting, self._on_closed = self._on_closed, []
            for callback in waiting:
                self._client.guarded(lambda callback=callback: callback(reason), "closing")
