"""list_downloads: the files that a session's pages sent."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import ListDownloadsOperation, ListDownloadsResult

from services.browser.operations.registry import handles
from services.browser.session import Session


@handles(ListDownloadsOperation)
async def list_downloads(session: Session, operation: ListDownloadsOperation) -> ListDownloadsResult:
    """List them, oldest first, whatever became of them."""
    return ListDownloadsResult(downloads=session.downloads.all())
