"""What becomes of a call: envelope, ids, errors, deadlines, a client that goes, a service that is away."""

from __future__ import annotations

import asyncio
import io
import json
import time
from typing import Any

import aiohttp
import pytest
from hyperkitty.agent.v1.agent_service_pb2 import GetAgentResponse
from hyperkitty.auth.v1.identity_pb2 import TokenScopes
from hyperkitty.browser.v1.browser_service_pb2 import ExecuteRequest, ExecuteResponse, GetSessionResponse
from hyperkitty.browser.v1.operations_pb2 import BrowserResult, ClickResult
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.errors import Refusal
from services.kit.ids import is_id
from services.kit.operations import current_operation
from tests.contract.gateway.conftest import AUTHORIZATION, Gateway
from tests.contract.gateway.samples import ULID
from tests.waiting import async_until

SESSION, TAB = f"sess_{ULID}", f"tab_{ULID}"
ACTIONS = f"/api/browser/sessions/{SESSION}/tabs/{TAB}/actions"
CLICK = {"op": "click", "args": {"target": {"ref": "e1"}}}


async def call(
    gateway: Gateway, verb: str, path: str, *, headers: dict[str, str] | None = None, **options: Any
) -> tuple[int, dict[str, Any], Any]:
    all_headers = {**AUTHORIZATION, **(headers or {})}
    async with gateway.http.request(verb, gateway.url + path, headers=all_headers, **options) as response:
        return response.status, await response.json(), response.headers


async def test_what_a_service_refuses_is_an_operation_that_failed(gateway: Gateway) -> None:
    ids: list[str] = []

    async def execute(_: ExecuteRequest) -> ExecuteResponse:
        ids.append(current_operation().operation_id)
        details = {"role": "button", "candidates": ["e7", "e9"], "nested": {"a": [1, None]}}
        raise Refusal(ErrorCode.ERROR_CODE_STALE_REF, "e1 was the button “Go”", hint="read_page", details=details)

    gateway["browser"].unary["Execute"] = execute
    status, answer, headers = await call(gateway, "POST", ACTIONS, json=CLICK, headers={"x-request-id": "r1"})
    assert status == 409
    assert headers["x-request-id"] == "r1"
    assert answer == {
        "operation_id": ids[0],
        "request_id": "r1",
        "status": "failed",
        "error": {
            "code": "stale_ref",
            "message": "e1 was the button “Go”",
            "hint": "read_page",
            "details": {"role": "button", "candidates": ["e7", "e9"], "nested": {"a": [1, None]}},
        },
    }


async def test_bounds_are_checked_by_the_service(gateway: Gateway) -> None:
    status, answer, _ = await call(gateway, "POST", "/api/browser/sessions/nonsense/close")
    assert status == 400
    assert is_id("op", answer["operation_id"])
    assert answer["error"]["code"] == "invalid_arguments"
    assert "session_id" in answer["error"]["details"]["fields"][0]["field"]


async def test_reads(gateway: Gateway) -> None:
    async def get(_: object) -> GetAgentResponse:
        made = GetAgentResponse()
        made.agent.agent_id = f"agent_{ULID}"
        return made

    gateway["agent"].unary["GetAgent"] = get
    status, answer, _ = await call(gateway, "GET", f"/api/agents/agent_{ULID}")
    assert status == 200
    assert answer["agent_id"] == f"agent_{ULID}"
    assert "request_id" not in answer
    status, answer, _ = await call(gateway, "GET", "/api/agents?state=waiting&page_size=7")
    assert (status, answer) == (200, {"agents": [], "next_page_token": ""})
    status, answer, _ = await call(gateway, "GET", "/api/agents/agent_1", headers={"x-request-id": "r2"})
    assert status == 400
    assert set(answer) == {"request_id", "error"}
    assert answer["request_id"] == "r2"


@pytest.mark.parametrize("code", [code for code in ErrorCode.values() if code and code != 22])
async def test_every_code_has_its_status(gateway: Gateway, code: ErrorCode.ValueType) -> None:
    from services.kit.errors import http_status, reason

    async def refuse(_: object) -> GetSessionResponse:
        raise Refusal(code, "why")

    gateway["messaging"].unary["MarkMessageRead"] = refuse
    status, answer, _ = await call(gateway, "POST", f"/api/messages/msg_{ULID}/read")
    assert status == http_status(code)
    assert answer["error"]["code"] == reason(code)
    assert answer["error"]["hint"]


