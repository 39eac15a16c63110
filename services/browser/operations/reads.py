"""What all operations that read a page have in common: a dialog or a change of document ends them with why."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.page.reading import MovedOn
from services.browser.page.wire import DialogInterrupted
from services.browser.page.world import WorldGone
from services.browser.tab import Tab
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal


@asynccontextmanager
async def still(tab: Tab) -> AsyncGenerator[None]:
    """The tab's turn, for a read that a write would disturb: a picture and a commit hold each other up in Chromium."""
    async with current_budget().limit():
        await tab.writes.acquire()
    try:
        yield
    finally:
        tab.writes.release()


@contextmanager
def reading(tab: Tab) -> Generator[None]:
    """Turns what interrupts a read into refusals: dialog_open, wrong_state."""
    try:
        yield
    except DialogInterrupted:
        tab.check_usable()
        raise Refusal(
            ErrorCode.ERROR_CODE_DIALOG_OPEN, "a dialog opened meanwhile", details={"tab_id": tab.tab_id}
        ) from None
    except WorldGone as error:
        raise MovedOn(
            ErrorCode.ERROR_CODE_WRONG_STATE,
            "the page went on to another document meanwhile",
            hint="Do it again; wait_until of navigate says what to wait for.",
            details={"url": tab.page.url},
        ) from error
