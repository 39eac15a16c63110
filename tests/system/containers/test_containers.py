"""HyperKitty from its images: the demonstration through Envoy by REST and gRPC; a lost container is one failure."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

import grpc
import pytest
from hyperkitty.client.connection import Connection
from hyperkitty.events.v1 import event_service_pb2 as event_service
from hyperkitty.health.v1 import health_service_pb2 as health

from deploy.local.demo import CALL_SECONDS, Api, Demonstration
from deploy.local.demo_site import DemoSite
from deploy.processes import NATS, POD_GRPC_PORT, TABLE
from tests.system.containers import engine
from tests.system.containers.stack import Stack
from tests.waiting import until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600), pytest.mark.xdist_group("containers")]

SECONDS = 20.0
SERVICES = [process.name for process in TABLE if process.name != NATS.name]


class EdgeApi(Api):
    """The demonstration's client, over TLS."""

    def __init__(self, stack: Stack) -> None:
        super().__init__(stack.edge_url, stack.token)
        self._connection = http.client.HTTPSConnection(
            "localhost", stack.edge_port, timeout=CALL_SECONDS, context=stack.tls
        )

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def api(stack: Stack) -> Iterator[EdgeApi]:
    api = EdgeApi(stack)
    yield api
    api.close()


@pytest.fixture
def library(stack: Stack) -> Iterator[DemoSite]:
    """The demonstration's site, on this machine's address in the containers' network."""
    site = DemoSite(stack.host_address)
    site.start()
    yield site
    site.stop()


def connection(stack: Stack) -> Connection:
    credentials = grpc.ssl_channel_credentials(stack.authority.encode())
    return Connection(f"localhost:{stack.edge_port}", stack.token, credentials=credentials)


async def test_the_demonstration_over_rest_and_its_record_over_grpc(
    stack: Stack, api: EdgeApi, library: DemoSite
) -> None:
    demonstration = Demonstration(api, library)
    said = {name: step() for name, step in demonstration.steps()}
    assert said["read the answer"] == "Location: Shelf 7, row 1"
    session = stack.rest.get(f"/api/browser/sessions?owner_agent_id={demonstration.agent_id}").json["sessions"][0]
    assert (session["sandbox"], session["egress_isolation"]) == ("on", "namespace"), said
    async with connection(stack) as client:
        request = event_service.ExportEventsRequest(subject=demonstration.agent_id)
        seen = [part.event.category async for part in client.events.ExportEvents(request, timeout=SECONDS)]
        assert seen[0] == "agent.created"
        assert {"browser.action.click", "agent.action.rejected", "agent.completed"} <= set(seen)
        report = (await client.health.GetHealth(health.GetHealthRequest(), timeout=SECONDS)).report
        assert {service.name for service in report.services} >= set(SERVICES)


def test_a_killed_browser_container_takes_nothing_else_down(stack: Stack, api: EdgeApi, library: DemoSite) -> None:
    demonstration = Demonstration(api, library)
    steps = demonstration.steps()
    for _, step in steps[:5]:
        step()
    agent = f"/api/agents/{demonstration.agent_id}"
    others = {name: _started(stack, name) for name in (*SERVICES, "nats", "envoy") if name != "browser"}
    engine.docker("kill", stack.name("browser"))

    # The rest goes on.
    assert stack.rest.get(agent).json["state"] == "planning"
    sent = stack.rest.post("/api/messages", {"recipient": "user:ada", "payload": {"text": "still here"}}).result
    assert sent["status"] == "queued"
    job = stack.rest.post("/api/search", {"query": "tides"}).result["job_id"]
    answer = until(lambda: _finished(stack, job), "the search done", 60)
    assert answer["stage"] == "done"
    made = stack.rest.post("/api/agents", {"capabilities": ["read_page"]}).result
    assert made["state"] == "created"
    missing = stack.rest.post("/api/browser/sessions")
    assert (missing.status, missing.error_code) == (503, "unavailable")
    assert stack.rest.get("/livez").status == 200
    assert stack.rest.get("/readyz").json["services"]["browser"] == "down"

    # It comes back with the agent's session, and the agent goes on.
    engine.docker("start", stack.name("browser"))
    stack.wait_serving("browser")
    stack.wait_ready()
    for _, step in steps[3:]:
        step()
    categories = [
        event["category"]
        for event in stack.rest.get("/api/events/recent?category_prefix=browser.session").json["events"]
    ]
    assert "browser.session.restored" in categories
    assert {name: _started(stack, name) for name in others} == others


def _started(stack: Stack, process: str) -> str:
    """When a container was started: another time when it was started again."""
    return engine.docker("inspect", "--format", "{{.State.StartedAt}} {{.State.Running}}", stack.name(process))


def _finished(stack: Stack, job_id: str) -> dict[str, str]:
    job = stack.rest.get(f"/api/search/{job_id}").json
    return job if job["stage"] in ("done", "failed") else {}


def test_without_the_seccomp_profile_a_session_is_refused_and_says_why(stack: Stack) -> None:
    engine.docker("rm", "--force", stack.name("browser"))
    stack.seccomp = False
    try:
        stack.start_service("browser")
        stack.wait_serving("browser")
        stack.wait_ready()
        refused = stack.rest.post("/api/browser/sessions")
        assert (refused.status, refused.error_code) == (503, "sandbox_unavailable")
        assert "HYPERKITTY_ALLOW_UNSANDBOXED" in refused.json["error"]["hint"]
    finally:
        stack.seccomp = True
        engine.docker("rm", "--force", stack.name("browser"))
        stack.start_service("browser")
        stack.wait_serving("browser")


async def test_a_service_answers_only_who_has_a_certificate(stack: Stack) -> None:
    address = engine.docker(
        "inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", stack.name("agent")
    )
    trusting = grpc.ssl_channel_credentials(stack.authority.encode())
    own = stack.files["gateway-tls"]
    known = grpc.ssl_channel_credentials(stack.authority.encode(), own["tls.key"].encode(), own["tls.crt"].encode())
    options = [("grpc.ssl_target_name_override", "agent")]
    target = f"{address}:{POD_GRPC_PORT}"
    check = "/grpc.health.v1.Health/Check"
    async with grpc.aio.secure_channel(target, known, options) as channel:
        assert await channel.unary_unary(check)(b"", timeout=SECONDS) == b"\x08\x01"
    for channel in (grpc.aio.insecure_channel(target), grpc.aio.secure_channel(target, trusting, options)):
        async with channel:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await channel.unary_unary(check)(b"", timeout=5.0)
            assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
