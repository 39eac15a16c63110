"""What a page keeps in the browser beside cookies: read from its frames, and put back without asking any site."""

from __future__ import annotations

from services.browser.cdp.domains import fetch
from services.browser.cdp.message import JsonValue
from services.browser.page.page import Page
from services.browser.page.results import Kept, Restored
from services.browser.page.wire import DialogInterrupted
from services.browser.page.world import WorldGone
from services.kit.deadlines import current_budget

BLANK = b"<!doctype html><title></title>"


async def kept_by(page: Page) -> list[Kept]:
    """Local and session storage of the origins that a page's frames have now; frames without any are left out."""
    found: list[Kept] = []
    for frame in page.frames.all():
        try:
            kept = await page.call(frame, "keptHere", {}, Kept)
        except (WorldGone, DialogInterrupted):
            continue
        if kept.origin and (kept.local or kept.session):
            found.append(kept)
    return found


async def answer_with_nothing(page: Page) -> None:
    """From now on every request of the page is answered with an empty document, and reaches no site."""
    page.authentication.switch_off()
    seconds = current_budget().remaining()

    def answer(event: fetch.RequestPaused) -> None:
        command = fetch.FulfillRequest(
            request_id=event.request_id,
            response_code=200,
            response_headers=[fetch.HeaderEntry(name="content-type", value="text/html")],
            body=BLANK,
        )
        page.session.post(command, timeout=seconds)

    page.session.on(fetch.RequestPaused, answer)
    await page.wire.send(page.session, fetch.Enable(), seconds)


async def restore(page: Page, kept: Kept) -> bool:
    """Put local storage back in a page that is at its origin. False where the page is elsewhere, or has no room."""
    args: dict[str, JsonValue] = {"origin": kept.origin, "local": [list(item) for item in kept.local]}
    return (await page.call(page.frames.main, "putBack", args, Restored)).done
