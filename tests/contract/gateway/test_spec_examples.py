"""The example calls of SPEC §11, byte for byte."""

from __future__ import annotations

import pytest
from hyperkitty.agent.v1.agent_service_pb2 import ActRequest, ActResponse, CreateAgentRequest, CreateAgentResponse
from hyperkitty.agent.v1.agents_pb2 import AGENT_STATE_CREATED, Agent, AgentLimits, AgentUsage, ToolCall
from hyperkitty.agent.v1.grants_pb2 import Grant
from hyperkitty.browser.v1.browser_service_pb2 import CreateSessionResponse, ExecuteRequest, ExecuteResponse
from hyperkitty.browser.v1.operations_pb2 import (
    BrowserOperation,
    BrowserResult,
    ClickOperation,
    ClickResult,
    CreateSessionOperation,
    OpenTabOperation,
)
from hyperkitty.browser.v1.sessions_pb2 import (
    EGRESS_ISOLATION_NAMESPACE,
    SANDBOX_STATE_ON,
    SESSION_STATUS_READY,
    TAB_STATUS_IDLE,
    BrowserBinary,
    BrowserSession,
    BrowserTab,
)
from hyperkitty.browser.v1.targets_pb2 import Changed, ElementDescription, Point, Target

from services.kit.ids import is_id
from tests.contract.gateway.conftest import AUTHORIZATION, Gateway

AGENT = "agent_01ARZ3NDEKTSV4RRFFQ69G5FAV"
ACTION = "act_01ARZ3NDEKTSV4RRFFQ69G5FAV"
SESSION = "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV"
TAB = "tab_01ARZ3NDEKTSV4RRFFQ69G5FAV"
REQUEST_ID = "spec-example:1"
# curl -d without -H sends this content type: with a bearer token a body is JSON all the same.
FORM = {"content-type": "application/x-www-form-urlencoded", "x-request-id": REQUEST_ID}

SESSION_JSON = (
    f'{{"session_id":"{SESSION}","owner_agent_id":"","profile":"","pid":4711,"status":"ready","restart_count":0,'
    '"tabs":[],"settings":null,"network_policy":null,"sandbox":"on","egress_isolation":"namespace",'
    '"browser":{"name":"chromium-headless-shell","version":"156.0"},"memory_bytes":0,'
    '"created_at_ms":1735689600000,"updated_at_ms":1735689600000,"tenant":"default","network_requests":0}'
)
TAB_JSON = (
    f'{{"tab_id":"{TAB}","session_id":"{SESSION}","url":"https://example.com/","title":"Example Domain",'
    '"status":"idle","opener_tab_id":"","dialog":null,"created_at_ms":1,"updated_at_ms":2,'
    '"changed":{"url":"https://example.com/","title":"Example Domain","navigation":null,"dialog":null,"new_tabs":[],'
    '"download":null,"synthetic":false}}'
)


async def post(gateway: Gateway, path: str, body: str) -> tuple[str, str]:
    """Status and body of a POST as curl sends it; the operation id in the body is checked and replaced."""
    headers = {**AUTHORIZATION, **FORM}
    async with gateway.http.post(gateway.url + path, data=body.encode(), headers=headers) as response:
        text = await response.text()
        assert response.headers["x-request-id"] == REQUEST_ID
        assert response.headers["content-type"] == "application/json"
        assert response.status == 200, text
    operation_id = text[len('{"operation_id":"') :][:29]
    assert is_id("op", operation_id)
    return operation_id, text.replace(operation_id, "op_…")


def session() -> BrowserSession:
    return BrowserSession(
        session_id=SESSION,
        pid=4711,
        status=SESSION_STATUS_READY,
        sandbox=SANDBOX_STATE_ON,
        egress_isolation=EGRESS_ISOLATION_NAMESPACE,
        browser=BrowserBinary(name="chromium-headless-shell", version="156.0"),
        created_at_ms=1735689600000,
        updated_at_ms=1735689600000,
        tenant="default",
    )


async def test_creating_an_agent(gateway: Gateway) -> None:
    async def create(request: CreateAgentRequest) -> CreateAgentResponse:
        agent = Agent(
            agent_id=AGENT,
            state=AGENT_STATE_CREATED,
            capabilities=request.capabilities,
            limits=AgentLimits(max_actions=40, max_execution_ms=300000),
            usage=AgentUsage(),
            created_at_ms=2**53 + 1,
            tenant="default",
        )
        return CreateAgentResponse(agent=agent)

    gateway["agent"].unary["CreateAgent"] = create
    _, text = await post(
        gateway, "/api/agents", '{"capabilities":["create_session","navigate","open_tab","read_page"]}'
    )
    assert text == (
        f'{{"operation_id":"op_…","request_id":"{REQUEST_ID}","status":"succeeded","result":{{"agent_id":"{AGENT}",'
        '"objective":null,"state":"created","capabilities":["create_session","navigate","open_tab","read_page"],'
        '"limits":{"max_actions":40,"max_execution_ms":300000,"max_network_requests":0,"max_search_iterations":0,'
        '"max_repeats":0},"usage":{"actions":0,"elapsed_ms":0,"network_requests":0,"search_iterations":0},'
        '"action_count":0,"result":null,"failure_reason":"","started_at_ms":0,"updated_at_ms":0,"tenant":"default",'
        '"created_at_ms":9007199254740993}}'
    )
    (seen,) = gateway["agent"].seen
    names = ["create_session", "navigate", "open_tab", "read_page"]
    assert seen.request == CreateAgentRequest(capabilities=[Grant(capability=name) for name in names])
    assert seen.metadata["x-request-id"] == REQUEST_ID


