"""check: a box, switch or radio button in the state that is wanted."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import CheckOperation, CheckResult

from services.browser import gate
from services.browser.operations.elements import element_to_proto
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page import choosing
from services.browser.tab import Tab


@handles(CheckOperation, gated=True)
async def check(tab: Tab, operation: CheckOperation) -> CheckResult:
    """Click it unless it is as wanted already, and see that the page let it be so."""
    with reading(tab):
        found, checked = await choosing.check(tab.page, operation.target, operation.checked, gate.opened)
    return CheckResult(element=element_to_proto(found.element), checked=checked)
