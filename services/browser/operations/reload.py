"""reload: the document loaded again."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import ReloadOperation, ReloadResult

from services.browser.operations.loads import load
from services.browser.operations.registry import handles
from services.browser.page import loading
from services.browser.tab import Tab


@handles(ReloadOperation)
async def reload(tab: Tab, operation: ReloadOperation) -> ReloadResult:
    """Load the document again and wait for it as asked."""
    loaded = loading.reload(tab.page, operation.wait_until, ignore_cache=operation.ignore_cache)
    navigation, title = await load(tab, loaded, tab.page.url)
    return ReloadResult(url=tab.page.url, title=title, navigation=navigation)
