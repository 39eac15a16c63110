"""The requests of a page, kept for whoever asks later: the last 2,000 of a tab, credentials masked (SPEC §4)."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlsplit, urlunsplit

from services.browser.cdp.domains import network
from services.browser.cdp.session import CdpSession

MOST_ENTRIES = 2000
MOST_URL = 2000
MASK = "•••"
_NO_CONTENT = frozenset({204, 205})
_SECRET = re.compile(
    r"(?i)([?&;#](?:[\w.-]*(?:token|secret|passw(?:or)?d|signature|credential|api[_-]?key)[\w.-]*|auth|key|sig|code|jwt|sid)=)"
    r"[^&;#]*"
)


@dataclass(slots=True)
class Entry:
    """One request; a redirect is one more."""

    number: int
    method: str
    url: str
    resource_type: str
    started_at_ms: int
    began: float
    status: int = 0
    net_error: str = ""
    bytes: int = 0
    duration_ms: int = 0


class Requests:
    """Hears the network events of a page's processes; the oldest entries make room."""

    def __init__(self) -> None:
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        self._present: OrderedDict[str, Entry] = OrderedDict()
        self.number = 0

    def hear(self, session: CdpSession) -> None:
        """Listen on one of the page's sessions."""
        session.on(network.RequestWillBeSent, self._sent)
        session.on(network.ResponseReceived, self._answered)
        session.on(network.LoadingFinished, self._finished)
        session.on(network.LoadingFailed, self._failed)
        session.on(network.WebSocketCreated, self._socket)

    def since(self, number: int, limit: int) -> list[Entry]:
        """The first `limit` entries after a number, oldest first."""
        return list(islice((entry for entry in self._entries.values() if entry.number > number), limit))

    def _sent(self, event: network.RequestWillBeSent) -> None:
        before = self._present.get(event.request_id)
        if before is not None and event.redirect_response is not None:
            before.status = event.redirect_response.status
            before.duration_ms = _milliseconds(before, event.timestamp)
        kind = (event.type or "other").lower()
        self._add(
            event.request_id, event.request.method, event.request.url, kind, event.wall_time * 1000, event.timestamp
        )

    def _socket(self, event: network.WebSocketCreated) -> None:
        self._add(event.request_id, "GET", event.url, "websocket", 0.0, 0.0)

    def _add(self, request_id: str, method: str, url: str, kind: str, at_ms: float, began: float) -> None:
        self.number += 1
        entry = Entry(self.number, method, masked_url(url), kind, int(at_ms), began)
        self._entries[entry.number] = self._present[request_id] = entry
        self._present.move_to_end(request_id)
        if len(self._entries) > MOST_ENTRIES:
            self._entries.popitem(last=False)
        if len(self._present) > MOST_ENTRIES:
            self._present.popitem(last=False)

    def _answered(self, event: network.ResponseReceived) -> None:
        entry = self._present.get(event.request_id)
        if entry is not None:
            entry.status = event.response.status

    def _finished(self, event: network.LoadingFinished) -> None:
        entry = self._present.pop(event.request_id, None)
        if entry is not None:
            entry.bytes = int(event.encoded_data_length)
            entry.duration_ms = _milliseconds(entry, event.timestamp)

    def _failed(self, event: network.LoadingFailed) -> None:
        entry = self._present.pop(event.request_id, None)
        if entry is not None:
            # An answer without content ends as cancelled too, and did not fail.
            entry.net_error = "" if event.canceled and entry.status in _NO_CONTENT else event.error_text
            entry.duration_ms = _milliseconds(entry, event.timestamp)


def _milliseconds(entry: Entry, now: float) -> int:
    """At least 1: 0 says that it is in flight."""
    return max(1, round((now - entry.began) * 1000))


def masked_url(url: str) -> str:
    """A URL without user name, password and what parameters named like secrets hold; data: URLs without their data."""
    if url[:5].lower() == "data:":
        return url.partition(",")[0][:200] + ","
    if "@" in url:
        try:
            parts = urlsplit(url)
        except ValueError:
            return MASK  # what cannot be taken apart may hold anything
        _, at, host = parts.netloc.rpartition("@")
        if at:
            url = urlunsplit(parts._replace(netloc=f"{MASK}@{host}"))
    return _SECRET.sub(rf"\g<1>{MASK}", url)[:MOST_URL]