async def test_faults_tell_nothing(gateway: Gateway) -> None:
    async def fail(_: object) -> GetSessionResponse:
        raise RuntimeError("secret /run/internal/path")

    gateway["browser"].unary["GetSession"] = fail
    status, answer, _ = await call(gateway, "GET", f"/api/browser/sessions/{SESSION}")
    assert status == 500
    assert answer["error"]["code"] == "internal"
    assert "secret" not in str(answer)
    assert answer["error"]["details"]["error_id"]


async def test_the_identity_that_goes_along(gateway: Gateway) -> None:
    await call(gateway, "POST", ACTIONS, json=CLICK, headers={"idempotency-key": "k 1".replace(" ", "-")})
    (seen,) = gateway["browser"].seen
    assert seen.identity.token_id == "root"
    assert seen.identity.tenant == "default"
    assert seen.identity.scopes == TokenScopes(root=True)
    assert seen.identity.audience == "browser"
    assert seen.metadata["idempotency-key"] == "k-1"
    assert "authorization" not in seen.metadata


async def test_traces_go_on(gateway: Gateway) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    await call(gateway, "GET", "/api/agents", headers={"traceparent": f"00-{trace}-b7ad6b7169203331-01"})
    (seen,) = gateway["agent"].seen
    assert seen.metadata["traceparent"].startswith(f"00-{trace}-")


DEADLINES = [(CLICK, 30.0), ({"op": "click", "args": {"timeout_ms": 1500}}, 1.5)]


@pytest.mark.parametrize(("body", "seconds"), DEADLINES)
async def test_deadlines_travel(gateway: Gateway, body: object, seconds: float) -> None:
    await call(gateway, "POST", ACTIONS, json=body)
    (seen,) = gateway["browser"].seen
    assert seen.seconds is not None
    # gRPC's wire rounds deadlines up a little.
    assert seconds < seen.seconds < seconds + 0.3


async def test_a_deadline_is_kept(gateway: Gateway) -> None:
    async def slow(_: object) -> ExecuteResponse:
        await asyncio.Event().wait()
        raise AssertionError

    gateway["browser"].unary["Execute"] = slow
    started = time.monotonic()
    status, answer, _ = await call(gateway, "POST", ACTIONS, json={"op": "click", "args": {"timeout_ms": 300}})
    assert 0.3 <= time.monotonic() - started < 0.3 + 0.25
    assert status == 504
    assert answer["error"]["code"] == "deadline_exceeded"
    assert is_id("op", answer["operation_id"])


async def test_a_client_that_goes_cancels_its_call(gateway: Gateway) -> None:
    arrived = asyncio.Event()

    async def slow(_: object) -> ExecuteResponse:
        arrived.set()
        await asyncio.Event().wait()
        raise AssertionError

    gateway["browser"].unary["Execute"] = slow
    task = asyncio.create_task(call(gateway, "POST", ACTIONS, json=CLICK))
    async with asyncio.timeout(5):
        await arrived.wait()
    task.cancel()
    await async_until(lambda: gateway["browser"].cancelled == 1, "the call to be cancelled")
    gateway["browser"].unary.clear()
    status, _, _ = await call(gateway, "POST", ACTIONS, json=CLICK)
    assert status == 200


async def test_a_service_that_is_away(gateway: Gateway) -> None:
    await call(gateway, "GET", "/api/agents")
    await gateway["agent"].stop()
    backend = gateway.backends.backend("agent")
    await async_until(lambda: backend.channel.get_state().name != "READY", "the channel to notice")
    status, answer, headers = await call(gateway, "GET", "/api/agents", timeout=aiohttp.ClientTimeout(8))
    assert status == 503
    assert answer["error"]["code"] == "unavailable"
    assert answer["error"]["details"]["retry_after_ms"] > 0
    assert int(headers["retry-after"]) >= 1
    assert "/" not in answer["error"]["message"]
    started = time.monotonic()
    status, answer, _ = await call(gateway, "POST", "/api/agents", json={})
    assert time.monotonic() - started < 1.0
    assert status == 503
    assert answer["status"] == "failed"
    assert "operation_id" not in answer
    status, _, _ = await call(gateway, "GET", "/api/browser/sessions")
    assert status == 200
    await gateway["agent"].start()
    status, _, _ = await call(gateway, "GET", "/api/agents")
    assert status == 200


