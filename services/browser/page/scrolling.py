"""Scrolling: a turn of the wheel, or bringing an element into view; ends when the scroller has come to rest."""

from __future__ import annotations

from hyperkitty.browser.v1 import targets_pb2 as pb

from services.browser.cdp.message import JsonValue
from services.browser.page import pointer
from services.browser.page.acting import Cleared, aim
from services.browser.page.page import Page
from services.browser.page.results import Box, Scroller
from services.browser.page.targeting import Need, locate, ref_entry, stale, waiting_seconds
from services.browser.page.wire import DialogInterrupted

REST_SECONDS = 3.0
"""A scroller that does not come to rest by then (a page that scrolls itself) is told as it is."""


async def by_wheel(page: Page, target: pb.Target | None, delta_x: float, delta_y: float, cleared: Cleared) -> Scroller:
    """Turn the wheel over an element, or over the middle of the viewport. Raises Refusal, DialogInterrupted."""
    frame, handle = page.frames.main, 0
    if target is not None:
        aimed = await aim(page, target, Need(enabled=False), cleared, guard=False)
        frame, handle, x, y = aimed.found.frame, aimed.found.handle, aimed.x, aimed.y
    else:
        view = await page.call(frame, "view", {}, Box)
        await cleared()
        x, y = view.width / 2, view.height / 2
    args: dict[str, JsonValue] = {"handle": handle, "x": x, "y": y, "deltaX": delta_x, "deltaY": delta_y}
    before = await page.call(frame, "wheelTarget", args, Scroller)
    seconds = min(REST_SECONDS, waiting_seconds())
    rest: dict[str, JsonValue] = {
        "handle": before.handle, "x": before.x, "y": before.y, "milliseconds": seconds * 1000,
    }  # fmt: skip
    try:
        await pointer.send(page, [pointer.wheel(x, y, delta_x, delta_y)])
        after = await page.call(frame, "scrollRest", rest, Scroller, seconds)
    except DialogInterrupted:
        return before
    return after


async def into_view(page: Page, target: pb.Target, cleared: Cleared) -> Scroller:
    """Bring an element into view. Raises Refusal, DialogInterrupted."""
    found = await locate(page, target, Need(visible=False, enabled=False))
    await cleared()
    seconds = min(REST_SECONDS, waiting_seconds())
    args: dict[str, JsonValue] = {"handle": found.handle, "milliseconds": seconds * 1000}
    after = await page.call(found.frame, "reveal", args, Scroller, seconds)
    if after.gone:
        raise await stale(page, ref_entry(page, found.element.ref))
    return after
