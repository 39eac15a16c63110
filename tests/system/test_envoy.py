"""Envoy with the shipped configuration in front of a running system: every way in works, and its limits hold."""

from __future__ import annotations

import base64
import json
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import grpc
import pytest
from hyperkitty.client.connection import Connection
from hyperkitty.events.v1 import event_service_pb2 as event_service
from hyperkitty.health.v1 import health_service_pb2 as health
from websockets.sync.client import connect

from tests.acting import ActingAgent, grants_for
from tests.edge import Edge
from tests.rest_client import RestClient
from tests.running_system import RunningSystem
from tests.site import Site
from tests.waiting import until

SECONDS = 20.0
BODY_LIMIT = "max_request_bytes: 50331648"
BUCKET = "token_bucket: { max_tokens: 2000, tokens_per_fill: 100, fill_interval: 0.1s }"


@pytest.fixture(scope="module")
def edge(shared_system: RunningSystem, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edge]:
    state = shared_system.state
    directory = tmp_path_factory.mktemp("edge")
    with Edge(directory, rest_url=state["rest_url"], grpc_target=state["grpc_target"]) as running:
        yield running


@pytest.fixture
def rest(edge: Edge, shared_system: RunningSystem) -> RestClient:
    return RestClient(edge.url, shared_system.state["token"], tls=edge.tls)


def connection(edge: Edge, token: str) -> Connection:
    return Connection(edge.target, token, credentials=grpc.ssl_channel_credentials(edge.authority.encode()))


def test_an_agent_works_over_rest(rest: RestClient, edge: Edge, site: Site) -> None:
    agent = ActingAgent.create(rest, grants_for(site)).start(site.put("/page", "<title>T</title><p>Through the edge."))
    assert "Through the edge." in agent.on_tab("read_page", format="text").result["content"]
    refused = agent.on_tab("navigate", url="http://example.com/")
    assert (refused.status, refused.error_code) == (403, "not_authorized")
    reply = rest.get(f"/api/agents/{agent.agent_id}", {"x-request-id": "mine-1"})
    assert reply.headers["x-request-id"] == "mine-1"
    assert reply.headers["strict-transport-security"] == "max-age=31536000"
    rest.post(f"/api/agents/{agent.agent_id}/terminate")
    path = f"/api/agents/{agent.agent_id}"
    [line] = until(lambda: [each for each in edge.lines() if each["path"] == path], "the call in the log")
    told = {key: line[key] for key in ("method", "status", "request_id", "protocol", "source", "upstream")}
    assert told == {
        "method": "GET",
        "status": 200,
        "request_id": "mine-1",
        "protocol": "HTTP/1.1",
        "source": "127.0.0.1",
        "upstream": "rest",
    }


def test_no_token_is_in_the_access_log(rest: RestClient, edge: Edge) -> None:
    assert rest.get("/api/health").status == 200
    assert RestClient(edge.url, None, tls=edge.tls).get("/api/health").status == 401
    until(lambda: [line for line in edge.lines() if line["status"] == 401], "the refusal in the log")
    assert rest.token is not None
    assert rest.token not in json.dumps(edge.lines())


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl (Debian: apt-get install curl)")
def test_http_2_is_spoken_with_who_offers_it(edge: Edge, tmp_path: Path) -> None:
    authority = tmp_path / "ca.crt"
    authority.write_text(edge.authority)
    command = ["curl", "--silent", "--show-error", "--cacert", str(authority), "--output", "/dev/null"]
    command += ["--write-out", "%{http_version} %{http_code}", f"{edge.url}/livez"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout == "2 200", done.stderr


def test_events_over_a_websocket(edge: Edge, rest: RestClient) -> None:
    url = f"wss://localhost:{edge.port}/api/events/stream?category_prefix=agent"
    headers = {"authorization": f"Bearer {rest.token}"}
    with connect(url, ssl=edge.tls, additional_headers=headers, open_timeout=SECONDS) as socket:
        agent_id = rest.post("/api/agents", {"capabilities": ["read_page"]}).result["agent_id"]
        seen: list[str] = []
        while not seen:
            events = json.loads(socket.recv(timeout=SECONDS)).get("events", [])
            seen = [event["category"] for event in events if event["agent_id"] == agent_id]
    assert seen == ["agent.created"]
    rest.post(f"/api/agents/{agent_id}/terminate")


async def test_calls_and_streams_over_grpc(edge: Edge, rest: RestClient) -> None:
    assert rest.token is not None
    async with connection(edge, rest.token) as client:
        report = await client.health.GetHealth(health.GetHealthRequest(), timeout=SECONDS)
        assert {service.name for service in report.report.services} >= {"browser", "agent", "gateway"}
        agent_id = rest.post("/api/agents", {"capabilities": ["read_page"]}).result["agent_id"]
        stream = client.events.ExportEvents(event_service.ExportEventsRequest(subject=agent_id), timeout=SECONDS)
        assert [part.event.category async for part in stream] == ["agent.created"]
        rest.post(f"/api/agents/{agent_id}/terminate")
    async with connection(edge, "hk_wrong") as client:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await client.health.GetHealth(health.GetHealthRequest(), timeout=SECONDS)
        assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED


async def test_grpc_health_is_open(edge: Edge) -> None:
    credentials = grpc.ssl_channel_credentials(edge.authority.encode())
    async with grpc.aio.secure_channel(edge.target, credentials) as channel:
        answer = cast("bytes", await channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=SECONDS))
        # HealthCheckResponse{status: SERVING}
        assert answer == b"\x08\x01"


