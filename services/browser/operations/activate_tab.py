"""activate_tab: a tab brought to the front of its window."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import ActivateTabOperation, ActivateTabResult

from services.browser.cdp.domains import page
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.tab import Tab
from services.kit.deadlines import current_budget


@handles(ActivateTabOperation)
async def activate_tab(tab: Tab, operation: ActivateTabOperation) -> ActivateTabResult:
    """Bring the tab to the front."""
    with reading(tab):
        await tab.page.wire.send(tab.cdp, page.BringToFront(), current_budget().remaining())
    return ActivateTabResult(tab=tab.to_proto())
