"""What all operations that load a document have in common: how it ended, also behind the session's proxy."""

from __future__ import annotations

from collections.abc import Awaitable

from hyperkitty.browser.v1 import targets_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.operations.reads import reading
from services.browser.page import loading
from services.browser.tab import Tab
from services.kit.errors import Refusal
from services.kit.masking import without_credentials


async def load(tab: Tab, loaded: Awaitable[pb.Navigation], url: str) -> tuple[pb.Navigation, str]:
    """Wait for a document; returns how its navigation ended and its title.

    Raises Refusal: navigation_failed with the network error as it was outside of the namespace, request_blocked when
    the session's egress policy refused the document's host.
    """
    with reading(tab):
        try:
            navigation = await loaded
        except Refusal as refusal:
            if refusal.code == ErrorCode.ERROR_CODE_NAVIGATION_FAILED:
                _check_dialled(tab, str(refusal.details.get("url", url)))
            raise
        if navigation.outcome == pb.NAVIGATION_OUTCOME_COMMITTED:
            _check_dialled(tab, navigation.url)
        return navigation, await loading.title(tab.page)


def _check_dialled(tab: Tab, url: str) -> None:
    """Chromium knows of the proxy's connections only that there was none, or sees the proxy's own answer."""
    failure = tab.session.proxy.failure_of(url)
    if failure is None:
        return
    if failure.blocked:
        raise Refusal(
            ErrorCode.ERROR_CODE_REQUEST_BLOCKED,
            f"{without_credentials(url)[:500]}: {failure.detail}",
            details={"url": without_credentials(url)[:2047], "reason": failure.detail[:500]},
        )
    raise loading.failed(url, failure.net_error)
