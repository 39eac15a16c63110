"""Keys and combinations on an element, or on what has focus; nothing else gets the first of them."""

from __future__ import annotations

from hyperkitty.browser.v1 import targets_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.errors import CdpClosed
from services.browser.cdp.message import Command, Empty, JsonValue
from services.browser.page import keyboard
from services.browser.page.acting import Cleared, disarm, reached_other
from services.browser.page.combinations import Combination
from services.browser.page.keys import MODIFIERS
from services.browser.page.page import Page
from services.browser.page.results import KeysArmed
from services.browser.page.targeting import Found, Need, locate, ref_entry, stale
from services.browser.page.typing import having_focus
from services.browser.page.wire import DialogInterrupted
from services.browser.page.world import WorldGone
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal


async def press_keys(
    page: Page, target: pb.Target | None, combination: Combination, count: int, cleared: Cleared
) -> Found | None:
    """Press a combination `count` times; None when the document itself had the keys. Raises Refusal."""
    if target is not None:
        found: Found | None = await locate(page, target, Need())
    else:
        found = await having_focus(page, editable=False)
    await cleared()
    if found is not None:
        await _arm(page, found, focus=target is not None)
    try:
        await keyboard.send(page, _strokes(combination) * count)
        finished = await disarm(page, found) if found is not None else None
    except (DialogInterrupted, WorldGone):
        return found
    except CdpClosed:
        if page.closed_alone:
            return found
        raise
    if found is not None and finished is not None and finished.stopped is not None:
        raise reached_other(found, finished.stopped, finished.delivered)
    return found


def _strokes(combination: Combination) -> list[Command[Empty]]:
    if combination.key in MODIFIERS.values():
        bit = next(bit for bit, key in MODIFIERS.items() if key == combination.key)
        return keyboard.stroke(combination.key, combination.modifiers & ~bit)
    return keyboard.stroke(combination.key, combination.modifiers)


async def _arm(page: Page, found: Found, *, focus: bool) -> None:
    """Give the element focus where asked, and guard the first key. Raises Refusal stale_ref, not_interactable."""
    args: dict[str, JsonValue] = {
        "handle": found.handle, "focus": focus, "milliseconds": current_budget().remaining() * 1000,
    }  # fmt: skip
    armed = await page.call(found.frame, "armFirstKey", args, KeysArmed)
    if armed.gone:
        raise await stale(page, ref_entry(page, found.element.ref))
    if armed.elsewhere:
        raise Refusal(
            ErrorCode.ERROR_CODE_NOT_INTERACTABLE,
            f"{found.element.role} {found.element.name[:100]!r} does not take focus: {armed.elsewhere} has it",
            details={"reason": "not_focusable", "focused": armed.elsewhere, "ref": found.element.ref},
        )
