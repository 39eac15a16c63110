"""forward: one step forward in the history."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import ForwardOperation, ForwardResult

from services.browser.operations.loads import load
from services.browser.operations.registry import handles
from services.browser.page import loading
from services.browser.tab import Tab


@handles(ForwardOperation)
async def forward(tab: Tab, operation: ForwardOperation) -> ForwardResult:
    """Go one step forward in the history, and wait for the document there."""
    loaded = loading.go(tab.page, 1, operation.wait_until)
    navigation, title = await load(tab, loaded, tab.page.url)
    return ForwardResult(url=tab.page.url, title=title, navigation=navigation)
