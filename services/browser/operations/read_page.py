"""read_page: a page's content as text, markdown, html, or as a snapshot with refs."""

from __future__ import annotations

import secrets

from hyperkitty.browser.v1.operations_pb2 import (
    CONTENT_FLAG_CHALLENGE,
    CONTENT_FLAG_INSTRUCTION_LIKE,
    ContentFlag,
    ReadPageOperation,
    ReadPageResult,
)
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.operations.reads import reading
from services.browser.operations.registry import handles
from services.browser.page import reading as content
from services.browser.page.cursors import Reading
from services.browser.page.flags import is_challenge, is_instruction_like
from services.browser.page.outlines import MOST_CHARACTERS, Key, difference
from services.browser.page.targeting import Need, locate
from services.browser.tab import Tab
from services.kit.errors import Refusal


@handles(ReadPageOperation)
async def read_page(tab: Tab, operation: ReadPageOperation) -> ReadPageResult:
    """Read a part of the page's content."""
    form = content.FORMS[operation.format]
    if operation.diff and (form != "snapshot" or operation.cursor):
        raise Refusal(
            ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
            "diff is of a snapshot, from its beginning",
            details={"violations": [{"field": "diff", "message": "needs format snapshot and no cursor"}]},
        )
    limit = operation.max_chars or content.MOST_CHARACTERS
    with reading(tab):
        where = (
            tab.page.cursors.take(operation.cursor, form) if operation.cursor else await _begin(tab, operation, form)
        )
        if operation.diff:
            part = await _changes(tab, operation, where, limit)
        else:
            part = await content.read(tab.page, where, limit)
            if form == "snapshot" and not operation.cursor and not part.next_cursor:
                tab.page.outlines.replace(_key(tab, operation), part.text)
    return ReadPageResult(
        format=operation.format,
        url=tab.page.url,
        title=tab.page.title,
        content=part.text,
        boundary=secrets.token_hex(16),
        next_cursor=part.next_cursor,
        hidden_count=part.hidden,
        ref_count=part.refs,
        flags=_flags(tab, form, part.text),
    )


def _key(tab: Tab, operation: ReadPageOperation) -> Key:
    scope = operation.scope.SerializeToString().hex() if operation.HasField("scope") else ""
    return tab.page.navigation.loader_id, scope, operation.interactive_only


async def _changes(tab: Tab, operation: ReadPageOperation, where: Reading, limit: int) -> content.Content:
    """Only what is other than in the previous snapshot; the whole one where there is none to compare it with."""
    whole = await content.read(tab.page, where, MOST_CHARACTERS)
    before = tab.page.outlines.replace(_key(tab, operation), whole.text) if not whole.next_cursor else None
    if before is not None:
        changes = difference(before, whole.text.splitlines())
        if len(changes) <= limit:
            return content.Content(changes, hidden=whole.hidden, refs=whole.refs)
    return await content.read(tab.page, await _begin(tab, operation, "snapshot"), limit)


def _flags(tab: Tab, form: content.Form, text: str) -> list[ContentFlag.ValueType]:
    flags: list[ContentFlag.ValueType] = []
    if form == "snapshot" and is_instruction_like(text.splitlines()):
        flags.append(CONTENT_FLAG_INSTRUCTION_LIKE)
    if is_challenge(tab.page.title, [frame.url for frame in tab.page.frames.all()]):
        flags.append(CONTENT_FLAG_CHALLENGE)
    return flags


async def _begin(tab: Tab, operation: ReadPageOperation, form: content.Form) -> Reading:
    if not operation.HasField("scope"):
        return content.begin(tab.page.frames.main, form, interactive_only=operation.interactive_only)
    found = await locate(tab.page, operation.scope, Need(visible=False, enabled=False))
    return content.begin(found.frame, form, scope=found.element.ref, interactive_only=operation.interactive_only)
