"""What all operations that load a document have in common: how it ended, also behind the session's proxy."""

from __future__ import annotations

import re
from collections.abc import Awaitable

from hyperkitty.browser.v1 import targets_pb2 as pb
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.operations.reads import reading
from services.browser.page import loading
from services.browser.tab import Tab
from services.kit.errors import Refusal
from services.kit.masking import without_credentials

UNAUTHORIZED = 401


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
            _check_let_in(tab, navigation)
        return navigation, await loading.title(tab.page)


def _check_let_in(tab: Tab, navigation: pb.Navigation) -> None:
    """A document that asks who is there, and did not get an answer it took. Raises Refusal http_auth_required."""
    challenge = tab.page.traffic.document(tab.page.navigation.loader_id).challenge
    if navigation.http_status != UNAUTHORIZED or not challenge:
        return
    scheme, _, rest = challenge.partition(" ")
    realm = re.search(r'realm="([^"]*)"', rest)
    raise Refusal(
        ErrorCode.ERROR_CODE_HTTP_AUTH_REQUIRED,
        f"{navigation.url[:500]} asks for a user name and a password",
        hint="Give create_session settings.http_credentials for this origin.",
        details={
            "url": navigation.url[:2047],
            "http_status": navigation.http_status,
            "scheme": scheme.lower()[:50],
            "realm": realm.group(1)[:200] if realm else "",
        },
    )


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
