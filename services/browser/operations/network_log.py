"""network_log: a tab's requests."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import NetworkEntry, NetworkLogOperation, NetworkLogResult

from services.browser.operations.registry import handles
from services.browser.page.requests import Entry
from services.browser.tab import Tab

DEFAULT_LIMIT = 200


@handles(NetworkLogOperation)
async def network_log(tab: Tab, operation: NetworkLogOperation) -> NetworkLogResult:
    """Give the requests after a number, oldest first; the page is not asked."""
    entries = tab.page.requests.since(operation.since, operation.limit or DEFAULT_LIMIT)
    return NetworkLogResult(
        entries=[_told(tab, entry) for entry in entries], next=entries[-1].number if entries else operation.since
    )


def _told(tab: Tab, entry: Entry) -> NetworkEntry:
    failure = tab.session.proxy.failure_of(entry.url) if entry.net_error or entry.status == 403 else None
    return NetworkEntry(
        number=entry.number,
        method=entry.method,
        url=entry.url,
        resource_type=entry.resource_type,
        status=entry.status,
        net_error=failure.net_error if failure is not None and not failure.blocked else entry.net_error,
        blocked=failure is not None and failure.blocked,
        bytes=entry.bytes,
        started_at_ms=entry.started_at_ms,
        duration_ms=entry.duration_ms,
    )