async def test_an_agent_creates_a_session(gateway: Gateway) -> None:
    async def act(_: ActRequest) -> ActResponse:
        return ActResponse(action_id=ACTION, browser=BrowserResult(create_session=session()))

    gateway["agent"].unary["Act"] = act
    _, text = await post(gateway, f"/api/agents/{AGENT}/actions", '{"tool":"browser","op":"create_session","args":{}}')
    assert text == (
        f'{{"operation_id":"op_…","action_id":"{ACTION}","warning":"","request_id":"{REQUEST_ID}","status":"succeeded",'
        f'"result":{SESSION_JSON}}}'
    )
    (seen,) = gateway["agent"].seen
    operation = BrowserOperation(create_session=CreateSessionOperation())
    assert seen.request == ActRequest(agent_id=AGENT, action=ToolCall(browser=operation))


async def test_an_agent_opens_a_tab(gateway: Gateway) -> None:
    async def act(_: ActRequest) -> ActResponse:
        tab = BrowserTab(
            tab_id=TAB,
            session_id=SESSION,
            url="https://example.com/",
            title="Example Domain",
            status=TAB_STATUS_IDLE,
            created_at_ms=1,
            updated_at_ms=2,
        )
        changed = Changed(url="https://example.com/", title="Example Domain")
        return ActResponse(action_id=ACTION, browser=BrowserResult(open_tab=tab, changed=changed))

    gateway["agent"].unary["Act"] = act
    body = f'{{"tool":"browser","op":"open_tab","args":{{"session_id":"{SESSION}","url":"https://example.com"}}}}'
    _, text = await post(gateway, f"/api/agents/{AGENT}/actions", body)
    assert text == (
        f'{{"operation_id":"op_…","action_id":"{ACTION}","warning":"","request_id":"{REQUEST_ID}","status":"succeeded",'
        f'"result":{TAB_JSON}}}'
    )
    (seen,) = gateway["agent"].seen
    operation = BrowserOperation(open_tab=OpenTabOperation(session_id=SESSION, url="https://example.com"))
    assert seen.request == ActRequest(agent_id=AGENT, action=ToolCall(browser=operation))


async def test_clicking_a_ref(gateway: Gateway) -> None:
    async def execute(_: ExecuteRequest) -> ExecuteResponse:
        element = ElementDescription(ref="e12", role="button", name="Go", tag="button", visible=True, enabled=True)
        click = ClickResult(element=element, point=Point(x=10.5, y=20))
        return ExecuteResponse(result=BrowserResult(click=click, changed=Changed(url="http://a/")))

    gateway["browser"].unary["Execute"] = execute
    _, text = await post(
        gateway,
        f"/api/browser/sessions/{SESSION}/tabs/{TAB}/actions",
        '{"op":"click","args":{"target":{"ref":"e12"}}}',
    )
    assert text == (
        f'{{"operation_id":"op_…","request_id":"{REQUEST_ID}","status":"succeeded","result":{{"element":{{"ref":"e12",'
        '"role":"button","name":"Go","tag":"button","text":"","value":"","visible":true,"enabled":true,"box":null,'
        '"attributes":{},"states":[]},"point":{"x":10.5,"y":20.0},"changed":{"url":"http://a/","title":"",'
        '"navigation":null,"dialog":null,"new_tabs":[],"download":null,"synthetic":false}}}'
    )
    (seen,) = gateway["browser"].seen
    click = ClickOperation(target=Target(ref="e12"))
    assert seen.request == ExecuteRequest(session_id=SESSION, tab_id=TAB, operation=BrowserOperation(click=click))


@pytest.mark.parametrize("body", ["{}", "", '{"network_policy":{"allowed_domains":["example.com"]}}'])
async def test_creating_a_session_as_a_person(gateway: Gateway, body: str) -> None:
    async def create(_: object) -> CreateSessionResponse:
        return CreateSessionResponse(session=session())

    gateway["browser"].unary["CreateSession"] = create
    _, text = await post(gateway, "/api/browser/sessions", body)
    assert text == (
        f'{{"operation_id":"op_…","request_id":"{REQUEST_ID}","status":"succeeded","result":{SESSION_JSON}}}'
    )
