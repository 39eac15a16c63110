"""Dragging: pressed on one element, moved in steps, let go over another; with data transfer where a page has it.

Chromium starts no drag of its own that input could not end: it hands the data over (Input.setInterceptDrags), and the
drag is gone through with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hyperkitty.browser.v1 import targets_pb2 as pb

from services.browser.cdp.domains import input as cdp_input
from services.browser.cdp.message import Command, Empty
from services.browser.page import pointer
from services.browser.page.acting import Aim, Cleared, aim, disarm, reached_other
from services.browser.page.page import Page
from services.browser.page.results import DragSeen
from services.browser.page.targeting import Found, Need
from services.browser.page.wire import DialogInterrupted
from services.browser.page.world import WorldGone
from services.kit.deadlines import current_budget

STEPS = 8
START_SECONDS = 2.0
"""How long Chromium may take to hand over what is dragged, once the page has let the drag begin."""
CLEAN_SECONDS = 2.0


async def drag(page: Page, source: pb.Target, destination: pb.Target, cleared: Cleared) -> tuple[Found, Found]:
    """Drag one thing onto another. Raises Refusal, obscured when something else would be dragged."""
    seconds = current_budget().remaining()
    started = _Started(page)
    try:
        # Both are there and can be reached, before anything is pressed.
        await aim(page, destination, _need(destination), cleared, guard=False)
        aimed = await aim(page, source, _need(source), cleared)
        await page.wire.send(page.session, cdp_input.SetInterceptDrags(enabled=True), seconds)
        await page.call(aimed.found.frame, "watchDrag", {}, DragSeen)
        await pointer.send(page, [_mouse("mouseMoved", aimed.x, aimed.y, 0), _mouse("mousePressed", aimed.x, aimed.y)])
        await _check_pressed(page, aimed)
        return aimed.found, await _carry(page, aimed, destination, started)
    except (DialogInterrupted, WorldGone):
        _let_go(page)
        raise
    finally:
        started.unsubscribe()
        page.session.post(cdp_input.SetInterceptDrags(enabled=False), timeout=CLEAN_SECONDS)


class _Started:
    """What Chromium hands over when the page begins a drag."""

    def __init__(self, page: Page) -> None:
        self.data: asyncio.Future[cdp_input.DragData] = asyncio.get_running_loop().create_future()
        self.unsubscribe = page.session.on(cdp_input.DragIntercepted, self._heard)

    def _heard(self, event: cdp_input.DragIntercepted) -> None:
        if not self.data.done():
            self.data.set_result(event.data)


def _need(target: pb.Target) -> Need:
    return Need(visible=target.WhichOneof("by") != "point", enabled=False)


async def _check_pressed(page: Page, aimed: Aim) -> None:
    """The press must have reached the source. Raises Refusal obscured."""
    finished = await disarm(page, aimed.found)
    if finished is not None and finished.stopped is not None:
        _let_go(page, aimed.x, aimed.y)
        raise reached_other(aimed.found, finished.stopped, finished.delivered)


async def _carry(page: Page, aimed: Aim, destination: pb.Target, started: _Started) -> Found:
    """From the pressed source to the destination, which may have moved meanwhile."""
    try:
        over = await aim(page, destination, _need(destination), _nothing, guard=False)
        steps = _between((aimed.x, aimed.y), (over.x, over.y))
        # The first ones are enough for a page to begin a drag.
        await pointer.send(page, [_mouse("mouseMoved", x, y) for x, y in steps[:3]])
        if await _has_begun(page, aimed.found):
            async with asyncio.timeout(min(START_SECONDS, current_budget().remaining())):
                data = await asyncio.shield(started.data)
            await pointer.send(page, _drops(data, steps[3:]))
        else:
            await pointer.send(page, [_mouse("mouseMoved", x, y) for x, y in steps[3:]])
    except BaseException:
        _let_go(page, aimed.x, aimed.y)
        raise
    await pointer.send(page, [_mouse("mouseReleased", over.x, over.y)])
    return over.found


async def _has_begun(page: Page, found: Found) -> bool:
    """Whether the page had a dragstart and let it be; heard of when the moves are answered."""
    seen = await page.call(found.frame, "dragSeen", {}, DragSeen)
    return seen.begun and not seen.prevented


def _drops(data: cdp_input.DragData, steps: Sequence[tuple[float, float]]) -> list[Command[Empty]]:
    (first_x, first_y), (last_x, last_y) = steps[0], steps[-1]
    return [
        cdp_input.DispatchDragEvent(type="dragEnter", x=first_x, y=first_y, data=data),
        *(cdp_input.DispatchDragEvent(type="dragOver", x=x, y=y, data=data) for x, y in steps),
        cdp_input.DispatchDragEvent(type="drop", x=last_x, y=last_y, data=data),
    ]


def _between(start: tuple[float, float], end: tuple[float, float]) -> list[tuple[float, float]]:
    """Points on the way, the last twice: some pages want to see the pointer rest."""
    parts = [step / STEPS for step in range(1, STEPS + 1)]
    return [
        *((start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part) for part in parts),
        end,
    ]


def _mouse(kind: pointer.MouseKind, x: float, y: float, buttons: int = 1) -> Command[Empty]:
    return cdp_input.DispatchMouseEvent(
        type=kind,
        x=x,
        y=y,
        button="left" if kind != "mouseMoved" or buttons else "none",
        buttons=0 if kind == "mouseReleased" else buttons,
        click_count=None if kind == "mouseMoved" else 1,
    )


def _let_go(page: Page, x: float = 0, y: float = 0) -> None:
    """Never leave a button pressed."""
    page.session.post(_mouse("mouseReleased", x, y), timeout=CLEAN_SECONDS)


async def _nothing() -> None:
    """The gate is open already."""
