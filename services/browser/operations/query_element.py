"""query_element: which elements a target names, and what they are."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import QueryElementOperation, QueryElementResult

from services.browser.operations.elements import element_to_proto
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page.querying import query
from services.browser.tab import Tab

DEFAULT_LIMIT = 10


@handles(QueryElementOperation)
async def query_element(tab: Tab, operation: QueryElementOperation) -> QueryElementResult:
    """Look elements up as they are now; nothing is waited for, and none is an answer too."""
    with reading(tab):
        elements, total = await query(tab.page, operation.target, operation.limit or DEFAULT_LIMIT)
    return QueryElementResult(elements=[element_to_proto(element) for element in elements], total=total)
