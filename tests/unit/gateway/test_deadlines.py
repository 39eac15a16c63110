"""One deadline a call, from what its request names."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message
from hyperkitty.agent.v1.agent_service_pb2 import ActRequest, CreateAgentRequest
from hyperkitty.agent.v1.agents_pb2 import SearchToolOperation, ToolCall
from hyperkitty.browser.v1.browser_service_pb2 import (
    BatchRequest,
    CreateSessionRequest,
    ExecuteRequest,
    ListSessionsRequest,
    OpenTabRequest,
)
from hyperkitty.browser.v1.operations_pb2 import (
    BrowserOperation,
    ClickOperation,
    CreateSessionOperation,
    OpenTabOperation,
    WaitForOperation,
)
from hyperkitty.search.v1.search_pb2 import SearchQuery
from hyperkitty.search.v1.search_service_pb2 import GetSearchResultRequest

from gateway.calls.deadlines import deadline_of
from gateway.contract import linked_services, rpcs
from gateway.transcoding import forms

BY_REQUEST = {rpc.method.input_type: deadline_of(rpc) for rpc in rpcs(linked_services())}


def click(timeout_ms: int) -> BrowserOperation:
    return BrowserOperation(click=ClickOperation(timeout_ms=timeout_ms))


CASES = [
    (ListSessionsRequest(), 30_000),
    (CreateAgentRequest(), 30_000),
    (OpenTabRequest(operation=OpenTabOperation()), 30_000),
    (OpenTabRequest(operation=OpenTabOperation(timeout_ms=1_000)), 1_000),
    (CreateSessionRequest(operation=CreateSessionOperation(timeout_ms=120_000)), 120_000),
    (CreateSessionRequest(operation=CreateSessionOperation(timeout_ms=2**30)), 120_000),
    (ExecuteRequest(), 30_000),
    (ExecuteRequest(operation=click(0)), 30_000),
    (ExecuteRequest(operation=click(500)), 500),
    (ExecuteRequest(operation=click(-1)), 30_000),
    (ExecuteRequest(operation=BrowserOperation(wait_for=WaitForOperation(timeout_ms=60_000))), 60_000),
    (BatchRequest(operations=[click(1_000), click(2_500)]), 3_500),
    (BatchRequest(operations=[click(1_000), click(0)]), 31_000),
    (BatchRequest(operations=[click(0)] * 9), 120_000),
    (ActRequest(), 45_000),
    (ActRequest(action=ToolCall(browser=click(0))), 45_000),
    (ActRequest(action=ToolCall(browser=click(700))), 700),
    (ActRequest(action=ToolCall(browser=click(90_000))), 45_000),
    (ActRequest(action=ToolCall(search=SearchToolOperation(search=SearchQuery(query="x")))), 45_000),
    (GetSearchResultRequest(), 30_000),
    (GetSearchResultRequest(wait_ms=20_000), 50_000),
]


@pytest.mark.parametrize(("request_message", "milliseconds"), CASES, ids=range(len(CASES)))
def test_deadlines(request_message: Message, milliseconds: int) -> None:
    seconds = BY_REQUEST[forms.type_of(request_message)](request_message)
    assert milliseconds < seconds * 1000 <= milliseconds + 250
