"""A page's content over all its frames, in parts (SPEC §4, `read_page`).

A frame's walk stops where a child frame stands, and the child's content is put there.
"""

from __future__ import annotations

from dataclasses import dataclass

from hyperkitty.browser.v1 import operations_pb2 as ops
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.message import JsonValue
from services.browser.page.cursors import Form, Place, Reading
from services.browser.page.frames import Frame
from services.browser.page.page import Page
from services.browser.page.results import Minting, SnapshotPart, TextPart
from services.browser.page.world import WorldGone
from services.kit.errors import Refusal

MOST_CHARACTERS = 25_000
"""No result is longer (SPEC §4)."""
PART_MS = 1500
LENT = 4096
MOST_DEPTH = 20
SMALLEST_PART = 80
"""Characters below which a part is not worth another call into a page."""

FORMS: dict[int, Form] = {
    ops.PAGE_FORMAT_UNSPECIFIED: "text",
    ops.PAGE_FORMAT_TEXT: "text",
    ops.PAGE_FORMAT_MARKDOWN: "markdown",
    ops.PAGE_FORMAT_HTML: "html",
    ops.PAGE_FORMAT_SNAPSHOT: "snapshot",
}


@dataclass(slots=True)
class Content:
    """One part of a page's content."""

    text: str
    next_cursor: str = ""
    hidden: int = 0
    refs: int = 0


class MovedOn(Refusal):
    """The page went on to another document meanwhile: what was begun can be begun again there."""


def begin(frame: Frame, form: Form, *, scope: str = "", interactive_only: bool = False) -> Reading:
    """A reading from the beginning of a frame, or of the element with the ref `scope` in it."""
    return Reading(form, interactive_only, [Place(frame, frame.loader_id, scope=scope)])


async def read(page: Page, reading: Reading, limit: int) -> Content:
    """The next at most `limit` characters. Raises Refusal wrong_state when the page went on to another document."""
    if len(page.frames.all()) > 1:
        await page.frames.place(PART_MS / 1000)
    pieces: list[str] = []
    content = Content("")
    left = limit
    while reading.places and left >= min(limit, SMALLEST_PART):
        place = reading.places[-1]
        part = await _part(page, reading, place, left)
        if part is None:
            reading.places.pop()  # a child frame that went away has no content
            continue
        text = _text(part, place)
        left -= len(text)
        pieces.append(text)
        content.hidden += part.hidden if isinstance(part, TextPart) else 0
        content.refs += part.refs if isinstance(part, SnapshotPart) else 0
        cut = _go_on(page, reading, place, part)
        if cut:
            break
    content.text = _joined(pieces, reading.form)
    if reading.places:
        content.next_cursor = page.cursors.keep(reading)
    return content


async def _part(page: Page, reading: Reading, place: Place, limit: int) -> SnapshotPart | TextPart | None:
    """The next part of one frame; None when a child frame's document is gone."""
    args: dict[str, JsonValue] = {
        "walk": place.walk,
        "scope": place.scope,
        "limit": max(1, limit - (1 if place.depth else 0)),
        "milliseconds": PART_MS,
    }
    part: SnapshotPart | TextPart
    try:
        if place.frame.loader_id != place.loader_id:
            raise WorldGone("another document")
        if reading.form == "snapshot":
            args["interactive"] = reading.interactive_only
            part = await page.minting(place.frame, "snapshot", args, SnapshotPart, LENT, PART_MS / 1000)
        else:
            args["format"] = reading.form
            part = await page.minting(place.frame, "read", args, TextPart, 1, PART_MS / 1000)
    except WorldGone:
        part = SnapshotPart(gone=True)
    if not part.gone:
        return part
    if len(reading.places) > 1:
        return None
    raise MovedOn(
        ErrorCode.ERROR_CODE_WRONG_STATE,
        "the page has another document than when this was begun",
        hint="Call read_page without a cursor to begin anew.",
        details={"url": page.url},
    )


def _text(part: Minting, place: Place) -> str:
    if isinstance(part, SnapshotPart):
        indent = " " * place.depth
        return "".join(f"{indent}{line}\n" for line in part.lines)
    assert isinstance(part, TextPart)
    return part.text


def _go_on(page: Page, reading: Reading, place: Place, part: SnapshotPart | TextPart) -> bool:
    """Move to where the reading goes on; True when this part was cut."""
    place.walk = part.walk
    child = page.frames.get(part.frame) if part.frame else None
    if not part.walk:
        reading.places.pop()
    if child is not None and len(reading.places) < MOST_DEPTH:
        depth = place.depth + (part.depth if isinstance(part, SnapshotPart) else 0)
        reading.places.append(Place(child, child.loader_id, depth=depth))
        return False
    return bool(part.walk) and not part.frame


def _joined(pieces: list[str], form: Form) -> str:
    if form in ("snapshot", "html"):
        return "".join(pieces)
    # What comes from a frame stands on lines of its own.
    return "\n".join(piece.strip("\n") for piece in pieces if piece.strip())
