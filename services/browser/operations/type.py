"""type: text by key events, into an element or into what has focus."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import TypeOperation, TypeResult
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser import gate
from services.browser.operations.elements import element_to_proto
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page.typing import Typing, type_into
from services.browser.tab import Tab
from services.kit.errors import Refusal


@handles(TypeOperation, gated=True)
async def type_text(tab: Tab, operation: TypeOperation) -> TypeResult:
    """Type, and tell what the control holds afterwards."""
    if operation.secret:
        raise Refusal(ErrorCode.ERROR_CODE_UNIMPLEMENTED, "type does not serve secrets yet")
    target = operation.target if operation.HasField("target") else None
    typing = Typing(operation.text, clear=operation.clear, submit=operation.submit)
    with reading(tab):
        typed = await type_into(tab.page, target, typing, gate.opened)
    return TypeResult(element=element_to_proto(typed.found.element), value=typed.value or "")
