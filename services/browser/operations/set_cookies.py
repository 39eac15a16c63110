"""set_cookies: cookies put into a session."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import SetCookiesOperation, SetCookiesResult
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.cdp.domains import storage
from services.browser.cdp.errors import CdpError
from services.browser.operations.cookies import cookie_to_set
from services.browser.operations.registry import handles
from services.browser.session import Session
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal


@handles(SetCookiesOperation)
async def set_cookies(session: Session, operation: SetCookiesOperation) -> SetCookiesResult:
    """Set them all, or none."""
    for place, cookie in enumerate(operation.cookies):
        if not cookie.domain:
            raise _invalid(f"cookies[{place}].domain", "is empty")
    command = storage.SetCookies(cookies=[cookie_to_set(cookie) for cookie in operation.cookies])
    try:
        await session.cdp.send(command, timeout=current_budget().remaining())
    except CdpError as error:
        raise _invalid("cookies", f"the browser does not take them: {error.message}") from error
    return SetCookiesResult(count=len(operation.cookies))


def _invalid(field: str, message: str) -> Refusal:
    return Refusal(
        ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
        f"{field}: {message}",
        details={"violations": [{"field": field, "message": message}]},
    )
