"""console_log: what a page wrote to its console."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import ConsoleEntry, ConsoleLogOperation, ConsoleLogResult

from services.browser.operations.registry import handles
from services.browser.tab import Tab

DEFAULT_LIMIT = 200


@handles(ConsoleLogOperation)
async def console_log(tab: Tab, operation: ConsoleLogOperation) -> ConsoleLogResult:
    """Give the entries after a number, oldest first; the page is not asked."""
    lines = tab.page.console.since(operation.since, operation.limit or DEFAULT_LIMIT)
    return ConsoleLogResult(
        entries=[
            ConsoleEntry(
                number=line.number, level=line.level, text=line.text, url=line.url, line=line.line, at_ms=line.at_ms
            )
            for line in lines
        ],
        next=lines[-1].number if lines else operation.since,
    )
