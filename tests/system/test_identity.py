"""Every service checks who is calling, on its own socket (SPEC §2): here as somebody who can open the socket."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hyperkitty.agent.v1 import agent_service_pb2, agent_service_pb2_grpc
from hyperkitty.agent.v1.grants_pb2 import Grant
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, Delegation, SignedIdentity, TokenScopes
from hyperkitty.browser.v1 import browser_service_pb2 as rpc
from hyperkitty.browser.v1 import browser_service_pb2_grpc, targets_pb2
from hyperkitty.browser.v1 import operations_pb2 as ops
from hyperkitty.events.v1 import event_service_pb2, event_service_pb2_grpc

from services.kit.clock import SystemClock
from services.kit.identity import METADATA_KEY, Signer, load_private_key
from tests.acting import ActingAgent, grants_for
from tests.running_system import RunningSystem
from tests.site import Site

SECONDS = 20.0
EXECUTE = "/hyperkitty.browser.v1.BrowserService/Execute"
BUTTON = """<title>Button</title><button onclick="fetch('/clicked')">Go</button>"""
ROOT = CallerIdentity(tenant="default", token_id="tok_01M8QH98AV9DQSBAVZQ73CKGZX", scopes=TokenScopes(root=True))


@asynccontextmanager
async def browser_stub(system: RunningSystem) -> AsyncGenerator[browser_service_pb2_grpc.BrowserServiceStub]:
    """The browser's own socket, without the product's client."""
    async with grpc.aio.insecure_channel(f"unix:{system.runtime}/browser.sock") as channel:
        yield browser_service_pb2_grpc.BrowserServiceStub(channel)


def key_of(system: RunningSystem, service: str) -> Ed25519PrivateKey:
    """A service's private key, as somebody who stole it has it."""
    return load_private_key(system.home / "keys" / "private" / f"{service}.pem")


def signed(service: str, key: Ed25519PrivateKey, identity: CallerIdentity, audience: str = "browser") -> bytes:
    return Signer(service, key, SystemClock()).sign(identity, audience)


def delegated(agent_id: str, capability: str, method: str = EXECUTE) -> CallerIdentity:
    delegation = Delegation(grants=[Grant(capability=capability)], fencing_number=1_000, method=method)
    return CallerIdentity(tenant="default", token_id=ROOT.token_id, agent_id=agent_id, delegation=delegation)


async def refused(call: Callable[..., Awaitable[object]], request: object, identity: bytes | None) -> grpc.StatusCode:
    metadata = [] if identity is None else [(METADATA_KEY, identity)]
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(request, metadata=metadata, timeout=SECONDS)
    return caught.value.code()


async def test_no_socket_takes_a_call_without_an_identity(shared_system: RunningSystem) -> None:
    runtime = shared_system.runtime
    async with grpc.aio.insecure_channel(f"unix:{runtime}/browser.sock") as channel:
        browser = browser_service_pb2_grpc.BrowserServiceStub(channel)
        assert await refused(browser.ListSessions, rpc.ListSessionsRequest(), None) == grpc.StatusCode.UNAUTHENTICATED
        assert await refused(browser.CreateSession, rpc.CreateSessionRequest(), b"") == grpc.StatusCode.UNAUTHENTICATED
    async with grpc.aio.insecure_channel(f"unix:{runtime}/agent.sock") as channel:
        agent = agent_service_pb2_grpc.AgentServiceStub(channel)
        listed = agent_service_pb2.ListAgentsRequest()
        assert await refused(agent.ListAgents, listed, None) == grpc.StatusCode.UNAUTHENTICATED
    async with grpc.aio.insecure_channel(f"unix:{runtime}/health.sock") as channel:
        events = event_service_pb2_grpc.EventServiceStub(channel)
        recent = event_service_pb2.ListRecentEventsRequest()
        assert await refused(events.ListRecentEvents, recent, None) == grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("signer", ["gateway", "agent"])
async def test_an_identity_signed_by_any_other_key_is_unauthenticated(
    shared_system: RunningSystem, signer: str
) -> None:
    async with browser_stub(shared_system) as browser:
        forged = signed(signer, Ed25519PrivateKey.generate(), ROOT)
        assert await refused(browser.ListSessions, rpc.ListSessionsRequest(), forged) == grpc.StatusCode.UNAUTHENTICATED


async def test_a_service_may_not_speak_as_somebody_else(shared_system: RunningSystem) -> None:
    async with browser_stub(shared_system) as browser:
        for service in ("agent", "messaging", "search", "health"):
            own = signed(service, key_of(shared_system, service), ROOT)
            assert (
                await refused(browser.ListSessions, rpc.ListSessionsRequest(), own) == grpc.StatusCode.UNAUTHENTICATED
            )


async def test_a_changed_or_misdirected_identity_is_unauthenticated(shared_system: RunningSystem) -> None:
    key = key_of(shared_system, "gateway")
    good = SignedIdentity.FromString(signed("gateway", key, ROOT))
    wider = CallerIdentity.FromString(good.payload)
    wider.tenant = "other"
    changed = SignedIdentity(payload=wider.SerializeToString(), key_id="gateway", signature=good.signature)
    async with browser_stub(shared_system) as browser:
        for identity in (changed.SerializeToString(), signed("gateway", key, ROOT, "agent")):
            assert (
                await refused(browser.ListSessions, rpc.ListSessionsRequest(), identity)
                == grpc.StatusCode.UNAUTHENTICATED
            )
        listed = await browser.ListSessions(
            rpc.ListSessionsRequest(), metadata=[(METADATA_KEY, good.SerializeToString())], timeout=SECONDS
        )
        assert isinstance(listed, rpc.ListSessionsResponse)


async def test_an_agents_call_without_the_grant_is_not_authorized(shared_system: RunningSystem, site: Site) -> None:
    agent = ActingAgent.create(shared_system.rest, grants_for(site)).start(site.put("/page", BUTTON))
    click = ops.ClickOperation(tab_id=agent.tab_id, target=targets_pb2.Target(role="button", name="Go"))
    request = rpc.ExecuteRequest(operation=ops.BrowserOperation(click=click))
    key = key_of(shared_system, "agent")
    async with browser_stub(shared_system) as browser:
        without = signed("agent", key, delegated(agent.agent_id, "read_page"))
        assert await refused(browser.Execute, request, without) == grpc.StatusCode.PERMISSION_DENIED
        other_method = signed("agent", key, delegated(agent.agent_id, "click", f"{EXECUTE}Else"))
        assert await refused(browser.Execute, request, other_method) == grpc.StatusCode.UNAUTHENTICATED
        other_agent = signed("agent", key, delegated("agent_01M8QH98AV9DQSBAVZQ73CKGZX", "click"))
        assert await refused(browser.Execute, request, other_agent) == grpc.StatusCode.PERMISSION_DENIED
        assert site.hits("/clicked") == []
        with_grant = signed("agent", key, delegated(agent.agent_id, "click"))
        await browser.Execute(request, metadata=[(METADATA_KEY, with_grant)], timeout=SECONDS)
    assert agent.rest.post(f"/api/agents/{agent.agent_id}/terminate").status == 200
