"""Waiting for what a page shall come to (SPEC §4, `wait_for`): each wait ends by its condition or by the deadline."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress

from hyperkitty.browser.v1 import operations_pb2 as ops
from hyperkitty.browser.v1 import targets_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.message import JsonValue
from services.browser.page.frames import Frame
from services.browser.page.page import Page
from services.browser.page.results import Element, Holds
from services.browser.page.targeting import (
    SLICE_SECONDS,
    Need,
    describe,
    locate,
    ref_entry,
    ref_frame,
    spec_of,
    waiting_seconds,
)
from services.browser.page.world import WorldGone
from services.kit.errors import Refusal

_NEVER_CAME = frozenset({ErrorCode.ERROR_CODE_NOT_FOUND, ErrorCode.ERROR_CODE_NOT_INTERACTABLE})


def overdue(what: str) -> Refusal:
    """The refusal for what did not come to hold in time."""
    return Refusal(
        ErrorCode.ERROR_CODE_DEADLINE_EXCEEDED,
        f"{what} within the time that was given",
        hint="See with read_page where the page is, or give wait_for more timeout_ms.",
        details={"waited_for": what},
    )


async def text(page: Page, wanted: str) -> None:
    """Until a text is on the page, in any frame. Raises Refusal deadline_exceeded, DialogInterrupted."""
    while True:
        seconds = min(SLICE_SECONDS, waiting_seconds())
        args: dict[str, JsonValue] = {"text": wanted, "milliseconds": max(1.0, seconds * 1000)}
        if await _any(page, page.frames.all(), "textRest", args, seconds):
            return
        if waiting_seconds() <= 0.0:
            raise overdue(f"the text {wanted[:200]!r} did not appear")


async def present(page: Page, target: pb.Target, state: ops.ElementState.ValueType) -> Element:
    """Until an element can be seen, or takes input. Raises Refusal deadline_exceeded, ambiguous_target, stale_ref."""
    enabled = state == ops.ELEMENT_STATE_ENABLED
    try:
        return (await locate(page, target, Need(enabled=enabled))).element
    except Refusal as refusal:
        if refusal.code in _NEVER_CAME and waiting_seconds() <= 0.0:
            raise overdue(f"{describe(target)} was not {'enabled' if enabled else 'visible'}") from refusal
        raise


async def absent(page: Page, target: pb.Target, *, gone: bool) -> None:
    """Until nobody can see an element, or it is gone, in every frame. Raises Refusal deadline_exceeded."""
    spec: dict[str, JsonValue] = {**spec_of(target), "nth": None}
    while True:
        frames = page.frames.all()
        if target.WhichOneof("by") == "ref":
            frame = ref_frame(page, ref_entry(page, target.ref))
            frames = [frame] if frame is not None else []
        seconds = min(SLICE_SECONDS, waiting_seconds())
        args: dict[str, JsonValue] = {"spec": spec, "gone": gone, "milliseconds": max(1.0, seconds * 1000)}
        held = await asyncio.gather(*(_holds(page, frame, "absentRest", args, seconds) for frame in frames))
        # A document that went away meanwhile took its elements with it, but another may have come: look again.
        if all(answer is True for answer in held):
            return
        if waiting_seconds() <= 0.0:
            raise overdue(f"{describe(target)} was not {'gone' if gone else 'hidden'}")


async def url(page: Page, pattern: str) -> None:
    """Until the tab's URL is like a pattern. Raises Refusal deadline_exceeded, DialogInterrupted."""
    expression = glob(pattern)
    try:
        await page.conditions.until(lambda: expression.fullmatch(page.url) is not None, waiting_seconds())
    except TimeoutError:
        raise overdue(f"the URL {page.url[:200]!r} did not become like {pattern[:200]!r}") from None


def glob(pattern: str) -> re.Pattern[str]:
    """`*` is anything but a slash, `**` anything."""
    parts = re.split(r"(\*\*|\*)", pattern)
    return re.compile("".join({"**": ".*", "*": "[^/]*"}.get(part) or re.escape(part) for part in parts), re.DOTALL)


async def quiet(page: Page) -> None:
    """Until no request is in flight. Raises Refusal deadline_exceeded, DialogInterrupted."""
    try:
        await page.traffic.idle(waiting_seconds())
    except TimeoutError:
        raise overdue("the network did not become quiet") from None


async def elapsed(page: Page, seconds: float) -> None:
    """So long, because the caller says so. Raises Refusal deadline_exceeded, DialogInterrupted."""
    if seconds > waiting_seconds():
        raise overdue(f"{seconds:g} s do not pass")
    with suppress(TimeoutError):
        await page.conditions.until(lambda: False, seconds)


async def _any(page: Page, frames: Sequence[Frame], name: str, args: dict[str, JsonValue], seconds: float) -> bool:
    """Whether a condition comes to hold in one of the frames; ends with the first."""
    looks = [asyncio.ensure_future(_holds(page, frame, name, args, seconds)) for frame in frames]
    try:
        for look in asyncio.as_completed(looks):
            if await look:
                return True
    finally:
        for look in looks:
            look.cancel()
    return False


async def _holds(page: Page, frame: Frame, name: str, args: dict[str, JsonValue], seconds: float) -> bool | None:
    """None when the frame's document went away."""
    try:
        return (await page.call(frame, name, args, Holds, seconds)).holds
    except WorldGone:
        return None
