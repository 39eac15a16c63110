"""forward: one step forward in the history."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import ForwardOperation, ForwardResult

from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page import loading
from services.browser.tab import Tab


@handles(ForwardOperation)
async def forward(tab: Tab, operation: ForwardOperation) -> ForwardResult:
    """Go one step forward in the history, and wait for the document there."""
    with reading(tab):
        navigation = await loading.go(tab.page, 1, operation.wait_until)
        title = await loading.title(tab.page)
    return ForwardResult(url=tab.page.url, title=title, navigation=navigation)
