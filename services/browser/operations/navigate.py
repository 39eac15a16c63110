"""navigate: a document loaded by its URL."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import NavigateOperation, NavigateResult

from services.browser.operations.loads import load
from services.browser.operations.registry import handles
from services.browser.page import loading
from services.browser.tab import Tab


@handles(NavigateOperation)
async def navigate(tab: Tab, operation: NavigateOperation) -> NavigateResult:
    """Load a URL and wait for it as asked."""
    loaded = loading.navigate(tab.page, operation.url, operation.wait_until)
    navigation, title = await load(tab, loaded, operation.url)
    return NavigateResult(url=tab.page.url, title=title, navigation=navigation)
