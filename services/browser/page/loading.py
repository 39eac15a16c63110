"""Loading documents, and waiting for them (SPEC §4, "Waiting"). Every wait ends by an event or by the deadline."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from hyperkitty.browser.v1 import operations_pb2 as ops
from hyperkitty.browser.v1 import targets_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.domains import page as cdp_page
from services.browser.page.navigation import Ended
from services.browser.page.page import Page
from services.browser.page.wire import DialogInterrupted
from services.browser.page.world import WorldGone
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal
from services.kit.masking import without_credentials

SAME_DOCUMENT_SECONDS = 2.0
ERROR_PAGE_SECONDS = 1.0
STOP_SECONDS = 1.0

_NO_CONTENT = frozenset({204, 205})
_STAYS = frozenset(
    {pb.NAVIGATION_OUTCOME_NO_CONTENT, pb.NAVIGATION_OUTCOME_DOWNLOAD, pb.NAVIGATION_OUTCOME_SAME_DOCUMENT}
)


async def navigate(page: Page, url: str, wait_until: ops.WaitUntil.ValueType) -> pb.Navigation:
    """Load a URL in the main frame. Raises Refusal navigation_failed, deadline_exceeded.

    A dialog that opens meanwhile (beforeunload, or one of the new document) ends the wait: what is known is the result.
    """
    mark = page.navigation.number
    try:
        async with current_budget().limit():
            answer = await page.wire.send(page.session, cdp_page.Navigate(url=url), current_budget().remaining())
            navigation = await _answered(page, url, answer, mark)
            if navigation.outcome not in _STAYS:
                await until(page, wait_until)
    except DialogInterrupted:
        return _so_far(page, url, mark)
    except BaseException:
        # However it ends, also cancelled: what was not loaded in time is not loaded behind the caller's back.
        _stop(page)
        raise
    return navigation


async def _answered(page: Page, url: str, answer: cdp_page.NavigateResult, mark: int) -> pb.Navigation:
    """How Chromium's answer to Page.navigate ends the navigation, which by then is over."""
    if answer.loader_id is None and not answer.error_text:
        await page.conditions.until(lambda: page.navigation.main_since(mark) is not None, SAME_DOCUMENT_SECONDS)
        return pb.Navigation(url=page.url, outcome=pb.NAVIGATION_OUTCOME_SAME_DOCUMENT)
    status = page.traffic.document(answer.loader_id or "").status
    if answer.is_download:
        return pb.Navigation(url=url, outcome=pb.NAVIGATION_OUTCOME_DOWNLOAD, http_status=status)
    if answer.error_text == "net::ERR_ABORTED" and status in _NO_CONTENT:
        return pb.Navigation(url=url, outcome=pb.NAVIGATION_OUTCOME_NO_CONTENT, http_status=status)
    if answer.error_text:
        await _error_page(page, answer.error_text, mark)
        raise failed(url, answer.error_text, status)
    await page.conditions.until(
        lambda: page.navigation.loader_id == answer.loader_id or page.navigation.main_since(mark) is not None,
        current_budget().remaining(),
    )
    return pb.Navigation(url=page.url, outcome=pb.NAVIGATION_OUTCOME_COMMITTED, http_status=status)


async def _error_page(page: Page, net_error: str, mark: int) -> None:
    """Wait for the page that tells of the error: it commits after the answer, and is not the next one's commit."""
    if net_error == "net::ERR_ABORTED":
        return
    with suppress(TimeoutError):
        await page.conditions.until(
            lambda: page.navigation.main_since(mark) is not None,
            min(ERROR_PAGE_SECONDS, current_budget().remaining()),
        )


def failed(url: str, net_error: str, status: int = 0) -> Refusal:
    """The refusal for a document that could not be loaded."""
    shown = without_credentials(url)
    return Refusal(
        ErrorCode.ERROR_CODE_NAVIGATION_FAILED,
        f"{shown[:500]}: {net_error}",
        details={"url": shown[:2047], "net_error": net_error, "http_status": status},
    )


