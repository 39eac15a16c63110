"""clear_cookies: cookies taken out of a session."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import ClearCookiesOperation, ClearCookiesResult

from services.browser.cdp.domains import network, storage
from services.browser.operations.cookies import belongs
from services.browser.operations.registry import handles
from services.browser.session import Session
from services.kit.deadlines import current_budget

LONG_AGO = 1.0
"""Seconds UTC: a cookie that ended then is removed."""


@handles(ClearCookiesOperation)
async def clear_cookies(session: Session, operation: ClearCookiesOperation) -> ClearCookiesResult:
    """Remove all, or those of a domain and of those below it."""
    budget = current_budget()
    asked = await session.cdp.send(storage.GetCookies(), timeout=budget.remaining())
    if not operation.domain:
        await session.cdp.send(storage.ClearCookies(), timeout=budget.remaining())
        return ClearCookiesResult(count=len(asked.cookies))
    ended = [
        network.CookieParam(
            name=cookie.name,
            value="",
            domain=cookie.domain,
            path=cookie.path,
            secure=cookie.secure,
            expires=LONG_AGO,
            partition_key=cookie.partition_key,
        )
        for cookie in asked.cookies
        if belongs(cookie, operation.domain)
    ]
    if ended:
        await session.cdp.send(storage.SetCookies(cookies=ended), timeout=budget.remaining())
    return ClearCookiesResult(count=len(ended))
