"""Text of a page as people see it, found over all its frames."""

from __future__ import annotations

from msgspec.structs import replace

from services.browser.cdp.message import JsonValue
from services.browser.page.page import Page
from services.browser.page.placing import placed
from services.browser.page.results import TextFound, TextPlace
from services.browser.page.targeting import waiting_seconds
from services.browser.page.world import WorldGone

SLICE_SECONDS = 2.0


async def find_text(page: Page, text: str, limit: int, *, match_case: bool) -> tuple[list[TextPlace], int]:
    """At most `limit` places, and how many there are. White space is one space. Raises Refusal, DialogInterrupted."""
    places: list[TextPlace] = []
    total = 0
    for frame in page.frames.all():
        args: dict[str, JsonValue] = {
            "text": text,
            "matchCase": match_case,
            "limit": max(0, limit - len(places)),
            "milliseconds": min(SLICE_SECONDS, waiting_seconds()) * 1000,
        }
        try:
            found = await page.minting(frame, "findText", args, TextFound, limit, SLICE_SECONDS)
        except WorldGone:
            continue
        total += found.total
        boxes = await placed(page, frame, [match.element for match in found.matches])
        places += [replace(match, element=element) for match, element in zip(found.matches, boxes, strict=True)]
    return places, total
