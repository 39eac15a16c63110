"""What a page writes to its console, kept for whoever asks later: the last 2,000 entries of a tab (SPEC §4)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice

from msgspec.json import Decoder

from services.browser.cdp.domains import log, runtime
from services.browser.cdp.session import CdpSession

MOST_ENTRIES = 2000
MOST_CHARACTERS = 2000
RELEASE_EVERY = 200
"""Entries after which the objects that were written are let go: the page would keep them for us."""
RELEASE_SECONDS = 5.0
_string = Decoder(str)
_LEVELS = {"warning": "warning", "error": "error", "assert": "error", "debug": "debug", "info": "info"}


@dataclass(frozen=True, slots=True)
class Line:
    """One entry. The text is the page's."""

    number: int
    level: str
    text: str
    url: str
    line: int
    at_ms: int


class Console:
    """Hears the consoles of a page's frames and workers; the oldest entries make room."""

    def __init__(self) -> None:
        self._lines: deque[Line] = deque(maxlen=MOST_ENTRIES)
        self.number = 0

    def hear(self, session: CdpSession) -> None:
        """Listen on one of the page's sessions."""
        session.on(runtime.ConsoleAPICalled, lambda event: self._called(session, event))
        session.on(runtime.ExceptionThrown, self._thrown)
        session.on(log.EntryAdded, self._logged)

    def since(self, number: int, limit: int) -> list[Line]:
        """The first `limit` entries after a number, oldest first."""
        return list(islice((line for line in self._lines if line.number > number), limit))

    def _called(self, session: CdpSession, event: runtime.ConsoleAPICalled) -> None:
        frame = event.stack_trace.call_frames[0] if event.stack_trace and event.stack_trace.call_frames else None
        text = " ".join(_text(argument) for argument in event.args[:50])
        self._add(
            _LEVELS.get(event.type, "log"),
            text,
            frame.url if frame else "",
            frame.line_number + 1 if frame else 0,
            event.timestamp,
        )
        if self.number % RELEASE_EVERY == 0:
            session.post(runtime.ReleaseObjectGroup(object_group="console"), timeout=RELEASE_SECONDS)

    def _thrown(self, event: runtime.ExceptionThrown) -> None:
        details = event.exception_details
        text = (details.exception and details.exception.description) or details.text
        self._add("exception", text, details.url or "", details.line_number + 1, event.timestamp)

    def _logged(self, event: log.EntryAdded) -> None:
        entry = event.entry
        level = {"verbose": "debug"}.get(entry.level, entry.level)
        self._add(level, entry.text, entry.url or "", (entry.line_number or -1) + 1, entry.timestamp)

    def _add(self, level: str, text: str, url: str, line: int, at_ms: float) -> None:
        self.number += 1
        self._lines.append(Line(self.number, level, text[:MOST_CHARACTERS], url[:MOST_CHARACTERS], line, int(at_ms)))


def _text(argument: runtime.RemoteObject) -> str:
    """As a console shows it."""
    if argument.type == "string":
        return _string.decode(argument.value)
    if argument.unserializable_value is not None:
        return argument.unserializable_value
    if argument.description is not None:
        return argument.description
    return bytes(argument.value).decode() or argument.type
