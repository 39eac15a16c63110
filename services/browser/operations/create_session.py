"""create_session: a Chromium of its own."""

from __future__ import annotations

from hyperkitty.browser.v1.operations_pb2 import CreateSessionOperation
from hyperkitty.browser.v1.sessions_pb2 import BrowserSession

from services.browser.operations.registry import handles
from services.browser.sessions import Sessions
from services.kit.operations import current_operation


@handles(CreateSessionOperation)
async def create_session(sessions: Sessions, operation: CreateSessionOperation) -> BrowserSession:
    """Start a session; it is ready when this returns."""
    session = await sessions.create(operation, current_operation().session_id)
    return session.to_proto()
