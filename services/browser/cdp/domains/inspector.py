"""CDP domain Inspector: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar

from services.browser.cdp.message import Command, Empty, Event


class Enable(Command[Empty]):
    METHOD: ClassVar[str] = "Inspector.enable"


class TargetCrashed(Event):
    METHOD: ClassVar[str] = "Inspector.targetCrashed"


class TargetReloadedAfterCrash(Event):
    METHOD: ClassVar[str] = "Inspector.targetReloadedAfterCrash"


class Detached(Event):
    METHOD: ClassVar[str] = "Inspector.detached"
    reason: str