@pytest.mark.parametrize("text", [False, True], ids=["binary", "text"])
def test_grpc_web(edge: Edge, rest: RestClient, text: bool) -> None:
    """The protocol of browsers: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md."""
    frame = b"\0" + struct.pack(">I", 0)
    kind = "application/grpc-web-text" if text else "application/grpc-web+proto"
    headers = {"content-type": kind, "x-grpc-web": "1", "accept": kind}
    body = base64.b64encode(frame) if text else frame
    reply = rest.call("POST", "/hyperkitty.health.v1.HealthService/GetHealth", body, headers)
    assert (reply.status, reply.headers["content-type"].partition("+")[0]) == (200, kind.partition("+")[0])
    content = b"".join(base64.b64decode(part) for part in _quanta(reply.body)) if text else reply.body
    flags, size = struct.unpack(">BI", content[:5])
    assert flags == 0
    answer = health.GetHealthResponse.FromString(content[5 : 5 + size])
    assert answer.report.services
    assert b"grpc-status:0" in content[5 + size :]


def _quanta(body: bytes) -> list[bytes]:
    """Base64 pieces of a gRPC-Web text body: each message may be padded on its own."""
    return [body[start : start + 4] for start in range(0, len(body), 4)]


def test_another_hosts_page_is_refused_by_the_gateway(rest: RestClient) -> None:
    assert rest.get("/api/health", {"host": "evil.example"}).error_code == "not_authorized"
    assert rest.get("/api/health", {"origin": "https://evil.example"}).error_code == "not_authorized"


def test_a_header_or_path_that_two_readers_see_differently_is_refused(rest: RestClient) -> None:
    assert rest.get("/api/health", {"x_request_id": "a"}).status == 400
    assert rest.get("/api%2Fhealth").status == 400


def test_limits_answer_as_the_gateway_does(shared_system: RunningSystem, tmp_path: Path) -> None:
    state = shared_system.state
    changes = {
        BODY_LIMIT: "max_request_bytes: 1000",
        BUCKET: "token_bucket: { max_tokens: 3, tokens_per_fill: 1, fill_interval: 3600s }",
    }
    with Edge(tmp_path, rest_url=state["rest_url"], grpc_target=state["grpc_target"], changes=changes) as edge:
        rest = RestClient(edge.url, state["token"], tls=edge.tls)
        large = rest.post("/api/agents", {"capabilities": ["x" * 2_000]}, {"x-request-id": "big"})
        assert (large.status, large.error_code) == (413, "payload_too_large")
        assert (large.json["request_id"], large.json["status"]) == ("big", "failed")
        assert [rest.get("/api/health").status for _ in range(2)] == [200, 200]
        over = rest.get("/api/health")
        assert (over.status, over.error_code) == (429, "resource_exhausted")
        assert over.headers["retry-after"] == "1"
        assert over.json["error"]["hint"]


def test_a_gateway_that_is_away_is_said_so(edge: Edge, tmp_path: Path) -> None:
    nobody = f"127.0.0.1:{edge.port + 1 if edge.port < 65_000 else 1}"
    with Edge(tmp_path, rest_url=f"http://{nobody}", grpc_target=nobody) as alone:
        reply = RestClient(alone.url, None, tls=alone.tls).get("/livez")
        assert (reply.status, reply.error_code) == (503, "unavailable")
