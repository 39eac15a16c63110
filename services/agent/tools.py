"""The tools of an agent: each action becomes one call, by gRPC, under the agent's delegated identity (SPEC §2)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import grpc
from hyperkitty.agent.v1.agent_service_pb2 import ActResponse
from hyperkitty.agent.v1.agents_pb2 import Agent
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, Delegation
from hyperkitty.browser.v1.browser_service_pb2 import ExecuteRequest
from hyperkitty.browser.v1.browser_service_pb2_grpc import BrowserServiceStub
from hyperkitty.browser.v1.operations_pb2 import BrowserOperation, CreateSessionOperation
from hyperkitty.messaging.v1.messages_pb2 import MessageFilter, MessagePage, OutgoingMessage
from hyperkitty.messaging.v1.messaging_service_pb2 import ListMessagesRequest, SendMessageRequest
from hyperkitty.messaging.v1.messaging_service_pb2_grpc import MessagingServiceStub
from hyperkitty.search.v1.search_pb2 import SearchQuery
from hyperkitty.search.v1.search_service_pb2 import GetSearchResultRequest, StartSearchRequest
from hyperkitty.search.v1.search_service_pb2_grpc import SearchServiceStub

from services.agent.effects import Done
from services.agent.limits import ACTION_SECONDS
from services.agent.proposals import Proposal
from services.agent.records import Claim
from services.kit import deadlines
from services.kit.identity import calling_as

_EXECUTE = "/hyperkitty.browser.v1.BrowserService/Execute"
_START_SEARCH = "/hyperkitty.search.v1.SearchService/StartSearch"
_SEARCH_RESULT = "/hyperkitty.search.v1.SearchService/GetSearchResult"
_SEND_MESSAGE = "/hyperkitty.messaging.v1.MessagingService/SendMessage"
_LIST_MESSAGES = "/hyperkitty.messaging.v1.MessagingService/ListMessages"
# Rounds of a search that names none (SPEC §7).
_SEARCH_ITERATIONS = 3


class Tools:
    """Runs proposals on the services behind the three tools. Raises Refusal as they refuse."""

    def __init__(self, browser: grpc.aio.Channel, search: grpc.aio.Channel, messaging: grpc.aio.Channel) -> None:
        self._browser = BrowserServiceStub(browser)
        self._search = SearchServiceStub(search)
        self._messaging = MessagingServiceStub(messaging)

    async def run(self, agent: Agent, claim: Claim, proposal: Proposal) -> Done:
        """One action, to its end or to the end of its time: 45 s, or what the caller left of them."""
        with deadlines.within(ACTION_SECONDS) as budget:
            async with budget.limit():
                return await self._run(agent, claim, proposal)

    async def _run(self, agent: Agent, claim: Claim, proposal: Proposal) -> Done:
        identity = _delegated(agent, claim)
        if proposal.tool == "browser":
            return await self._execute(identity, claim, proposal)
        if isinstance(proposal.args, SearchQuery):
            left = agent.limits.max_search_iterations - agent.usage.search_iterations
            return Done(await self._run_search(identity, claim, proposal.args, left))
        return Done(await self._message(identity, claim, proposal))

    async def _execute(self, identity: CallerIdentity, claim: Claim, proposal: Proposal) -> Done:
        operation = BrowserOperation()
        operation.CopyFrom(proposal.call.browser)
        if isinstance(proposal.args, CreateSessionOperation):
            operation.create_session.owner_agent_id = identity.agent_id
        with _for(identity, _EXECUTE):
            answer = await self._browser.Execute(ExecuteRequest(operation=operation))
        response = ActResponse(action_id=claim.action.action_id, browser=answer.result)
        return Done(response, answer.session_id, answer.network_requests)

    async def _run_search(
        self, identity: CallerIdentity, claim: Claim, query: SearchQuery, iterations_left: int
    ) -> ActResponse:
        bounded = SearchQuery(query=query.query, provider=query.provider)
        bounded.max_iterations = max(1, min(query.max_iterations or _SEARCH_ITERATIONS, iterations_left))
        with _for(identity, _START_SEARCH):
            job = (await self._search.StartSearch(StartSearchRequest(query=bounded))).job
        with _for(identity, _SEARCH_RESULT):
            wait_ms = round(deadlines.current_budget().left() * 1000)
            answer = await self._search.GetSearchResult(GetSearchResultRequest(job_id=job.job_id, wait_ms=wait_ms))
        return ActResponse(action_id=claim.action.action_id, search=answer.outcome)

    async def _message(self, identity: CallerIdentity, claim: Claim, proposal: Proposal) -> ActResponse:
        if isinstance(proposal.args, OutgoingMessage):
            with _for(identity, _SEND_MESSAGE):
                sent = await self._messaging.SendMessage(SendMessageRequest(message=proposal.args))
            return ActResponse(action_id=claim.action.action_id, message=sent.message)
        wanted = proposal.args if isinstance(proposal.args, MessageFilter) else MessageFilter()
        request = ListMessagesRequest(
            conversation_id=wanted.conversation_id,
            recipient=wanted.recipient,
            status=wanted.status,
            page_size=wanted.page_size,
            page_token=wanted.page_token,
        )
        with _for(identity, _LIST_MESSAGES):
            found = await self._messaging.ListMessages(request)
        page = MessagePage(messages=found.messages, next_page_token=found.next_page_token)
        return ActResponse(action_id=claim.action.action_id, messages=page)


def _delegated(agent: Agent, claim: Claim) -> CallerIdentity:
    delegation = Delegation(
        grants=agent.capabilities,
        action_id=claim.action.action_id,
        fencing_number=claim.action.fencing_number,
    )
    return CallerIdentity(tenant=agent.tenant, token_id=claim.actor, agent_id=agent.agent_id, delegation=delegation)


@contextmanager
def _for(identity: CallerIdentity, method: str) -> Generator[None]:
    """Calls inside carry the identity, good for this one method."""
    identity.delegation.method = method
    with calling_as(identity):
        yield
