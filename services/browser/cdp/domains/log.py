"""CDP domain Log: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar

from services.browser.cdp.message import CdpObject, Command, Empty, Event


class LogEntry(CdpObject):
    source: str
    level: str
    text: str
    timestamp: float
    url: str | None = None
    line_number: int | None = None
    network_request_id: str | None = None


class Enable(Command[Empty]):
    METHOD: ClassVar[str] = "Log.enable"


class EntryAdded(Event):
    METHOD: ClassVar[str] = "Log.entryAdded"
    entry: LogEntry
