"""A gateway on a free port before fake services on Unix sockets."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hyperkitty.auth.v1.token_service_pb2_grpc import add_TokenServiceServicer_to_server

from gateway.access.denials import Denials
from gateway.access.door import Door
from gateway.access.issued import IssuedTokens, StoredToken
from gateway.access.leases import Leases
from gateway.access.origins import HostRules
from gateway.access.rights import AuthTable
from gateway.access.tokens import Authenticator, digest_of
from gateway.calls.backends import Backends
from gateway.contract import Rpc, linked_services, rpcs
from gateway.openapi.document import document
from gateway.tokens.servicer import TokenServicer
from gateway.transcoding.json_text import dump
from gateway.web.front import Front
from gateway.web.pages import PROBES, Pages
from gateway.web.readiness import Readiness
from gateway.web.server import WebServer, listen_on
from services.kit.clients import KitChannel, open_channel
from services.kit.clock import SystemClock
from services.kit.identity import Signer
from services.kit.json_values import JsonValue
from services.kit.memory_store import MemoryStore
from services.kit.store import struct_codec
from tests.contract.gateway.fakes import FakeProcess
from tests.unit.gateway.widgets import widget_service

TOKEN = "hk_the_root_token_of_these_tests"
AUTHORIZATION = {"authorization": f"Bearer {TOKEN}"}


@dataclass
class Gateway:
    """The gateway under test and what stands behind it."""

    server: WebServer
    front: Front
    backends: Backends
    processes: dict[str, FakeProcess]
    rpcs: list[Rpc]
    http: aiohttp.ClientSession
    door: Door
    issued: IssuedTokens
    store: MemoryStore[StoredToken]
    denials: Denials
    denied: list[tuple[str, dict[str, JsonValue]]] = field(default_factory=list[tuple[str, dict[str, JsonValue]]])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    def __getitem__(self, process: str) -> FakeProcess:
        return self.processes[process]


def make_keys(directory: Path, services: Iterable[str]) -> dict[str, Ed25519PrivateKey]:
    directory.mkdir()
    keys = {service: Ed25519PrivateKey.generate() for service in services}
    for service, key in keys.items():
        pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        (directory / f"{service}.pub").write_bytes(pem)
    return keys


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    async with running() as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_gateway() -> AsyncIterator[Gateway]:
    """One for all tests of a module that leave nothing behind; such tests run on the module's loop."""
    async with running() as made:
        yield made


@asynccontextmanager
async def running() -> AsyncGenerator[Gateway]:
    with tempfile.TemporaryDirectory(prefix="hk-") as scratch:
        directory = Path(scratch) / "run"
        directory.mkdir(mode=0o700)
        os.chmod(directory, 0o700)
        contract = rpcs([*linked_services(), widget_service(in_default_pool=True)])
        keys = make_keys(Path(scratch) / "keys", ["gateway"])
        processes = {
            name: FakeProcess(name, [rpc for rpc in contract if rpc.process == name], directory, Path(scratch) / "keys")
            for name in sorted({rpc.process for rpc in contract})
        }
        clock = SystemClock()
        signer = Signer("gateway", keys["gateway"], clock)
        channels: list[KitChannel] = []

        def channel_of(process: str) -> KitChannel:
            channels.append(open_channel(process, processes[process].target, signer))
            return channels[-1]

        backends = Backends(channel_of)
        denied: list[tuple[str, dict[str, JsonValue]]] = []

        async def emit(request_id: str, data: dict[str, JsonValue]) -> None:
            denied.append((request_id, data))

        denials = Denials(emit, clock)
        leases = Leases(clock)
        store = MemoryStore(struct_codec(StoredToken))
        issued = IssuedTokens(store, leases, clock)
        following = asyncio.create_task(issued.follow())
        door = Door(HostRules(), Authenticator(digest_of(TOKEN), issued), AuthTable(contract), denials, leases)
        processes["gateway"].servicers = [
            (add_TokenServiceServicer_to_server, TokenServicer(issued, ["agent", "browser", "events"], clock))
        ]
        for process in processes.values():
            await process.start()
        pages = Pages(door, Readiness(backends, processes), lambda: dump(document(front.table, "1.2.3")))
        front = Front(contract, door, backends, pages, PROBES)
        server = WebServer(front, listen_on("127.0.0.1", 0), 2.0)
        await server.start()
        async with aiohttp.ClientSession() as http:
            yield Gateway(server, front, backends, processes, contract, http, door, issued, store, denials, denied)
        await server.stop()
        following.cancel()
        await asyncio.gather(*(channel.close() for channel in channels))
        await asyncio.gather(*(process.stop() for process in processes.values()))
