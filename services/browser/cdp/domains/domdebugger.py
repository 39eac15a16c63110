"""CDP domain DOMDebugger: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar

from services.browser.cdp.message import CdpObject, Command


class EventListener(CdpObject):
    type: str
    use_capture: bool
    passive: bool
    once: bool
    backend_node_id: int | None = None


class GetEventListenersResult(CdpObject):
    listeners: list[EventListener]


class GetEventListeners(Command[GetEventListenersResult]):
    METHOD: ClassVar[str] = "DOMDebugger.getEventListeners"
    object_id: str
    depth: int | None = None
    pierce: bool | None = None
