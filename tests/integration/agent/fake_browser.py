"""A browser service without browsers: it notes what reaches it and answers as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.browser.v1 import browser_service_pb2 as pb
from hyperkitty.browser.v1.browser_service_pb2_grpc import (
    BrowserServiceServicer,
    add_BrowserServiceServicer_to_server,
)
from hyperkitty.browser.v1.operations_pb2 import BrowserOperation, BrowserResult, CloseSessionResult
from hyperkitty.browser.v1.sessions_pb2 import SESSION_STATUS_CLOSED, BrowserSession

from services.kit.deadlines import current_budget
from services.kit.identity import current_identity
from services.kit.ids import new_id
from services.kit.serving import Servicer


class FakeBrowser(BrowserServiceServicer):
    """`calls` are what reached it, with the identities they came under."""

    def __init__(self) -> None:
        self.calls: list[BrowserOperation] = []
        self.identities: list[CallerIdentity] = []
        self.seconds_left: list[float] = []
        self.closed: list[str] = []
        self.closers: list[CallerIdentity] = []
        self.arrived = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.closing = asyncio.Event()
        self.close_gate = asyncio.Event()
        self.close_gate.set()
        self.answer: Callable[[BrowserOperation], BrowserResult] = _answer

    @property
    def servicer(self) -> Servicer:
        return (add_BrowserServiceServicer_to_server, self)

    async def Execute(self, request: pb.ExecuteRequest, context: object) -> pb.ExecuteResponse:
        self.calls.append(request.operation)
        self.identities.append(current_identity())
        self.seconds_left.append(current_budget().left())
        self.arrived.set()
        await self.gate.wait()
        return pb.ExecuteResponse(result=self.answer(request.operation))

    async def CloseSession(self, request: pb.CloseSessionRequest, context: object) -> pb.CloseSessionResponse:
        self.closing.set()
        await self.close_gate.wait()
        self.closed.append(request.operation.session_id)
        self.closers.append(current_identity())
        result = CloseSessionResult(session_id=request.operation.session_id, status=SESSION_STATUS_CLOSED)
        return pb.CloseSessionResponse(result=result)


def _answer(operation: BrowserOperation) -> BrowserResult:
    result = BrowserResult()
    name = operation.WhichOneof("operation") or ""
    if name == "create_session":
        owner = operation.create_session.owner_agent_id
        result.create_session.CopyFrom(BrowserSession(session_id=new_id("sess"), owner_agent_id=owner))
    else:
        getattr(result, name).SetInParent()
    return result
