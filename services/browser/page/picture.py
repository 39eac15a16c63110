"""Pictures of a page, bounded in pixels (SPEC §4, screenshot)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Literal

from hyperkitty.browser.v1 import operations_pb2 as ops
from hyperkitty.browser.v1 import targets_pb2 as pb

from services.browser.cdp.domains import page as cdp_page
from services.browser.cdp.message import JsonValue
from services.browser.page.page import Page
from services.browser.page.results import Box
from services.browser.page.targeting import Found
from services.kit.deadlines import current_budget

MOST_SIDE = 16_000
"""Chromium's surfaces end at 16,384 pixels a side."""
MOST_PIXELS = 64_000_000

Form = Literal["png", "jpeg", "webp"]
FORMS: dict[int, tuple[Form, str]] = {
    ops.IMAGE_FORMAT_UNSPECIFIED: ("png", "image/png"),
    ops.IMAGE_FORMAT_PNG: ("png", "image/png"),
    ops.IMAGE_FORMAT_JPEG: ("jpeg", "image/jpeg"),
    ops.IMAGE_FORMAT_WEBP: ("webp", "image/webp"),
}
DEFAULT_QUALITY = 80


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, its media type, its size in pixels; `truncated`: the page was larger than a picture can be."""

    data: bytes
    content_type: str
    width: int
    height: int
    truncated: bool = False


async def take(
    page: Page,
    image_format: ops.ImageFormat.ValueType,
    quality: int,
    *,
    full_page: bool = False,
    clip: pb.Rectangle | None = None,
    found: Found | None = None,
) -> Picture:
    """A picture of the viewport, of the whole page, of a part of it, or of an element. Raises Refusal, CdpFault."""
    name, content_type = FORMS[image_format]
    area, truncated = await _area(page, full_page, clip, found)
    command = cdp_page.CaptureScreenshot(
        format=name,
        quality=None if name == "png" else quality or DEFAULT_QUALITY,
        clip=area,
        capture_beyond_viewport=True if area else None,
        optimize_for_speed=True if name == "png" else None,
    )
    result = await page.wire.send(page.session, command, current_budget().remaining())
    width, height = (
        _png_size(result.data) if name == "png" else (round(area.width), round(area.height)) if area else (0, 0)
    )
    return Picture(result.data, content_type, width, height, truncated)


async def _area(
    page: Page, full_page: bool, clip: pb.Rectangle | None, found: Found | None
) -> tuple[cdp_page.Viewport | None, bool]:
    """What part of the page, in its own CSS pixels; None for the viewport."""
    if found is not None:
        args: dict[str, JsonValue] = {"handle": found.handle}
        box = await page.call(found.frame, "pageBox", args, Box)
    elif clip is not None:
        box = Box(clip.x, clip.y, clip.width, clip.height)
    elif full_page:
        box = await page.call(page.frames.main, "pageBox", {"handle": 0}, Box)
    else:
        return None, False
    width = min(max(1.0, box.width), MOST_SIDE)
    height = min(max(1.0, box.height), MOST_SIDE, MOST_PIXELS / width)
    truncated = width < box.width or height < box.height
    return cdp_page.Viewport(x=box.x, y=box.y, width=width, height=height, scale=1), truncated


def _png_size(data: bytes) -> tuple[int, int]:
    """Width and height, from the header chunk (PNG §11.2.2)."""
    width, height = struct.unpack(">II", data[16:24])
    return int(width), int(height)
