"""read_page: a page's content as text, markdown, html, or as a snapshot with refs."""

from __future__ import annotations

import secrets

from hyperkitty.browser.v1.operations_pb2 import ReadPageOperation, ReadPageResult
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page import reading as content
from services.browser.page.cursors import Reading
from services.browser.page.targeting import Need, locate
from services.browser.tab import Tab
from services.kit.errors import Refusal


@handles(ReadPageOperation)
async def read_page(tab: Tab, operation: ReadPageOperation) -> ReadPageResult:
    """Read a part of the page's content."""
    form = content.FORMS[operation.format]
    if operation.diff:
        raise Refusal(ErrorCode.ERROR_CODE_UNIMPLEMENTED, "read_page does not serve diff yet")
    limit = operation.max_chars or content.MOST_CHARACTERS
    with reading(tab):
        where = (
            tab.page.cursors.take(operation.cursor, form) if operation.cursor else await _begin(tab, operation, form)
        )
        part = await content.read(tab.page, where, limit)
    return ReadPageResult(
        format=operation.format,
        url=tab.page.url,
        title=tab.page.title,
        content=part.text,
        boundary=secrets.token_hex(16),
        next_cursor=part.next_cursor,
        hidden_count=part.hidden,
        ref_count=part.refs,
    )


async def _begin(tab: Tab, operation: ReadPageOperation, form: content.Form) -> Reading:
    if not operation.HasField("scope"):
        return content.begin(tab.page.frames.main, form, interactive_only=operation.interactive_only)
    found = await locate(tab.page, operation.scope, Need(visible=False, enabled=False))
    return content.begin(found.frame, form, scope=found.element.ref, interactive_only=operation.interactive_only)
