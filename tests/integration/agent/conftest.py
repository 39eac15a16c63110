"""The agent service as its own process, beside a browser service that the test scripts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hyperkitty.agent.v1 import agent_service_pb2 as pb
from hyperkitty.agent.v1.agent_service_pb2_grpc import AgentServiceStub
from hyperkitty.agent.v1.agents_pb2 import Agent, AgentAction, AgentLimits, ToolCall
from hyperkitty.agent.v1.grants_pb2 import Grant
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.browser.v1.operations_pb2 import BrowserOperation

from services.agent.states import name
from services.kit.identity import calling_as
from tests.integration.agent.fake_browser import FakeBrowser
from tests.integration.agent.small_system import ROOT, SmallSystem, small_system


def browser(**arm: object) -> ToolCall:
    """A browser action."""
    return ToolCall(browser=BrowserOperation(**arm))  # type: ignore[arg-type]


@dataclass
class AgentWorld:
    """The system, the agent service's stub, and the browser behind it."""

    system: SmallSystem
    browser: FakeBrowser

    @property
    def stub(self) -> AgentServiceStub:
        return AgentServiceStub(self.system.channel("agent"))

    async def create(self, *granted: str | Grant, limits: AgentLimits | None = None) -> str:
        """A new agent's id."""
        capabilities = [Grant(capability=each) if isinstance(each, str) else each for each in granted]
        with calling_as(ROOT):
            answer = await self.stub.CreateAgent(pb.CreateAgentRequest(capabilities=capabilities, limits=limits))
        return answer.agent.agent_id

    async def act(
        self, agent_id: str, call: ToolCall, *, timeout: float | None = None, identity: CallerIdentity = ROOT
    ) -> pb.ActResponse:
        """One action. Raises Refusal."""
        with calling_as(identity):
            call_under_way = self.stub.Act(pb.ActRequest(agent_id=agent_id, action=call), timeout=timeout)
        return await call_under_way

    async def get(self, agent_id: str, identity: CallerIdentity = ROOT) -> Agent:
        """The agent as it is."""
        with calling_as(identity):
            return (await self.stub.GetAgent(pb.GetAgentRequest(agent_id=agent_id))).agent

    async def state(self, agent_id: str) -> str:
        """The agent's state."""
        return name((await self.get(agent_id)).state)

    async def history(self, agent_id: str) -> list[AgentAction]:
        """The agent's actions."""
        with calling_as(ROOT):
            answer = await self.stub.ListAgentActions(pb.ListAgentActionsRequest(agent_id=agent_id))
        return list(answer.actions)

    async def all_history(self, agent_id: str) -> list[AgentAction]:
        """The agent's actions, page by page."""
        actions: list[AgentAction] = []
        token = ""
        while True:
            request = pb.ListAgentActionsRequest(agent_id=agent_id, page_size=200, page_token=token)
            with calling_as(ROOT):
                answer = await self.stub.ListAgentActions(request)
            actions += answer.actions
            token = answer.next_page_token
            if not token:
                return actions


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[AgentWorld]:
    async with small_system(tmp_path / "home") as system:
        fake = FakeBrowser()
        server = await system.serve("browser", [fake.servicer])
        await system.start("agent")
        yield AgentWorld(system, fake)
        fake.gate.set()
        await server.drain(0)
