"""One act on an element: found, waited for, aimed at, guarded, done, looked at again (SPEC §4, "Acting").

Two reads of where the element is stand between the target and the first event; a guard in the page stops every event
that would reach something else after all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from hyperkitty.browser.v1 import targets_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.errors import CdpClosed
from services.browser.cdp.message import Command, Empty, JsonValue
from services.browser.page import pointer
from services.browser.page.frames import Frame
from services.browser.page.page import Page
from services.browser.page.results import Aimed, Finished, Problem, Stopped, Through
from services.browser.page.targeting import (
    SLICE_SECONDS,
    Found,
    Need,
    describe,
    locate,
    ref_entry,
    stale,
    unfit,
    waiting_seconds,
)
from services.browser.page.wire import DialogInterrupted
from services.browser.page.world import WorldGone
from services.kit.errors import Refusal

GUARD_MS = 10_000
"""How long a guard stays armed when nobody ends it."""
ATTEMPTS = 100
KEEP_SECONDS = 0.3
"""Kept of the budget to tell a result when a navigation holds the end of an act back."""

Cleared = Callable[[], Awaitable[None]]
"""Awaited before the first command that can change the page: the intent is on the log then."""


@dataclass(frozen=True, slots=True)
class Aim:
    """Where events will be sent, in the main frame's viewport."""

    found: Found
    x: float
    y: float


async def aim(
    page: Page,
    target: pb.Target,
    need: Need,
    cleared: Cleared,
    position: pb.Point | None = None,
    *,
    guard: bool = True,
) -> Aim:
    """Find the element of a target, bring it into view, arm the guard. Raises Refusal, DialogInterrupted."""
    for _ in range(ATTEMPTS):
        found = await locate(page, target, need)
        await cleared()
        if target.WhichOneof("by") == "point":
            return Aim(found, target.point.x, target.point.y)
        try:
            aimed = await _aim_at(page, target, found, need, position, GUARD_MS if guard else 0)
        except WorldGone:
            aimed = None
        if aimed is not None:
            return aimed
        if target.WhichOneof("by") == "ref":
            raise await stale(page, ref_entry(page, target.ref))
    raise unfit(describe(target), Problem("detached", "the page replaces it again and again"))


async def _aim_at(
    page: Page, target: pb.Target, found: Found, need: Need, position: pb.Point | None, guard: int
) -> Aim | None:
    """None when the element went away meanwhile."""
    args: dict[str, JsonValue] = {
        "handle": found.handle,
        "quad": list(found.quad),
        "need": need.to_json(),
        "position": {"x": position.x, "y": position.y} if position is not None else None,
        "guard": guard,
    }
    while True:
        seconds = min(SLICE_SECONDS, waiting_seconds())
        aimed = await page.call(found.frame, "aim", {**args, "milliseconds": seconds * 1000}, Aimed, seconds)
        if aimed.gone:
            return None
        problem = aimed.problem
        if problem is None:
            through = await _through_owners(page, found.frame, aimed, guard)
            if isinstance(through, tuple):
                return Aim(found, *through)
            problem = through
        if waiting_seconds() <= 0.0:
            await disarm(page, found)
            raise unfit(describe(target), problem, found.element.ref)


async def _through_owners(page: Page, frame: Frame, aimed: Aimed, guard: int) -> tuple[float, float] | Problem:
    """A frame's point in the main frame, through each owner element; or what covers one of them there."""
    x, y = aimed.x, aimed.y
    while frame.parent is not None:
        await page.frames.place(SLICE_SECONDS)
        args: dict[str, JsonValue] = {"frame": frame.id, "x": x, "y": y, "guard": guard}
        through = await page.call(frame.parent, "through", args, Through)
        if through.gone:
            return Problem("detached", "its frame is gone")
        if through.by:
            return Problem("obscured", f"{through.by} is in the way of its frame", through.by)
        frame, x, y = frame.parent, through.x, through.y
    return x, y


async def disarm(page: Page, found: Found) -> Finished | None:
    """End the guard, and hear what it saw. None when the document is gone, or a dialog is open."""
    finished: Finished | None = None
    frame: Frame | None = found.frame
    while frame is not None:
        try:
            args: dict[str, JsonValue] = {"handle": found.handle if frame is found.frame else 0}
            seen = await page.call(frame, "finish", args, Finished, keep=KEEP_SECONDS)
        except (WorldGone, DialogInterrupted):
            seen = None
        if frame is found.frame:
            finished = seen
        elif seen is not None and seen.stopped is not None and finished is not None and finished.stopped is None:
            finished = Finished(finished.url, finished.title, seen.stopped, finished.delivered, finished.connected)
        if seen is not None and frame.parent is None:
            page.learn(seen)
        frame = frame.parent
    return finished


async def press(page: Page, aimed: Aim, events: list[Command[Empty]]) -> None:
    """Send pointer events to what was aimed at. Raises Refusal obscured when something else would have had them.

    Returns early, with the events under way, when a dialog opens, or the page closes itself.
    """
    try:
        await pointer.send(page, events)
        finished = await disarm(page, aimed.found)
    except DialogInterrupted:
        return
    except CdpClosed:
        if page.closed_alone:
            return
        raise
    if finished is not None and finished.stopped is not None:
        raise reached_other(aimed.found, finished.stopped, finished.delivered)


def reached_other(found: Found, stopped: Stopped, delivered: list[str]) -> Refusal:
    """The refusal for events that the guard stopped."""
    return Refusal(
        ErrorCode.ERROR_CODE_OBSCURED,
        f"{found.element.role} {found.element.name[:100]!r}: {stopped.by} would have got the {stopped.event}",
        details={
            "reason": "obscured",
            "by": stopped.by,
            "event": stopped.event,
            "delivered": list(delivered[:20]),
            "ref": found.element.ref,
        },
    )