def _so_far(page: Page, url: str, mark: int) -> pb.Navigation:
    ended = page.navigation.main_since(mark)
    return ended.to_proto() if ended else pb.Navigation(url=url, outcome=pb.NAVIGATION_OUTCOME_PENDING)


def _stop(page: Page) -> None:
    if page.navigation.pending or page.navigation.loading:
        page.session.post(cdp_page.StopLoading(), timeout=STOP_SECONDS)


async def until(page: Page, wait_until: ops.WaitUntil.ValueType) -> None:
    """Wait until the main frame's document, whichever it is by then, is as far. Raises Refusal deadline_exceeded."""
    log = page.navigation
    budget = current_budget()
    if wait_until == ops.WAIT_UNTIL_NONE:
        return
    async with budget.limit():
        if wait_until == ops.WAIT_UNTIL_DOMCONTENTLOADED:
            await page.conditions.until(lambda: log.reached("DOMContentLoaded") or not log.busy(), budget.remaining())
            return
        await page.conditions.until(lambda: log.reached("load") or not log.busy(), budget.remaining())
        if wait_until == ops.WAIT_UNTIL_NETWORKIDLE:
            await page.traffic.idle(budget.remaining())


async def begin(
    page: Page, command: Callable[[], Awaitable[object]], wait_until: ops.WaitUntil.ValueType, url: str
) -> pb.Navigation:
    """Run a command that makes the main frame go somewhere, and wait for it. Raises as `navigate` does."""
    mark = page.navigation.number
    budget = current_budget()
    try:
        async with budget.limit():
            await command()
            await page.conditions.until(lambda: page.navigation.main_since(mark) is not None, budget.remaining())
            ended = page.navigation.main_since(mark)
            if ended is None or ended.outcome == pb.NAVIGATION_OUTCOME_FAILED:
                raise failed(url, ended.net_error if ended else "net::ERR_ABORTED")
            if ended.outcome not in _STAYS:
                await until(page, wait_until)
    except DialogInterrupted:
        return _so_far(page, url, mark)
    except BaseException:
        # However it ends, also cancelled: what was not loaded in time is not loaded behind the caller's back.
        _stop(page)
        raise
    return _now(page, ended)


def _now(page: Page, ended: Ended) -> pb.Navigation:
    """A page may have replaced itself while it was waited for: the document is the present one."""
    navigation = ended.to_proto()
    if ended.outcome == pb.NAVIGATION_OUTCOME_COMMITTED:
        navigation.url = page.url
        navigation.http_status = page.traffic.document(page.navigation.loader_id).status or ended.http_status
    return navigation


async def reload(page: Page, wait_until: ops.WaitUntil.ValueType, *, ignore_cache: bool) -> pb.Navigation:
    """Load the document again. Raises as `navigate` does."""
    command = cdp_page.Reload(ignore_cache=ignore_cache or None)
    return await begin(
        page, lambda: page.wire.send(page.session, command, current_budget().remaining()), wait_until, page.url
    )


async def go(page: Page, steps: int, wait_until: ops.WaitUntil.ValueType) -> pb.Navigation:
    """Go back (-1) or forward (1) in the history. Raises Refusal wrong_state at its end, and as `navigate` does."""
    history = await page.wire.send(page.session, cdp_page.GetNavigationHistory(), current_budget().remaining())
    index = history.current_index + steps
    if not 0 <= index < len(history.entries):
        raise Refusal(
            ErrorCode.ERROR_CODE_WRONG_STATE,
            f"the history has no entry {'before' if steps < 0 else 'after'} this one",
            hint="Use navigate to load a document.",
            details={"entries": len(history.entries), "index": history.current_index},
        )
    entry = history.entries[index]
    command = cdp_page.NavigateToHistoryEntry(entry_id=entry.id)
    return await begin(
        page, lambda: page.wire.send(page.session, command, current_budget().remaining()), wait_until, entry.url
    )


async def title(page: Page) -> str:
    """The document's title now; "" where it cannot be asked."""
    try:
        await page.refresh(min(2.0, current_budget().remaining()))
    except (WorldGone, DialogInterrupted, TimeoutError):
        return page.title
    return page.title
