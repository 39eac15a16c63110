"""click: a mouse button on an element or a point."""

from __future__ import annotations

from hyperkitty.browser.v1 import targets_pb2
from hyperkitty.browser.v1.operations_pb2 import ClickOperation, ClickResult

from services.browser import gate
from services.browser.operations.elements import element_to_proto
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page import pointer
from services.browser.page.acting import aim, press
from services.browser.page.targeting import Need
from services.browser.tab import Tab

_ANYTHING = Need(visible=False, enabled=False)


@handles(ClickOperation, gated=True)
async def click(tab: Tab, operation: ClickOperation) -> ClickResult:
    """Click what the target names, once it can be clicked; nothing else ever gets the click."""
    target = operation.target
    need = _ANYTHING if target.WhichOneof("by") == "point" else Need()
    position = operation.position if operation.HasField("position") else None
    with reading(tab):
        aimed = await aim(tab.page, target, need, gate.opened, position)
        modifiers = sum({pointer.MODIFIER_BITS[modifier] for modifier in operation.modifiers})
        events = pointer.clicks(
            aimed.x, aimed.y, button=operation.button, count=operation.count or 1, modifiers=modifiers
        )
        await press(tab.page, aimed, events)
    return ClickResult(element=element_to_proto(aimed.found.element), point=targets_pb2.Point(x=aimed.x, y=aimed.y))