async def test_a_service_that_is_started_again_is_waited_for(gateway: Gateway) -> None:
    await call(gateway, "GET", "/api/agents")
    await gateway["agent"].stop()
    waiting = asyncio.create_task(call(gateway, "POST", "/api/agents", json={}))
    done, _ = await asyncio.wait([waiting], timeout=0.5)
    assert not done
    await gateway["agent"].start()
    async with asyncio.timeout(5):
        status, _, _ = await waiting
    assert status == 200


async def test_a_contract_built_at_run_time(gateway: Gateway) -> None:
    """The gateway serves an rpc that it has never heard of, from its descriptor alone (issue 4)."""
    widgets = gateway["widgets"]
    shape = next(rpc for rpc in gateway.rpcs if rpc.method.name == "ShapeWidget")

    async def answer(request: Any) -> Any:
        made = shape.response_class()
        getattr(made, "widget").CopyFrom(request.widget)  # noqa: B009
        getattr(made, "widget").tags.append(f"shelf {request.shelf}, dry {request.dry_run}")  # noqa: B009
        return made

    widgets.unary["ShapeWidget"] = answer
    status, body, _ = await call(
        gateway, "POST", "/widgets/shelves/7/w%2F1/shape?dry_run=true", json={"size": 2**53 + 1, "facts": {"a": None}}
    )
    assert status == 200
    assert body["status"] == "succeeded"
    assert body["result"] == {
        "widget_id": "w/1",
        "size": 2**53 + 1,
        "tags": ["shelf 7, dry True"],
        "facts": {"a": None},
    }
    status, body, _ = await call(gateway, "GET", "/widgets?tags=a&tags=b&ratio=0.5")
    assert (status, body) == (200, {"widgets": [], "next_page_token": ""})
    assert str(widgets.seen[-1].request) == 'tags: "a"\ntags: "b"\nratio: 0.5\n'
    status, body, _ = await call(gateway, "GET", "/old/widgets")
    assert (status, body) == (200, [])
    status, body, _ = await call(gateway, "POST", "/widgets/shelves/x/w/shape")
    assert (status, body["error"]["details"]["fields"][0]["field"]) == (400, "shelf")


async def test_results_of_the_largest_size(gateway: Gateway) -> None:
    async def execute(_: object) -> ExecuteResponse:
        result = BrowserResult(click=ClickResult())
        result.click.element.text = "x" * (8 << 20)
        return ExecuteResponse(result=result)

    gateway["browser"].unary["Execute"] = execute
    content = "A" * (1 << 20)
    files = [{"name": str(number), "content": content} for number in range(10)]
    body = {"op": "upload_file", "args": {"target": {"ref": "e1"}, "files": files}}
    status, answer, _ = await call(gateway, "POST", ACTIONS, data=io.BytesIO(json.dumps(body).encode()))
    assert status == 200
    assert len(answer["result"]["element"]["text"]) == 8 << 20
    (seen,) = gateway["browser"].seen
    assert isinstance(seen.request, ExecuteRequest)
    assert len(seen.request.operation.upload_file.files) == 10


async def test_denials_are_told(gateway: Gateway) -> None:
    publishing = asyncio.create_task(gateway.denials.run())
    for headers in ({"x-request-id": "d1"}, {"x-request-id": "d2", "host": "evil.example"}):
        async with gateway.http.get(f"{gateway.url}/api/agents", headers=headers) as response:
            assert response.status in (401, 403)
    for _ in range(100):
        async with gateway.http.get(f"{gateway.url}/api/agents") as response:
            assert response.status == 401
    await async_until(lambda: len(gateway.denied) == 60, "sixty events")
    publishing.cancel()
    (first_id, first), (second_id, second) = gateway.denied[:2]
    assert (first_id, first["code"], first["source"]) == ("d1", "unauthenticated", "127.0.0.1")
    assert first["what"] == "AgentService.ListAgents"
    assert (second_id, second["code"], second["what"]) == ("d2", "not_authorized", "none")
