"""export_state: cookies, and the storage of the origins that are open, as an artifact."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import ExportStateOperation, ExportStateResult
from hyperkitty.operations.v1.artifacts_pb2 import ARTIFACT_KIND_SNAPSHOT

from services.browser.cdp.domains import storage
from services.browser.operations import state
from services.browser.operations.cookies import cookie_to_proto, cookie_to_set
from services.browser.operations.registry import handles
from services.browser.page.results import Kept
from services.browser.page.storage import kept_by
from services.browser.session import Session
from services.kit.deadlines import current_budget


@handles(ExportStateOperation)
async def export_state(session: Session, operation: ExportStateOperation) -> ExportStateResult:
    """Save what the session keeps. Storage is read from documents: of origins that no tab has open it is left out."""
    asked = await session.cdp.send(storage.GetCookies(), timeout=current_budget().remaining())
    origins: dict[str, Kept] = {}
    for tab in list(session.tabs.values()):
        if tab.dialog is None:
            for kept in await kept_by(tab.page):
                origins.setdefault(kept.origin, kept)
    cookies = [cookie_to_set(cookie_to_proto(cookie)) for cookie in asked.cookies]
    data = state.encode(state.State(state.VERSION, cookies, list(origins.values())))
    artifact = await session.keep(ARTIFACT_KIND_SNAPSHOT, state.CONTENT_TYPE, data)
    return ExportStateResult(artifact=artifact)
