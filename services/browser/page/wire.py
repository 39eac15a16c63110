"""Commands of one page, which a dialog ends: while one is open the renderer answers nothing (SPEC §4)."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from services.browser.cdp.message import CdpObject, Command
from services.browser.cdp.session import CdpSession

R = TypeVar("R", bound=CdpObject)


class DialogInterrupted(Exception):
    """A dialog opened while the page was asked something. What was asked goes on once the dialog is answered."""


class Wire:
    """Sends a page's commands, on whichever session of its frames, and knows which wait for answers."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[Any]] = set()
        self.dialog_open = False

    def post(self, session: CdpSession, command: Command[R], seconds: float) -> asyncio.Future[R]:
        """Send without waiting. The future also fails with DialogInterrupted."""
        future = session.post(command, timeout=seconds)
        if not future.done():
            self._waiting.add(future)
            future.add_done_callback(self._waiting.discard)
        return future

    async def send(self, session: CdpSession, command: Command[R], seconds: float) -> R:
        """Send and wait. Raises CdpFault, DialogInterrupted; cancelling forgets the answer."""
        if self.dialog_open:
            raise DialogInterrupted
        return await self.post(session, command, seconds)

    async def guard(self, answer: asyncio.Future[R], seconds: float) -> R:
        """Wait for an answer that others may wait for too. Raises as `send` does; TimeoutError after `seconds`."""
        if answer.done():
            return answer.result()
        if self.dialog_open:
            raise DialogInterrupted
        mine: asyncio.Future[R] = asyncio.get_running_loop().create_future()

        def pass_on(done: asyncio.Future[R]) -> None:
            if mine.done():
                return
            error = done.exception() if not done.cancelled() else asyncio.CancelledError()
            if error is None:
                mine.set_result(done.result())
            else:
                mine.set_exception(error)

        answer.add_done_callback(pass_on)
        self._waiting.add(mine)
        try:
            async with asyncio.timeout(seconds):
                return await mine
        finally:
            self._waiting.discard(mine)
            answer.remove_done_callback(pass_on)

    def interrupt(self) -> None:
        """A dialog that waits for a caller's answer has opened."""
        self.dialog_open = True
        for future in list(self._waiting):
            if not future.done():
                future.set_exception(DialogInterrupted())

    def resume(self) -> None:
        """The dialog is closed."""
        self.dialog_open = False
