"""fill_form: several controls at once, text by insertion; what each holds is looked at afterwards."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import FilledField, FillFormOperation, FillFormResult
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser import gate
from services.browser.operations.elements import element_to_proto
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page.filling import BOXES, Entry, fill
from services.browser.page.results import Element
from services.browser.tab import Tab
from services.kit.errors import Refusal


@handles(FillFormOperation, gated=True)
async def fill_form(tab: Tab, operation: FillFormOperation) -> FillFormResult:
    """Fill the controls in order; the first that cannot be filled ends it."""
    if any(field.secret for field in operation.fields):
        raise Refusal(ErrorCode.ERROR_CODE_UNIMPLEMENTED, "fill_form does not serve secrets yet")
    entries = [Entry(field.target, field.value) for field in operation.fields]
    with reading(tab):
        held = await fill(tab.page, entries, gate.opened, submit=operation.submit)
    return FillFormResult(
        fields=[FilledField(element=element_to_proto(element), value=held_by(element)) for _, element in held]
    )


def held_by(element: Element) -> str:
    """A box holds `true` or `false`."""
    if element.role in BOXES:
        return "true" if "checked" in element.states else "false"
    return element.value
