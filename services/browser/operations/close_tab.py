"""close_tab: the end of a page."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import CloseTabOperation, CloseTabResult

from services.browser.operations.registry import handles
from services.browser.tab import Tab


@handles(CloseTabOperation)
async def close_tab(tab: Tab, operation: CloseTabOperation) -> CloseTabResult:
    """Close a tab; its page is asked only when the call says so."""
    await tab.close(run_beforeunload=operation.run_beforeunload)
    return CloseTabResult(tab_id=tab.tab_id)
