"""Closing the sessions that an agent made, once it has ended: a browser without an agent serves nobody.

SPEC is silent on it. Sessions that were given to the agent stay: whoever made them may want them back.
"""

from __future__ import annotations

import asyncio

import grpc
import msgspec
from hyperkitty.agent.v1.agents_pb2 import Agent
from hyperkitty.browser.v1.browser_service_pb2 import CloseSessionRequest
from hyperkitty.browser.v1.browser_service_pb2_grpc import BrowserServiceStub
from hyperkitty.browser.v1.operations_pb2 import CloseSessionOperation
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.agent.lives import Lives
from services.kit import deadlines, logs
from services.kit.errors import Refusal
from services.kit.store import RevisionMismatch, StoreUnavailable

log = logs.get(__name__)

_CALL_SECONDS = 30.0
_SETTLE_SECONDS = 60.0
_PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
# The session is gone already, or on its way.
_GONE = frozenset({ErrorCode.ERROR_CODE_NOT_FOUND, ErrorCode.ERROR_CODE_WRONG_STATE})


class Closing:
    """Ends sessions as `system:agent`."""

    def __init__(self, lives: Lives, browser: grpc.aio.Channel) -> None:
        self._lives = lives
        self._browser = BrowserServiceStub(browser)

    async def close_all(self, agent: Agent) -> None:
        """Closes what is open, once. Raises Refusal, RevisionMismatch, StoreUnavailable, TimeoutError."""
        slot = self._lives.slots.of(agent.agent_id)
        if slot.running is not None:
            # The action that was broken off may have opened another one.
            async with asyncio.timeout(_SETTLE_SECONDS):
                await slot.running.settled.wait()
        with deadlines.apart(_CALL_SECONDS):
            sessions = (await self._lives.ledger.again(agent)).record.sessions
        if not sessions:
            return
        closed = await asyncio.gather(*(self._close(session_id) for session_id in sessions))
        left = tuple(each for each, is_closed in zip(sessions, closed, strict=True) if not is_closed)
        with deadlines.apart(_CALL_SECONDS):
            async with slot.lock:
                standing = await self._lives.ledger.again(agent)
                await self._lives.ledger.write(standing, msgspec.structs.replace(standing.record, sessions=left))

    async def try_close_all(self, agent: Agent) -> None:
        """The same as a background task: what stays open after some minutes is tried again when the service starts."""
        for pause in (*_PAUSES, None):
            try:
                await self.close_all(agent)
            except (Refusal, RevisionMismatch, StoreUnavailable, TimeoutError) as error:
                log.warning("sessions_left_open", agent_id=agent.agent_id, reason=str(error))
            else:
                return
            if pause is not None:
                # Nothing tells when the store can be read again; asking again after a while does.
                await asyncio.sleep(pause)

    async def _close(self, session_id: str) -> bool:
        request = CloseSessionRequest(operation=CloseSessionOperation(session_id=session_id))
        for pause in (*_PAUSES, None):
            try:
                with deadlines.apart(_CALL_SECONDS):
                    await self._browser.CloseSession(request)
                return True
            except Refusal as refusal:
                if refusal.code in _GONE:
                    return True
                log.info("session_not_closed", session_id=session_id, reason=str(refusal))
            if pause is not None:
                # Nothing tells when the browser service can close it; asking again after a while does.
                await asyncio.sleep(pause)
        return False
