"""drag: one thing onto another."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import DragOperation, DragResult

from services.browser import gate
from services.browser.operations.elements import element_to_proto
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page import dragging
from services.browser.tab import Tab


@handles(DragOperation, gated=True)
async def drag(tab: Tab, operation: DragOperation) -> DragResult:
    """Drag with the pointer, and with HTML's data transfer where the page has one."""
    with reading(tab):
        source, destination = await dragging.drag(tab.page, operation.source, operation.destination, gate.opened)
    return DragResult(source=element_to_proto(source.element), destination=element_to_proto(destination.element))
