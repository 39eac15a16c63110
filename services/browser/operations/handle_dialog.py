"""handle_dialog: the answer to the dialog that is open."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import HandleDialogOperation, HandleDialogResult

from services.browser.operations.registry import handles
from services.browser.tab import Tab


@handles(HandleDialogOperation)
async def handle_dialog(tab: Tab, operation: HandleDialogOperation) -> HandleDialogResult:
    """Answer the open dialog; without one it is refused with wrong_state."""
    dialog = await tab.handle_dialog(accept=operation.accept, prompt_text=operation.prompt_text)
    return HandleDialogResult(dialog=dialog)
