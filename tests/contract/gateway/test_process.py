"""`python -m gateway` as a process, on a real NATS: starting, being told to stop, what survives it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
from cryptography.hazmat.primitives import serialization
from grpc_health.v1 import health_pb2

from tests.contract.gateway.conftest import AUTHORIZATION, TOKEN, make_keys
from tests.contract.kit.nats_server import Nats, free_port
from tests.waiting import async_until

TREE = Path(__file__).resolve().parents[3]
READY_SECONDS = 15.0


class GatewayProcess:
    """The process in a home of its own; nothing stands behind it but NATS."""

    def __init__(self, home: Path, nats: Nats) -> None:
        self.rest_port, self.grpc_port = free_port(), free_port()
        self.notify = home / "notify.sock"
        self._log = home / "gateway.log"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("HYPERKITTY_")}
        self.environment |= {
            "HYPERKITTY_HOME": str(home),
            "HYPERKITTY_RUNTIME_DIR": str(home / "run"),
            "HYPERKITTY_NATS_URL": nats.url,
            "HYPERKITTY_IDENTITY_KEY": str(home / "gateway.key"),
            "HYPERKITTY_REST_PORT": str(self.rest_port),
            "HYPERKITTY_GRPC_PORT": str(self.grpc_port),
            "NOTIFY_SOCKET": str(self.notify),
        }
        self._notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notified.bind(str(self.notify))
        self._notified.setblocking(False)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.rest_port}"

    @property
    def output(self) -> str:
        return self._log.read_text()

    def start(self, **environment: str) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gateway"],
                cwd=TREE,
                env={**self.environment, **environment},
                stdout=log,
                stderr=log,
            )
        return self.process

    async def ready(self) -> None:
        """Until READY=1 came."""

        def told() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, self.output
            try:
                return self._notified.recv(100) == b"READY=1"
            except BlockingIOError:
                return False

        await async_until(told, "READY=1", READY_SECONDS)

    async def ended(self, seconds: float = 10.0) -> int:
        """The exit code, once it has ended."""
        process = self.process
        assert process is not None
        await async_until(lambda: process.poll() is not None, "the gateway to end", seconds)
        return process.returncode

    def close(self) -> None:
        self._notified.close()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(5)


@pytest.fixture
async def nats(tmp_path: Path) -> AsyncIterator[Nats]:
    directory = tmp_path / "nats"
    directory.mkdir()
    server = Nats(directory)
    await server.start()
    yield server
    await server.kill()


@pytest.fixture
async def gateway(tmp_path: Path, nats: Nats) -> AsyncIterator[GatewayProcess]:
    home = tmp_path / "home"
    home.mkdir()
    key = make_keys(home / "keys", ["gateway"])["gateway"]
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (home / "gateway.key").write_bytes(pem)
    (home / "root.token").write_text(TOKEN)
    made = GatewayProcess(home, nats)
    yield made
    made.close()


async def call(gateway: GatewayProcess, verb: str, path: str, **options: Any) -> tuple[int, Any]:
    options.setdefault("headers", AUTHORIZATION)
    async with aiohttp.ClientSession() as http, http.request(verb, gateway.url + path, **options) as response:
        return response.status, await response.json()


async def test_it_is_ready_without_the_services(gateway: GatewayProcess) -> None:
    gateway.start()
    await gateway.ready()
    assert (await call(gateway, "GET", "/livez"))[0] == 200
    status, answer = await call(gateway, "GET", "/readyz")
    assert status == 503
    assert set(answer["services"].values()) == {"down"}
    async with grpc.aio.insecure_channel(f"127.0.0.1:{gateway.grpc_port}") as channel:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        assert (await check(health_pb2.HealthCheckRequest())).status == health_pb2.HealthCheckResponse.SERVING
    status, answer = await call(gateway, "GET", "/api/agents")
    assert (status, answer["error"]["code"]) == (503, "unavailable")
    assert TOKEN not in gateway.output


async def test_tokens_and_denials_survive(gateway: GatewayProcess) -> None:
    gateway.start()
    await gateway.ready()
    status, answer = await call(gateway, "POST", "/api/tokens", json={"services": ["agent"]})
    assert status == 200
    made = answer["result"]
    status, answer = await call(gateway, "GET", "/api/secrets/name")
    assert (status, answer["error"]["code"]) == (501, "unimplemented")
    assert gateway.process is not None
    gateway.process.kill()
    await gateway.ended()
    gateway.start()
    await gateway.ready()
    bearer = {"authorization": f"Bearer {made['token']}"}
    assert (await call(gateway, "GET", "/api/tokens", headers=bearer))[0] == 403
    status, listed = await call(gateway, "GET", "/api/tokens")
    assert [token["token_id"] for token in listed["tokens"]] == [made["token_id"]]
    assert (await call(gateway, "DELETE", f"/api/tokens/{made['token_id']}"))[0] == 200
    assert (await call(gateway, "GET", "/api/tokens", headers=bearer))[0] == 401


async def test_being_told_to_stop(gateway: GatewayProcess) -> None:
    """A WebSocket that nobody closes does not hold it up, and is told why."""
    process = gateway.start()
    await gateway.ready()
    url = f"{gateway.url}/api/events/stream"
    async with aiohttp.ClientSession() as http, http.ws_connect(url) as socket:
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(5):
            message = await socket.receive()
        closing = json.loads(message.data)["closing"]
        assert closing == {"reason": "the gateway is stopping", "code": "unavailable"}
        assert await gateway.ended() == 0
    with pytest.raises(aiohttp.ClientConnectionError):
        await call(gateway, "GET", "/livez")


@pytest.mark.parametrize("variable", ["HYPERKITTY_REST_PORT", "HYPERKITTY_GRPC_PORT"])
async def test_a_port_that_is_taken(gateway: GatewayProcess, variable: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        gateway.start(**{variable: port})
        assert await gateway.ended() == 2
    assert f"{variable}: cannot listen on 127.0.0.1:{port}" in gateway.output


async def test_without_a_root_token(gateway: GatewayProcess) -> None:
    (Path(gateway.environment["HYPERKITTY_HOME"]) / "root.token").unlink()
    gateway.start()
    assert await gateway.ended() == 2
    assert "no root token in" in gateway.output
