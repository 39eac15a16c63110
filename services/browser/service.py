"""BrowserService: the rpc surface, thin. What is done stands in operations/, how it is done right in dispatch.py."""

from __future__ import annotations

from typing import TypeVar

import grpc
from hyperkitty.browser.v1 import browser_service_pb2 as rpc
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1 import sessions_pb2
from hyperkitty.browser.v1.browser_service_pb2_grpc import BrowserServiceServicer
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.browser.authority import check_tenant, not_found
from services.browser.dispatch import Dispatcher
from services.browser.operations.registry import handler_of
from services.browser.sessions import Sessions
from services.kit import record
from services.kit.capabilities import arm_of, comments, facts_of, operations
from services.kit.errors import Refusal
from services.kit.identity import current_identity
from services.kit.operations import current_operation
from services.kit.paging import page_of

Request = TypeVar("Request")
Response = TypeVar("Response")
Context = grpc.aio.ServicerContext[Request, Response]


class BrowserServer(BrowserServiceServicer):
    """Serves sessions, tabs and the operations on them."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._dispatcher = Dispatcher(sessions)

    async def ListSessions(
        self, request: rpc.ListSessionsRequest, context: Context[rpc.ListSessionsRequest, rpc.ListSessionsResponse]
    ) -> rpc.ListSessionsResponse:
        identity = current_identity()
        records = await self._sessions.all_on_record("" if identity.scopes.root else identity.tenant)
        wanted = [
            record
            for record in records
            if request.status in (sessions_pb2.SESSION_STATUS_UNSPECIFIED, record.status)
            and request.owner_agent_id in ("", record.owner_agent_id)
        ]
        page, token = page_of(wanted, request.page_size, request.page_token, key=lambda record: record.session_id)
        return rpc.ListSessionsResponse(sessions=page, next_page_token=token)

    async def GetSession(
        self, request: rpc.GetSessionRequest, context: Context[rpc.GetSessionRequest, rpc.GetSessionResponse]
    ) -> rpc.GetSessionResponse:
        record = await self._sessions.on_record(request.session_id, current_identity().tenant)
        check_tenant(current_identity(), record.tenant, request.session_id)
        return rpc.GetSessionResponse(session=record)

    async def CreateSession(
        self, request: rpc.CreateSessionRequest, context: Context[rpc.CreateSessionRequest, rpc.CreateSessionResponse]
    ) -> rpc.CreateSessionResponse:
        result = await self._dispatcher.run(pb.BrowserOperation(create_session=request.operation))
        return rpc.CreateSessionResponse(session=result.create_session)

    async def CloseSession(
        self, request: rpc.CloseSessionRequest, context: Context[rpc.CloseSessionRequest, rpc.CloseSessionResponse]
    ) -> rpc.CloseSessionResponse:
        result = await self._dispatcher.run(pb.BrowserOperation(close_session=request.operation))
        return rpc.CloseSessionResponse(result=result.close_session)

    async def SetSessionOwner(
        self,
        request: rpc.SetSessionOwnerRequest,
        context: Context[rpc.SetSessionOwnerRequest, rpc.SetSessionOwnerResponse],
    ) -> rpc.SetSessionOwnerResponse:
        operation = current_operation()
        operation.subject = operation.session_id = request.session_id
        session, _ = await self._sessions.find(request.session_id, "")
        if session is None:
            raise not_found(request.session_id)
        check_tenant(current_identity(), session.tenant, request.session_id)
        session.check_usable()
        await self._sessions.give(session, request.owner_agent_id)
        return rpc.SetSessionOwnerResponse(session=session.to_proto())

    async def OpenTab(
        self, request: rpc.OpenTabRequest, context: Context[rpc.OpenTabRequest, rpc.OpenTabResponse]
    ) -> rpc.OpenTabResponse:
        result = await self._dispatcher.run(pb.BrowserOperation(open_tab=request.operation))
        return rpc.OpenTabResponse(tab=result.open_tab, changed=result.changed)

    async def CloseTab(
        self, request: rpc.CloseTabRequest, context: Context[rpc.CloseTabRequest, rpc.CloseTabResponse]
    ) -> rpc.CloseTabResponse:
        result = await self._dispatcher.run(pb.BrowserOperation(close_tab=request.operation))
        return rpc.CloseTabResponse(result=result.close_tab, changed=result.changed)

    async def Navigate(
        self, request: rpc.NavigateRequest, context: Context[rpc.NavigateRequest, rpc.NavigateResponse]
    ) -> rpc.NavigateResponse:
        result = await self._dispatcher.run(pb.BrowserOperation(navigate=request.operation))
        return rpc.NavigateResponse(result=result.navigate, changed=result.changed)

    async def Execute(
        self, request: rpc.ExecuteRequest, context: Context[rpc.ExecuteRequest, rpc.ExecuteResponse]
    ) -> rpc.ExecuteResponse:
        operation = _with_ids(request.operation, request.session_id, request.tab_id)
        done_in, is_agents = current_operation(), current_identity().HasField("delegation")
        try:
            result = await self._dispatcher.run(operation)
        except Refusal as refusal:
            if is_agents:
                # Whoever counts for the agent hears of it also where the operation failed.
                sent = self._sessions.owners_requests(done_in.session_id)
                refusal.details["sent"] = {"session_id": done_in.session_id, "network_requests": sent}
            raise
        return rpc.ExecuteResponse(
            result=result,
            network_requests=self._sessions.owners_requests(done_in.session_id),
            session_id=done_in.session_id,
        )

    async def Batch(
        self, request: rpc.BatchRequest, context: Context[rpc.BatchRequest, rpc.BatchResponse]
    ) -> rpc.BatchResponse:
        response = rpc.BatchResponse(failed_index=-1)
        try:
            for operation in request.operations:
                ready = _with_ids(operation, request.session_id, request.tab_id)
                response.results.append(await self._dispatcher.run(ready))
                await record.flush()  # each outcome is on the log before the next intent
        except Refusal as refusal:
            # What was done before it was done: the caller hears of that, and of why the rest was not.
            response.failed_index = len(response.results)
            response.error.CopyFrom(refusal.to_proto())
        current_operation().kind = "batch"
        return response

    async def ListBrowserOperations(
        self,
        request: rpc.ListBrowserOperationsRequest,
        context: Context[rpc.ListBrowserOperationsRequest, rpc.ListBrowserOperationsResponse],
    ) -> rpc.ListBrowserOperationsResponse:
        infos = [
            rpc.BrowserOperationInfo(
                name=facts.name,
                capability=facts.capability,
                effect=facts.effect,
                covered_by=sorted(facts.covering - {facts.capability}),
                event=facts.event,
                default_timeout_ms=facts.default_timeout_ms,
                served=handler_of(facts.name) is not None,
                summary=comments().get(facts.message, ""),
            )
            for facts in operations().values()
        ]
        return rpc.ListBrowserOperationsResponse(operations=infos)


def _with_ids(operation: pb.BrowserOperation, session_id: str, tab_id: str) -> pb.BrowserOperation:
    """The operation with the call's ids where it has none. Raises Refusal invalid_arguments where they differ."""
    facts = facts_of(operation)
    if facts is None:
        return operation
    arm = arm_of(operation)
    for name, value, taken in (("session_id", session_id, facts.on_session), ("tab_id", tab_id, facts.on_tab)):
        if not (value and taken):
            continue
        own = str(getattr(arm, name))
        if own not in ("", value):
            raise Refusal(
                ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
                f"{name} is {own!r} in the operation and {value!r} in the call",
                details={"fields": [{"field": name, "problem": "differs from the call's"}]},
            )
        setattr(arm, name, value)
    return operation
