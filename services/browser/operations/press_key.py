"""press_key: a key, or a combination, on an element or on what has focus."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import PressKeyOperation, PressKeyResult

from services.browser import gate
from services.browser.operations.elements import element_to_proto
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page.combinations import parse
from services.browser.page.pressing import press_keys
from services.browser.tab import Tab


@handles(PressKeyOperation, gated=True)
async def press_key(tab: Tab, operation: PressKeyOperation) -> PressKeyResult:
    """Press and release the keys, as often as asked."""
    combination = parse(operation.key)
    target = operation.target if operation.HasField("target") else None
    with reading(tab):
        found = await press_keys(tab.page, target, combination, operation.repeat or 1, gate.opened)
    return PressKeyResult(element=element_to_proto(found.element) if found is not None else None)
