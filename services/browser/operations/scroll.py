"""scroll: a turn of the wheel, or an element brought into view."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import ScrollOperation, ScrollResult
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser import gate
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page import scrolling
from services.browser.tab import Tab
from services.kit.errors import Refusal


@handles(ScrollOperation, gated=True)
async def scroll(tab: Tab, operation: ScrollOperation) -> ScrollResult:
    """Scroll, and tell where the scroller came to rest."""
    target = operation.target if operation.HasField("target") else None
    turns = operation.delta_x != 0 or operation.delta_y != 0
    if not turns and target is None:
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            "scroll needs a delta, or a target to bring into view",
            details={"fields": [{"field": "delta_y", "problem": "is 0, and there is no target"}]},
        )
    with reading(tab):
        if target is not None and not turns:
            rest = await scrolling.into_view(tab.page, target, gate.opened)
        else:
            rest = await scrolling.by_wheel(tab.page, target, operation.delta_x, operation.delta_y, gate.opened)
    return ScrollResult(scroll_x=rest.x, scroll_y=rest.y, max_scroll_x=rest.max_x, max_scroll_y=rest.max_y)
