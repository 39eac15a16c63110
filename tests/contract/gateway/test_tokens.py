"""Bearer tokens: made, used within their scopes, listed, revoked, expired, limited."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hyperkitty.agent.v1.agent_service_pb2 import CreateAgentResponse
from hyperkitty.events.v1.event_service_pb2 import ExportEventsResponse, StreamEventsRequest, StreamEventsResponse
from hyperkitty.events.v1.events_pb2 import Event

from gateway.access.issued import StoredToken
from gateway.access.tokens import digest_of
from services.kit.event_log import EventFilter
from services.kit.ids import is_id
from tests.contract.gateway.conftest import TOKEN, Gateway
from tests.contract.gateway.samples import ULID
from tests.waiting import async_until

ACTIONS = f"/api/browser/sessions/sess_{ULID}/tabs/tab_{ULID}/actions"


async def call(
    gateway: Gateway, verb: str, path: str, body: object = None, token: str = TOKEN, **headers: str
) -> tuple[int, dict[str, Any]]:
    sent = {"authorization": f"Bearer {token}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    data = None if body is None else json.dumps(body).encode()
    async with gateway.http.request(verb, gateway.url + path, data=data, headers=sent) as response:
        return response.status, await response.json()


async def make(gateway: Gateway, **asked: object) -> dict[str, Any]:
    status, answer = await call(gateway, "POST", "/api/tokens", asked)
    assert status == 200, answer
    return answer["result"]


async def told(gateway: Gateway) -> list[Event]:
    return await gateway["gateway"].events.recent(EventFilter(category_prefix="auth"), 100)


async def test_making_a_token(gateway: Gateway) -> None:
    status, answer = await call(
        gateway, "POST", "/api/tokens", {"tenant": "acme", "capabilities": ["click"], "services": ["events"]}
    )
    assert status == 200
    assert is_id("op", answer["operation_id"])
    made = answer["result"]
    assert is_id("tok", made["token_id"])
    assert made["token"].startswith("hk_")
    assert len(made["token"]) > 40
    assert {key: made[key] for key in ("tenant", "scopes", "agent_id", "expires_at_ms", "created_by")} == {
        "tenant": "acme",
        "scopes": {
            "root": False,
            "capabilities": ["click"],
            "services": ["events"],
            "approve": False,
            "metrics": False,
        },
        "agent_id": "",
        "expires_at_ms": 0,
        "created_by": "root",
    }
    (event,) = await told(gateway)
    assert (event.category, event.subject, event.actor) == ("auth.token.created", made["token_id"], "root")
    assert event.operation_id == answer["operation_id"]
    assert made["token"] not in str(event)


async def test_the_secret_is_kept_nowhere(gateway: Gateway) -> None:
    made = await make(gateway, services=["agent"])
    status, listed = await call(gateway, "GET", "/api/tokens")
    assert status == 200
    assert made["token"] not in str(listed)
    (only,) = listed["tokens"]
    assert only == {key: value for key, value in made.items() if key != "token"}
    status, answer = await call(gateway, "POST", "/api/tokens", {}, idempotency_key="k")
    assert status == 400
    assert "idempotency-key" in answer["error"]["message"]


async def test_a_token_does_what_it_says(gateway: Gateway) -> None:
    agents = (await make(gateway, services=["agent"], tenant="acme"))["token"]
    clicks = (await make(gateway, capabilities=["click"]))["token"]
    nothing = (await make(gateway))["token"]
    assert (await call(gateway, "GET", "/api/agents", token=agents))[0] == 200
    identity = gateway["agent"].seen[-1].identity
    assert identity.tenant == "acme"
    assert is_id("tok", identity.token_id)
    assert not identity.scopes.root
    for path, body in (("/api/tokens", {}), (ACTIONS, {"op": "click"})):
        status, answer = await call(gateway, "POST", path, body, token=agents)
        assert (status, answer["error"]["code"]) == (403, "not_authorized")
        assert "operation_id" not in answer
    assert (await call(gateway, "POST", ACTIONS, {"op": "click", "args": {}}, token=clicks))[0] == 200
    assert (await call(gateway, "POST", ACTIONS, {"op": "type", "args": {}}, token=clicks))[0] == 403
    assert (await call(gateway, "GET", "/api/agents", token=clicks))[0] == 403
    assert (await call(gateway, "GET", "/api/agents", token=nothing))[0] == 403
    assert (await call(gateway, "GET", "/api/health", token=nothing))[0] == 200


async def test_metrics(gateway: Gateway) -> None:
    may = (await make(gateway, metrics=True))["token"]
    may_not = (await make(gateway, services=["agent"]))["token"]
    for token, status in ((may, 200), (may_not, 403)):
        async with gateway.http.get(f"{gateway.url}/metrics", headers={"authorization": f"Bearer {token}"}) as response:
            assert response.status == status


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"services": ["agents"]}, "services[0]"),
        ({"services": ["agent", "root"]}, "services[1]"),
        ({"capabilities": ["klick"]}, "capabilities[0]"),
        ({"capabilities": ["search"]}, "capabilities[0]"),
        ({"tenant": "No Such"}, "tenant"),
        ({"expires_in_ms": -1}, "expires_in_ms"),
    ],
)
async def test_tokens_that_cannot_be(gateway: Gateway, asked: dict[str, object], field: str) -> None:
    status, answer = await call(gateway, "POST", "/api/tokens", asked)
    assert status == 400
    assert answer["error"]["details"]["fields"][0]["field"] == field


async def test_revoking(gateway: Gateway) -> None:
    made = await make(gateway, services=["agent"])
    status, answer = await call(gateway, "DELETE", f"/api/tokens/{made['token_id']}")
    assert status == 200
    assert answer["result"]["token_id"] == made["token_id"]
    assert (await call(gateway, "GET", "/api/agents", token=made["token"]))[0] == 401
    assert (await call(gateway, "DELETE", f"/api/tokens/{made['token_id']}"))[0] == 404
    assert (await told(gateway))[0].category == "auth.token.revoked"


async def test_revoking_ends_calls_and_streams(gateway: Gateway) -> None:
    async def slow(_: object) -> CreateAgentResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async def endless(_: object) -> AsyncIterator[ExportEventsResponse]:
        yield ExportEventsResponse(event=Event(sequence=1))
        await asyncio.Event().wait()

    async def events(_: StreamEventsRequest) -> AsyncIterator[StreamEventsResponse]:
        yield StreamEventsResponse(events=[Event(sequence=1)])
        await asyncio.Event().wait()

    gateway["agent"].unary["CreateAgent"] = slow
    gateway["health"].streams |= {"ExportEvents": endless, "StreamEvents": events}
    made = await make(gateway, services=["agent", "events"])
    bearer = {"authorization": f"Bearer {made['token']}"}
    running = asyncio.create_task(call(gateway, "POST", "/api/agents", {}, token=made["token"]))
    async with (
        gateway.http.ws_connect(f"{gateway.url}/api/events/stream", headers=bearer) as socket,
        gateway.http.get(f"{gateway.url}/api/events/export", headers=bearer) as export,
    ):
        await socket.receive(timeout=5)
        await export.content.readline()
        await async_until(lambda: len(gateway["agent"].seen) == 1, "the call to arrive")
        started = time.monotonic()
        assert (await call(gateway, "DELETE", f"/api/tokens/{made['token_id']}"))[0] == 200
        status, answer = await running
        assert (status, answer["error"]["code"]) == (401, "unauthenticated")
        closing = json.loads((await socket.receive(timeout=5)).data)
        assert closing["closing"]["code"] == "unauthenticated"
        with pytest.raises(Exception, match="payload"):
            await export.read()
        assert time.monotonic() - started < 1.0
    await async_until(lambda: gateway["agent"].cancelled == 1 and gateway["health"].cancelled == 2, "all to end")


async def test_revoking_elsewhere_ends_it_here(gateway: Gateway) -> None:
    made = await make(gateway, services=["agent"])
    await gateway.store.delete(made["token_id"])
    await async_until(lambda: gateway.issued.get(made["token_id"]) is None, "the token to be forgotten")
    assert (await call(gateway, "GET", "/api/agents", token=made["token"]))[0] == 401


async def test_a_token_made_elsewhere_works_here(gateway: Gateway) -> None:
    made = await make(gateway, services=["agent"])
    entry = await gateway.store.get(made["token_id"])
    assert entry is not None
    assert made["token"].encode() not in entry.value.token
    assert entry.value.digest == digest_of(made["token"])
    await gateway.issued.remove(made["token_id"])
    await gateway.store.create(made["token_id"], StoredToken(entry.value.token, entry.value.digest))
    await async_until(lambda: gateway.issued.get(made["token_id"]) is not None, "the token to be known")
    assert (await call(gateway, "GET", "/api/agents", token=made["token"]))[0] == 200


async def test_expiry(gateway: Gateway) -> None:
    async def slow(_: object) -> CreateAgentResponse:
        await asyncio.Event().wait()
        raise AssertionError

    gateway["agent"].unary["CreateAgent"] = slow
    made = await make(gateway, services=["agent"], expires_in_ms=500)
    started = time.monotonic()
    status, answer = await call(gateway, "POST", "/api/agents", {}, token=made["token"])
    assert time.monotonic() - started < 1.5
    assert (status, answer["error"]["code"]) == (401, "unauthenticated")
    assert (await call(gateway, "GET", "/api/agents", token=made["token"]))[0] == 401


async def test_a_rate(gateway: Gateway) -> None:
    made = await make(gateway, services=["agent"], rate_per_minute=3)
    statuses = [(await call(gateway, "GET", "/api/agents", token=made["token"]))[0] for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    _, answer = await call(gateway, "GET", "/api/agents", token=made["token"])
    assert answer["error"]["code"] == "resource_exhausted"
    assert 0 < answer["error"]["details"]["retry_after_ms"] <= 20_000


async def test_a_token_bound_to_an_agent(gateway: Gateway) -> None:
    made = await make(gateway, agent_id=f"agent_{ULID}", capabilities=["create_session"])
    action = {"tool": "browser", "op": "create_session"}
    assert (await call(gateway, "POST", f"/api/agents/agent_{ULID}/actions", action, token=made["token"]))[0] == 200
    identity = gateway["agent"].seen[-1].identity
    assert (identity.agent_id, list(identity.scopes.capabilities)) == (f"agent_{ULID}", [])
    assert (await call(gateway, "GET", f"/api/agents/agent_{ULID}", token=made["token"]))[0] == 200
    assert (await call(gateway, "GET", f"/api/agents/agent_{ULID[:-1]}W", token=made["token"]))[0] == 403
    assert (await call(gateway, "GET", "/api/agents", token=made["token"]))[0] == 403
    other = f"/api/agents/agent_{ULID[:-1]}W/actions"
    assert (await call(gateway, "POST", other, action, token=made["token"]))[0] == 403
    assert (await call(gateway, "POST", f"/api/agents/agent_{ULID}/complete", {}, token=made["token"]))[0] == 403
    assert (await call(gateway, "POST", "/api/browser/sessions", {}, token=made["token"]))[0] == 403


async def test_pages_of_tokens(gateway: Gateway) -> None:
    made = [(await make(gateway))["token_id"] for _ in range(5)]
    _, first = await call(gateway, "GET", "/api/tokens?page_size=3")
    _, second = await call(gateway, "GET", f"/api/tokens?page_size=3&page_token={first['next_page_token']}")
    assert [token["token_id"] for token in first["tokens"] + second["tokens"]] == made[::-1]
    assert second["next_page_token"] == ""


async def test_what_is_not_served_yet(gateway: Gateway) -> None:
    status, answer = await call(gateway, "POST", "/api/view-session", {})
    assert (status, answer["error"]["code"]) == (501, "unimplemented")
