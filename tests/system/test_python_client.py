"""The job of a Python program with the client that people install."""

from __future__ import annotations

import grpc
import pytest
from hyperkitty.agent.v1 import agent_service_pb2 as agents
from hyperkitty.agent.v1 import agents_pb2
from hyperkitty.agent.v1.grants_pb2 import Grant, NavigateScope
from hyperkitty.browser.v1 import operations_pb2 as ops
from hyperkitty.browser.v1.targets_pb2 import Target
from hyperkitty.client.connection import Connection, NotRunning
from hyperkitty.client.errors import explain
from hyperkitty.events.v1 import event_service_pb2 as events

from tests.running_system import RunningSystem
from tests.site import Site

SECONDS = 30.0


async def act(client: Connection, agent_id: str, operation: ops.BrowserOperation) -> ops.BrowserResult:
    request = agents.ActRequest(agent_id=agent_id, action=agents_pb2.ToolCall(browser=operation))
    return (await client.agents.Act(request, timeout=SECONDS)).browser


async def test_an_agent_works_over_grpc(
    shared_system: RunningSystem, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = site.put("/page", "<title>Page</title><button onclick=\"document.title = 'Pressed'\">Press</button>")
    grants = [Grant(capability=name) for name in ("create_session", "open_tab", "read_page")]
    grants.append(Grant(capability="navigate", navigate=NavigateScope(allowed_domains=[f"127.0.0.1:{site.port}"])))
    monkeypatch.setenv("HYPERKITTY_HOME", str(shared_system.home))
    async with Connection.local() as client:
        created = await client.agents.CreateAgent(agents.CreateAgentRequest(capabilities=grants), timeout=SECONDS)
        agent_id = created.agent.agent_id
        made = await act(client, agent_id, ops.BrowserOperation(create_session=ops.CreateSessionOperation()))
        opening = ops.OpenTabOperation(session_id=made.create_session.session_id, url=url)
        opened = await act(client, agent_id, ops.BrowserOperation(open_tab=opening))
        assert opened.open_tab.title == "Page"
        assert opened.changed.navigation.http_status == 200
        click = ops.ClickOperation(tab_id=opened.open_tab.tab_id, target=Target(role="button", name="Press"))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await act(client, agent_id, ops.BrowserOperation(click=click))
        failure = explain(refused.value)
        assert (failure.code, refused.value.code()) == ("not_authorized", grpc.StatusCode.PERMISSION_DENIED)
        assert "click" in failure.message
        assert failure.hint
        seen = [
            part.event.category
            async for part in client.events.ExportEvents(events.ExportEventsRequest(subject=agent_id), timeout=SECONDS)
        ]
        assert seen[0] == "agent.created"
        assert seen[-1] == "agent.action.rejected"
        await client.agents.TerminateAgent(agents.TerminateAgentRequest(agent_id=agent_id), timeout=SECONDS)


async def test_a_wrong_token_is_explained(shared_system: RunningSystem) -> None:
    async with Connection(shared_system.state["grpc_target"], "hk_wrong") as client:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await client.agents.ListAgents(agents.ListAgentsRequest(), timeout=SECONDS)
        assert explain(refused.value).code == "unauthenticated"


def test_nothing_running_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("HYPERKITTY_HOME", str(tmp_path_factory.mktemp("empty")))
    with pytest.raises(NotRunning, match="hyperkitty up"):
        Connection.local()
