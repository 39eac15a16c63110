"""How a CDP call can fail. All are raised to the caller of the command; none is retried here."""

from __future__ import annotations


class CdpFault(Exception):
    """Base of everything the client raises."""


class CdpError(CdpFault):
    """The browser answered the command with an error."""

    def __init__(self, code: int, message: str, method: str = "") -> None:
        super().__init__(f"{method}: {message} ({code})" if method else f"{message} ({code})")
        self.code = code
        self.message = message
        self.method = method


class CdpClosed(CdpFault):
    """The connection, or the session the command was sent on, is gone; nothing says whether the command ran."""


class CdpTimeout(CdpFault, TimeoutError):
    """No answer in time. The command may still run in the browser; a late answer is dropped and counted."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"{method}: no answer in {seconds:g} s")
        self.method = method
        self.seconds = seconds


class CdpMalformed(CdpFault):
    """The browser's answer does not have the shape the table gives it."""


class CdpOverloaded(CdpFault):
    """As many commands as the client allows are waiting for answers; this one was not sent."""
