"""CDP domain IO: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar

from services.browser.cdp.message import CdpObject, Command, Empty


class ReadResult(CdpObject):
    data: str
    eof: bool
    base64_encoded: bool | None = None


class Read(Command[ReadResult]):
    METHOD: ClassVar[str] = "IO.read"
    handle: str
    offset: int | None = None
    size: int | None = None


class Close(Command[Empty]):
    METHOD: ClassVar[str] = "IO.close"
    handle: str
