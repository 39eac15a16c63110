"""open_tab: a new tab, with a document when one is named."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import OpenTabOperation
from hyperkitty.browser.v1.sessions_pb2 import BrowserTab

from services.browser.cdp.domains import target
from services.browser.operations.loads import load
from services.browser.operations.registry import handles
from services.browser.page import loading
from services.browser.session import Session
from services.kit.operations import current_operation

BLANK = "about:blank"
CLOSE_SECONDS = 5.0


@handles(OpenTabOperation)
async def open_tab(session: Session, operation: OpenTabOperation) -> BrowserTab:
    """Open a tab; one whose document cannot be loaded is closed again."""
    tab = await session.open_tab(current_operation().subject)
    if operation.url not in ("", BLANK):
        try:
            async with tab.writes:
                loaded = loading.navigate(tab.page, operation.url, operation.wait_until)
                await load(tab, loaded, operation.url)
        except BaseException:
            tab.closing = True
            session.cdp.post(target.CloseTarget(target_id=tab.target_id), timeout=CLOSE_SECONDS)
            raise
    return tab.to_proto()
