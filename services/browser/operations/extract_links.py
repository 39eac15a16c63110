"""extract_links: where a page leads."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import ExtractLinksOperation, ExtractLinksResult, Link

from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page.querying import links
from services.browser.page.targeting import Need, locate
from services.browser.tab import Tab

DEFAULT_LIMIT = 500


@handles(ExtractLinksOperation)
async def extract_links(tab: Tab, operation: ExtractLinksOperation) -> ExtractLinksResult:
    """List a page's links: resolved, each address once, in document order."""
    with reading(tab):
        scope = None
        if operation.HasField("scope"):
            scope = await locate(tab.page, operation.scope, Need(visible=False, enabled=False))
        found, total = await links(tab.page, scope, operation.limit or DEFAULT_LIMIT)
    return ExtractLinksResult(
        links=[Link(url=link.url, text=link.text, ref=link.ref, rel=link.rel) for link in found], total=total
    )
