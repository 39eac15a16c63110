"""select_option: options of a native select (by script: its popup is outside the page) or an ARIA list (by clicks)."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import SelectOptionOperation, SelectOptionResult

from services.browser import gate
from services.browser.operations.elements import element_to_proto
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page.choosing import Wanted, choose
from services.browser.tab import Tab


@handles(SelectOptionOperation, gated=True)
async def select_option(tab: Tab, operation: SelectOptionOperation) -> SelectOptionResult:
    """Select exactly the options that are named."""
    wanted = Wanted(operation.values, operation.labels, operation.indexes)
    with reading(tab):
        found, selected = await choose(tab.page, operation.target, wanted, gate.opened)
    return SelectOptionResult(element=element_to_proto(found.element), selected=selected)
