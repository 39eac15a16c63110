"""The mouse by CDP's Input domain, in the main frame's viewport (CSS pixels)."""

from __future__ import annotations

import asyncio
from typing import Literal

from hyperkitty.browser.v1 import operations_pb2 as pb

from services.browser.cdp.domains import input as cdp_input
from services.browser.cdp.message import Command, Empty
from services.browser.page.keyboard import down, up
from services.browser.page.keys import ALT, CONTROL, META, MODIFIERS, SHIFT
from services.browser.page.page import Page
from services.kit.deadlines import current_budget

Button = Literal["left", "middle", "right"]
MouseKind = Literal["mousePressed", "mouseReleased", "mouseMoved"]

BUTTONS: dict[int, tuple[Button, int]] = {
    pb.MOUSE_BUTTON_UNSPECIFIED: ("left", 1),
    pb.MOUSE_BUTTON_LEFT: ("left", 1),
    pb.MOUSE_BUTTON_RIGHT: ("right", 2),
    pb.MOUSE_BUTTON_MIDDLE: ("middle", 4),
}

MODIFIER_BITS: dict[int, int] = {
    pb.MODIFIER_ALT: ALT,
    pb.MODIFIER_CONTROL: CONTROL,
    pb.MODIFIER_META: META,
    pb.MODIFIER_SHIFT: SHIFT,
}


def clicks(
    x: float, y: float, *, button: pb.MouseButton.ValueType = pb.MOUSE_BUTTON_LEFT, count: int = 1, modifiers: int = 0
) -> list[Command[Empty]]:
    """The pointer moves there and a button goes down and up `count` times, with modifier keys held."""
    name, mask = BUTTONS[button]
    held = modifiers or None
    keys = [MODIFIERS[bit] for bit in MODIFIERS if modifiers & bit]
    events: list[Command[Empty]] = [down(key, modifiers) for key in keys]
    events.append(cdp_input.DispatchMouseEvent(type="mouseMoved", x=x, y=y, modifiers=held))
    for number in range(1, count + 1):
        events.append(
            cdp_input.DispatchMouseEvent(
                type="mousePressed", x=x, y=y, button=name, buttons=mask, click_count=number, modifiers=held
            )
        )
        events.append(
            cdp_input.DispatchMouseEvent(
                type="mouseReleased", x=x, y=y, button=name, click_count=number, modifiers=held
            )
        )
    events += [up(key) for key in reversed(keys)]
    return events


def moves(x: float, y: float, modifiers: int = 0) -> list[Command[Empty]]:
    """The pointer moves there, with modifier keys held."""
    keys = [MODIFIERS[bit] for bit in MODIFIERS if modifiers & bit]
    return [
        *(down(key, modifiers) for key in keys),
        cdp_input.DispatchMouseEvent(type="mouseMoved", x=x, y=y, modifiers=modifiers or None),
        *(up(key) for key in reversed(keys)),
    ]


def wheel(x: float, y: float, delta_x: float, delta_y: float) -> Command[Empty]:
    """The wheel turns at a point."""
    return cdp_input.DispatchMouseEvent(type="mouseWheel", x=x, y=y, delta_x=delta_x, delta_y=delta_y)


async def send(page: Page, events: list[Command[Empty]]) -> None:
    """Send events in order, without waiting for one another. Raises DialogInterrupted, CdpFault."""
    seconds = current_budget().remaining()
    await asyncio.gather(*[page.wire.post(page.session, event, seconds) for event in events])
