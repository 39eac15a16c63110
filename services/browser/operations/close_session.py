"""close_session: the end of a Chromium and of everything in it."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import CloseSessionOperation, CloseSessionResult

from services.browser.operations.registry import handles
from services.browser.session import Session


@handles(CloseSessionOperation)
async def close_session(session: Session, operation: CloseSessionOperation) -> CloseSessionResult:
    """Close a session, whatever it is doing."""
    await session.owner.close(session)
    return CloseSessionResult(session_id=session.session_id, status=session.status)
