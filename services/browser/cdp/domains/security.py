"""CDP domain Security: the commands and events this product uses."""

from __future__ import annotations

from typing import ClassVar

from services.browser.cdp.message import Command, Empty


class SetIgnoreCertificateErrors(Command[Empty]):
    METHOD: ClassVar[str] = "Security.setIgnoreCertificateErrors"
    ignore: bool
