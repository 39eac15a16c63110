"""wait_for: until a page is as the caller says, in everything that the call names."""

from __future__ import annotations

from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1.operations_pb2 import WaitForOperation, WaitForResult
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.operations.elements import element_to_proto
from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page import awaiting
from services.browser.page.results import Element
from services.browser.page.targeting import waiting_seconds
from services.browser.tab import Tab
from services.kit.errors import Refusal

_CONDITIONS = ("text", "target", "url_pattern", "network_idle", "download", "time_ms")


@handles(WaitForOperation)
async def wait_for(tab: Tab, operation: WaitForOperation) -> WaitForResult:
    """Wait for each condition that is set, one after another."""
    _check(operation)
    began = tab.session.clock.monotonic()
    with reading(tab):
        element = await _wait(tab, operation)
    waited = round((tab.session.clock.monotonic() - began) * 1000)
    return WaitForResult(waited_ms=waited, element=element_to_proto(element) if element is not None else None)


async def _wait(tab: Tab, operation: WaitForOperation) -> Element | None:
    page, element = tab.page, None
    if operation.url_pattern:
        await awaiting.url(page, operation.url_pattern)
    if operation.text:
        await awaiting.text(page, operation.text)
    if operation.HasField("target"):
        if operation.state in (pb.ELEMENT_STATE_HIDDEN, pb.ELEMENT_STATE_GONE):
            await awaiting.absent(page, operation.target, gone=operation.state == pb.ELEMENT_STATE_GONE)
        else:
            element = await awaiting.present(page, operation.target, operation.state)
    if operation.network_idle:
        await awaiting.quiet(page)
    if operation.download:
        await _download(tab)
    if operation.time_ms:
        await awaiting.elapsed(page, operation.time_ms / 1000)
    return element


async def _download(tab: Tab) -> None:
    try:
        await tab.session.downloads.one_ended(waiting_seconds())
    except TimeoutError:
        raise awaiting.overdue("no download ended") from None


def _check(operation: WaitForOperation) -> None:
    """Refuse a call that waits for nothing."""
    named = {field.name for field, _ in operation.ListFields()}
    if not named.intersection(_CONDITIONS):
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            f"wait_for needs one of {', '.join(_CONDITIONS)}",
            details={"fields": [{"field": "text", "problem": "is empty, and so is everything else to wait for"}]},
        )
