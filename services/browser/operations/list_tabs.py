"""list_tabs: a session's tabs, in the order they were opened."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import ListTabsOperation, ListTabsResult

from services.browser.operations.registry import handles
from services.browser.session import Session


@handles(ListTabsOperation)
async def list_tabs(session: Session, operation: ListTabsOperation) -> ListTabsResult:
    """List the tabs as they are now; no page is asked."""
    return ListTabsResult(tabs=[tab.to_proto() for tab in session.tabs.values()])
