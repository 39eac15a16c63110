"""get_cookies: a session's cookies; their values only for who may have them."""

from __future__ import annotations

from urllib.parse import urlsplit

from hyperkitty.browser.v1.operations_pb2 import Cookie, GetCookiesOperation, GetCookiesResult
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.domains import network, storage
from services.browser.operations.cookies import cookie_to_proto
from services.browser.operations.registry import handles
from services.browser.session import Session
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal
from services.kit.identity import current_identity


@handles(GetCookiesOperation)
async def get_cookies(session: Session, operation: GetCookiesOperation) -> GetCookiesResult:
    """List them, those of the given URLs only where some are given."""
    asked = await session.cdp.send(storage.GetCookies(), timeout=current_budget().remaining())
    values = may_have_values()
    wanted = [_parts(url) for url in operation.urls]
    cookies = [
        cookie_to_proto(cookie)
        for cookie in asked.cookies
        if not wanted or any(_goes_to(cookie, *parts) for parts in wanted)
    ]
    return GetCookiesResult(cookies=cookies if values else [_without_value(cookie) for cookie in cookies])


def may_have_values() -> bool:
    """People's tokens may; an agent by a grant that says `values`."""
    identity = current_identity()
    if not identity.HasField("delegation"):
        return True
    return any(grant.capability == "get_cookies" and grant.get_cookies.values for grant in identity.delegation.grants)


def _without_value(cookie: Cookie) -> Cookie:
    cookie.value = ""
    return cookie


def _parts(url: str) -> tuple[str, str, bool]:
    """Host, path, and whether it is secure. Raises Refusal invalid_arguments."""
    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname:
            return parts.hostname, parts.path or "/", parts.scheme == "https"
    except ValueError:
        pass
    raise Refusal(
        ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
        f"{url[:200]!r} is no http or https URL",
        details={"violations": [{"field": "urls", "message": "must be http or https URLs"}]},
    )


def _goes_to(cookie: network.Cookie, host: str, path: str, secure: bool) -> bool:
    """RFC 6265, sections 5.1.3, 5.1.4 and 5.4."""
    domain = cookie.domain.lstrip(".")
    if host != domain and not (cookie.domain.startswith(".") and host.endswith(f".{domain}")):
        return False
    if path != cookie.path and not path.startswith(cookie.path.rstrip("/") + "/"):
        return False
    return secure or not cookie.secure or host in ("localhost", "127.0.0.1")
