"""A page's requests as far as waiting needs them: how documents were answered, whether anything is in flight."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from services.browser.cdp.domains import network
from services.browser.cdp.session import CdpSession
from services.browser.page.conditions import Conditions

QUIET_SECONDS = 0.5
LONG_SECONDS = 10.0
"""A request that takes longer is a poll or a stream: it does not hold a page back from being idle (SPEC §4)."""
MOST_DOCUMENTS = 100
MOST_REQUESTS = 5000


@dataclass(slots=True)
class DocumentAnswer:
    """How a document's request was answered, by its loader id."""

    status: int = 0
    net_error: str = ""
    cancelled: bool = False
    challenge: str = ""
    """What it asked for with 401: the WWW-Authenticate header."""


class Traffic:
    """Hears a page's network events."""

    def __init__(self, conditions: Conditions, clock: Callable[[], float]) -> None:
        self._conditions = conditions
        self._clock = clock
        self._documents: OrderedDict[str, DocumentAnswer] = OrderedDict()
        self._in_flight: OrderedDict[str, float] = OrderedDict()
        self._last_end = clock()
        self._changes = 0

    def hear(self, session: CdpSession) -> None:
        """Listen on one of the page's sessions."""
        session.on(network.RequestWillBeSent, self._sent)
        session.on(network.ResponseReceived, self._answered)
        session.on(network.LoadingFinished, lambda event: self._ended(event.request_id))
        session.on(network.LoadingFailed, self._failed)

    def document(self, loader_id: str) -> DocumentAnswer:
        """What is known of a document's request."""
        return self._documents.get(loader_id) or DocumentAnswer()

    def _document(self, loader_id: str) -> DocumentAnswer:
        answer = self._documents.get(loader_id)
        if answer is None:
            answer = self._documents[loader_id] = DocumentAnswer()
            if len(self._documents) > MOST_DOCUMENTS:
                self._documents.popitem(last=False)
        return answer

    def _sent(self, event: network.RequestWillBeSent) -> None:
        if event.request.url.startswith(("data:", "blob:")):
            return
        self._in_flight.setdefault(event.request_id, self._clock())
        if len(self._in_flight) > MOST_REQUESTS:
            self._in_flight.popitem(last=False)
        self._changed()

    def _answered(self, event: network.ResponseReceived) -> None:
        if event.request_id == event.loader_id:
            answer = self._document(event.loader_id)
            answer.status = event.response.status
            answer.challenge = next(
                (value for name, value in event.response.headers.items() if name.lower() == "www-authenticate"), ""
            )

    def _failed(self, event: network.LoadingFailed) -> None:
        if event.type == "Document":
            answer = self._document(event.request_id)
            answer.net_error, answer.cancelled = event.error_text, bool(event.canceled)
        self._ended(event.request_id)

    def _changed(self) -> None:
        self._changes += 1
        self._conditions.happened()

    def _ended(self, request_id: str) -> None:
        if self._in_flight.pop(request_id, None) is not None:
            self._last_end = self._clock()
            self._changed()

    def quiet_in(self) -> float:
        """Seconds until the page is idle, or until it is worth looking again, if nothing more happens; 0 when it is."""
        now = self._clock()
        short = [LONG_SECONDS - (now - started) for started in self._in_flight.values()]
        due = [left for left in short if left > 0]
        if due:
            return min(due)
        last = max([self._last_end, *(now + left for left in short)])
        return max(0.0, last + QUIET_SECONDS - now)

    async def idle(self, seconds: float) -> None:
        """Wait until no request was in flight for QUIET_SECONDS. Raises TimeoutError after `seconds`."""
        async with asyncio.timeout(seconds):
            while (left := self.quiet_in()) > 0:
                seen = self._changes
                with suppress(TimeoutError):
                    await self._conditions.until(lambda seen=seen: self._changes != seen, left)
