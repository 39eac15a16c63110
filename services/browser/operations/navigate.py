"""navigate: a document loaded by its URL."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import NavigateOperation, NavigateResult

from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page import loading
from services.browser.tab import Tab


@handles(NavigateOperation)
async def navigate(tab: Tab, operation: NavigateOperation) -> NavigateResult:
    """Load a URL and wait for it as asked."""
    with reading(tab):
        navigation = await loading.navigate(tab.page, operation.url, operation.wait_until)
        title = await loading.title(tab.page)
    return NavigateResult(url=tab.page.url, title=title, navigation=navigation)
