"""find_text: where a text is in a page."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import FindTextOperation, FindTextResult, TextMatch

from services.browser.operations.elements import element_to_proto
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page import finding
from services.browser.tab import Tab

DEFAULT_LIMIT = 10


@handles(FindTextOperation)
async def find_text(tab: Tab, operation: FindTextOperation) -> FindTextResult:
    """Find a text that people can see, also where it is spread over several elements."""
    limit = operation.limit or DEFAULT_LIMIT
    with reading(tab):
        places, total = await finding.find_text(tab.page, operation.text, limit, match_case=operation.match_case)
    return FindTextResult(
        matches=[TextMatch(context=place.context, element=element_to_proto(place.element)) for place in places],
        total=total,
    )
