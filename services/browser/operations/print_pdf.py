"""print_pdf: a page as a PDF document, stored as an artifact."""

from __future__ import annotations

import asyncio
from io import BytesIO

from hyperkitty.browser.v1.operations_pb2 import PrintPdfOperation, PrintPdfResult
from hyperkitty.operations.v1.artifacts_pb2 import ARTIFACT_KIND_PDF
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from pypdf import PdfReader

from services.browser.cdp.domains import page
from services.browser.operations.reads import reading, still
from services.browser.operations.registry import handles
from services.browser.tab import Tab
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal

SMALLEST, LARGEST = 0.1, 2.0


@handles(PrintPdfOperation)
async def print_pdf(tab: Tab, operation: PrintPdfOperation) -> PrintPdfResult:
    """Print the page as it is now."""
    if operation.scale and not SMALLEST <= operation.scale <= LARGEST:
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            f"scale {operation.scale:g} is not between {SMALLEST:g} and {LARGEST:g}",
            details={"violations": [{"field": "scale", "message": f"must be {SMALLEST:g} to {LARGEST:g}"}]},
        )
    command = page.PrintToPDF(
        landscape=operation.landscape, print_background=operation.print_background, scale=operation.scale or None
    )
    async with still(tab):
        with reading(tab):
            printed = await tab.page.wire.send(tab.cdp, command, current_budget().remaining())
    async with current_budget().limit():
        pages = await asyncio.to_thread(_pages, printed.data)
    artifact = await tab.session.keep(ARTIFACT_KIND_PDF, "application/pdf", printed.data)
    return PrintPdfResult(artifact=artifact, pages=pages)


def _pages(data: bytes) -> int:
    return len(PdfReader(BytesIO(data)).pages)
