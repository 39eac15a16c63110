"""Boxes of elements in frames, in the main frame's viewport."""

from __future__ import annotations

from msgspec.structs import replace

from services.browser.cdp.message import JsonValue
from services.browser.page.frames import Frame
from services.browser.page.page import Page
from services.browser.page.results import Box, Element, Through
from services.browser.page.world import WorldGone

_UNIT = 100.0


async def placed(page: Page, frame: Frame, elements: list[Element]) -> list[Element]:
    """The elements with their boxes moved from their frame's viewport into the main frame's."""
    if frame.parent is None or not elements:
        return elements
    try:
        left, top = await _point(page, frame, 0.0, 0.0)
        right, bottom = await _point(page, frame, _UNIT, _UNIT)
    except WorldGone:
        return elements
    wide, high = (right - left) / _UNIT, (bottom - top) / _UNIT

    def moved(box: Box) -> Box:
        return Box(left + box.x * wide, top + box.y * high, box.width * wide, box.height * high)

    return [replace(element, box=moved(element.box)) for element in elements]


async def _point(page: Page, frame: Frame, x: float, y: float) -> tuple[float, float]:
    """A point of a frame's viewport in the main frame's. Raises WorldGone."""
    await page.frames.place(1.0)
    while frame.parent is not None:
        args: dict[str, JsonValue] = {"frame": frame.id, "x": x, "y": y, "guard": 0}
        through = await page.call(frame.parent, "through", args, Through)
        if through.gone:
            raise WorldGone("its frame is gone")
        frame, x, y = frame.parent, through.x, through.y
    return x, y
