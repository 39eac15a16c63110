"""hover: the pointer over an element."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import HoverOperation, HoverResult

from services.browser import gate
from services.browser.operations.elements import element_to_proto
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page import pointer
from services.browser.page.acting import aim, press
from services.browser.page.targeting import Need
from services.browser.tab import Tab


@handles(HoverOperation, gated=True)
async def hover(tab: Tab, operation: HoverOperation) -> HoverResult:
    """Move the pointer over what the target names, and leave it there."""
    target = operation.target
    need = Need(visible=target.WhichOneof("by") != "point", enabled=False)
    modifiers = sum({pointer.MODIFIER_BITS[modifier] for modifier in operation.modifiers})
    with reading(tab):
        aimed = await aim(tab.page, target, need, gate.opened)
        await press(tab.page, aimed, pointer.moves(aimed.x, aimed.y, modifiers))
    return HoverResult(element=element_to_proto(aimed.found.element))
