"""Every route against what it must refuse: a clear 4xx in the envelope, and no service hears of it."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gateway.contract import linked_services, rpcs
from gateway.routing.routes import JSON_LIMIT, UPLOAD_LIMIT, Kind, Route, routes
from tests.contract.gateway.conftest import AUTHORIZATION, Gateway
from tests.contract.gateway.samples import path_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

TABLE = routes(rpcs(linked_services()))
HTTP = [route for route in TABLE if route.kind is not Kind.WEBSOCKET]
BODIES = [route for route in HTTP if route.reader.takes_body]


@pytest.fixture
def gateway(shared_gateway: Gateway) -> Gateway:
    return shared_gateway


def name_of(route: Route) -> str:
    return f"{route.verb} {route.template.text}"


async def refused(
    gateway: Gateway, route: Route, status: int, code: str, *, path: str = "", verb: str = "", **options: Any
) -> dict[str, Any]:
    """The error of a refused call, after checking its envelope."""
    headers = options.pop("headers", AUTHORIZATION)
    verb = verb or route.verb
    url = gateway.url + (path or path_of(route))
    async with gateway.http.request(verb, url, headers=headers, **options) as response:
        text = await response.text()
        assert response.status == status, text
        answer = json.loads(text)
        assert response.headers["content-type"] == "application/json"
        assert response.headers["x-request-id"] == answer["request_id"]
        if code == "unauthenticated":
            assert response.headers["www-authenticate"] == "Bearer"
    expected = {"request_id", "error"} if verb == "GET" else {"request_id", "status", "error"}
    assert set(answer) == expected
    assert answer.get("status", "failed") == "failed"
    error = answer["error"]
    assert set(error) == {"code", "message", "hint", "details"}
    assert error["code"] == code
    assert error["message"]
    assert error["hint"]
    assert not any(process.seen for process in gateway.processes.values())
    return error


BAD_BODIES = [
    (b"{", "not JSON"),
    (b'{"a":1}}', "not JSON"),
    (b"\xff", "not UTF-8"),
    (b'{"a":NaN}', "NaN"),
    (b'{"a":1,"a":2}', "twice"),
    (b"[" * 5000, "nested too deeply"),
    (b"5", "expected object"),
    (b"null", "expected object"),
    (b'"{}"', "expected object"),
    (b"[]", "expected object"),
    (b'{"no_such_field":1}', "unknown field"),
]


@pytest.mark.parametrize("route", BODIES, ids=name_of)
async def test_bad_bodies(gateway: Gateway, route: Route) -> None:
    for body, message in BAD_BODIES:
        error = await refused(gateway, route, 400, "invalid_arguments", data=body)
        assert message in error["message"]


@pytest.mark.parametrize("route", BODIES, ids=name_of)
async def test_huge_bodies(gateway: Gateway, route: Route) -> None:
    error = await refused(gateway, route, 413, "payload_too_large", data=io.BytesIO(b" " * (route.body_limit + 1)))
    assert error["details"] == {"limit_bytes": route.body_limit}
    assert route.body_limit in (JSON_LIMIT, UPLOAD_LIMIT)


async def test_a_huge_body_of_unknown_length(gateway: Gateway) -> None:
    route = next(route for route in BODIES if route.rpc.method.name == "CreateAgent")

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" " * 65536

    error = await refused(gateway, route, 413, "payload_too_large", data=endless())
    assert error["details"] == {"limit_bytes": JSON_LIMIT}


@pytest.mark.parametrize("route", HTTP, ids=name_of)
async def test_without_a_token(gateway: Gateway, route: Route) -> None:
    await refused(gateway, route, 401, "unauthenticated", headers={})
    await refused(gateway, route, 401, "unauthenticated", headers={"authorization": "Bearer hk_of_somebody_else"})


@pytest.mark.parametrize("route", HTTP, ids=name_of)
async def test_unknown_query_parameters(gateway: Gateway, route: Route) -> None:
    path = path_of(route) + "?no_such_parameter=1"
    error = await refused(gateway, route, 400, "invalid_arguments", path=path)
    assert "no_such_parameter" in error["message"]


@pytest.mark.parametrize("route", [route for route in HTTP if not route.reader.takes_body], ids=name_of)
async def test_a_body_where_there_is_none(gateway: Gateway, route: Route) -> None:
    await refused(gateway, route, 400, "invalid_arguments", data=b"{}")


WRONG_TYPES: dict[str, list[tuple[object, str]]] = {
    "CreateAgent": [
        ({"capabilities": "click"}, "capabilities"),
        ({"capabilities": [1]}, "capabilities[0]"),
        ({"limits": {"max_actions": "40"}}, "limits.max_actions"),
        ({"objective": {"description": None}}, "objective.description"),
    ],
    "AssignObjective": [({"description": 5}, "description"), ({"success_criteria": [True]}, "success_criteria[0]")],
    "Act": [
        ({}, "tool"),
        ({"tool": "browser", "op": "klick"}, "op"),
        ({"tool": "browser", "op": "click", "args": {"target": {"ref": 1}}}, "args.target.ref"),
        ({"tool": "browser", "op": "scroll", "args": {"delta_y": "100"}}, "args.delta_y"),
        ({"tool": "browser", "op": "click", "args": {"timeout_ms": 2.5}}, "args.timeout_ms"),
    ],
    "ApproveAction": [({"approve": "yes"}, "approve")],
    "CompleteAgent": [({"result": []}, "result")],
    "FailAgent": [({"reason": {}}, "reason")],
    "TerminateAgent": [({"reason": 1}, "reason")],
    "CreateSession": [
        ({"network_policy": {"allowed_domains": None}}, "network_policy.allowed_domains"),
        ({"settings": {"headed": 1}}, "settings.headed"),
    ],
    "CloseSession": [({"timeout_ms": "5"}, "timeout_ms")],
    "SetSessionOwner": [({"owner_agent_id": 5}, "owner_agent_id")],
    "SetSessionControl": [({"taken": "true"}, "taken")],
    "OpenTab": [({"url": ["http://a/"]}, "url"), ({"wait_until": "loaded"}, "wait_until")],
    "CloseTab": [({"run_beforeunload": 0}, "run_beforeunload")],
    "Navigate": [({"url": None}, "url")],
    "Execute": [
        ({"op": "click", "args": []}, "args"),
        ({"op": "upload_file", "args": {"files": [{"content": "???"}]}}, "args.files[0].content"),
    ],
    "Batch": [({"operations": {}}, "operations"), ({"operations": [{"op": 1}]}, "operations[0].op")],
    "StartSearch": [({"query": 1}, "query"), ({"max_iterations": 99999999999}, "max_iterations")],
    "CancelSearch": [({"job_id": 1}, "job_id")],
    "SendMessage": [({"payload": "text"}, "payload"), ({"recipient": None}, "recipient")],
    "MarkMessageRead": [({"message_id": []}, "message_id")],
    "CreateToken": [({"approve": 1}, "approve"), ({"expires_in_ms": -(2**64)}, "expires_in_ms")],
    "CreateViewSession": [({"code": 1}, "code")],
    "PutSecret": [({"value": 1}, "value"), ({"hosts": "a"}, "hosts")],
}


async def test_every_body_has_a_wrong_type() -> None:
    assert {route.rpc.method.name for route in BODIES} == set(WRONG_TYPES)


@pytest.mark.parametrize("route", BODIES, ids=name_of)
async def test_wrong_types(gateway: Gateway, route: Route) -> None:
    for body, field in WRONG_TYPES[route.rpc.method.name]:
        error = await refused(gateway, route, 400, "invalid_arguments", json=body)
        assert error["details"]["fields"][0]["field"] == field
        assert error["message"].startswith(field)


async def test_unknown_routes_and_methods(gateway: Gateway) -> None:
    route = HTTP[0]
    for verb in ("GET", "POST", "DELETE", "PATCH"):
        await refused(gateway, route, 404, "not_found", path="/api/nothing", verb=verb)
        await refused(gateway, route, 404, "not_found", path="/api/agents/", verb=verb)
    url = f"{gateway.url}/api/agents"
    for verb in ("PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"):
        async with gateway.http.request(verb, url, headers=AUTHORIZATION) as response:
            assert response.status == 405
            assert response.headers["allow"] == "GET, POST"
            assert response.headers["x-request-id"]
            if verb != "HEAD":
                assert (await response.json())["error"]["details"] == {"allow": ["GET", "POST"]}


async def test_a_websocket_route_read_as_http(gateway: Gateway) -> None:
    await refused(gateway, HTTP[0], 400, "invalid_arguments", path="/api/events/stream", verb="GET")


async def test_hosts_and_origins(gateway: Gateway) -> None:
    route = next(route for route in HTTP if route.rpc.method.name == "ListAgents")
    for headers in ({"host": "evil.example"}, {"origin": "http://evil.example"}, {"origin": "null"}):
        await refused(gateway, route, 403, "not_authorized", headers={**AUTHORIZATION, **headers})


async def test_request_ids(gateway: Gateway) -> None:
    url = f"{gateway.url}/api/agents"
    for given, taken in (("a.B_c:1-2"[:3], True), ("x" * 64, True), ("x" * 65, False), ("a b", False), ("", False)):
        async with gateway.http.get(url, headers={**AUTHORIZATION, "x-request-id": given}) as response:
            assert (response.headers["x-request-id"] == given) is taken
            assert gateway["agent"].seen.pop().metadata["x-request-id"] == response.headers["x-request-id"]


async def test_headers_that_must_be_unique(gateway: Gateway) -> None:
    from multidict import CIMultiDict

    headers = CIMultiDict([*AUTHORIZATION.items(), ("authorization", "Bearer x")])
    await refused(gateway, HTTP[0], 400, "invalid_arguments", headers=headers)


async def test_encoded_bodies(gateway: Gateway) -> None:
    headers = {**AUTHORIZATION, "content-encoding": "gzip"}
    await refused(gateway, BODIES[0], 400, "invalid_arguments", headers=headers, data=b"{}", skip_auto_headers=["x"])


@pytest.mark.parametrize("query", ["%ff=1", "page_size=%ff", "=", "a", "&&", "page_size=1;page_token=2"])
async def test_queries_that_cannot_be_read(gateway: Gateway, query: str) -> None:
    from yarl import URL

    url = URL(f"{gateway.url}/api/agents?{query}", encoded=True)
    async with gateway.http.get(url, headers=AUTHORIZATION) as response:
        assert response.status == 400
        assert (await response.json())["error"]["code"] == "invalid_arguments"
