"""Real NATS with the product's rights, services as their own processes, and a browser service that a test scripts."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.operations.v1.operations_pb2 import Operation

from deploy.nats_rights import rights_of
from deploy.processes import TABLE
from services.kit.clients import KitChannel, open_channel
from services.kit.clock import SystemClock
from services.kit.event_log import EventFilter, EventLog
from services.kit.identity import PublicKeys, Signer, Verifier
from services.kit.interceptor import Surroundings
from services.kit.memory_events import MemoryEventLog
from services.kit.memory_store import MemoryStore
from services.kit.nats_events import NatsEventLog
from services.kit.nats_store import NatsStore
from services.kit.processes import spawn
from services.kit.recorder import Recorder
from services.kit.serving import Server, Servicer
from services.kit.spool import Spool
from services.kit.store import proto_codec
from tests.contract.kit.nats_server import Bus, Nats, connect

NAMES = ("browser", "agent", "search", "messaging", "health", "gateway")
ROOT = CallerIdentity(tenant="default", token_id="tok_root", scopes=TokenScopes(root=True))
READY_SECONDS = 20.0


def _users() -> list[dict[str, object]]:
    """Every process's NATS user with its own rights, and one for the test that may do anything."""
    users: list[dict[str, object]] = [{"user": "test", "password": "test"}]
    for process in TABLE:
        if process.name != "nats":
            rights = rights_of(process)
            permissions = {"publish": {"allow": rights.publish}, "subscribe": {"allow": rights.subscribe}}
            users.append({"user": process.name, "password": "secret", "permissions": permissions})
    return users


@dataclass
class SmallSystem:
    """Services of the product, started one by one, and channels to them as the gateway has them."""

    home: Path
    runtime: Path
    nats: Nats
    keys: dict[str, Ed25519PrivateKey]
    bus: Bus
    event_log: EventLog
    processes: dict[str, asyncio.subprocess.Process] = field(default_factory=dict[str, Any])
    channels: dict[str, KitChannel] = field(default_factory=dict[str, KitChannel])

    async def start(self, service: str, settings: Mapping[str, str] | None = None) -> None:
        """Starts a service, with further settings; returns when it says that it is ready."""
        path = self.home / f"{service}.notify"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(str(path))
            notify.setblocking(False)
            with (self.home / f"{service}.log").open("ab") as output:
                self.processes[service] = await spawn(
                    [sys.executable, "-m", f"services.{service}"],
                    env={**self._environment(service, path), **(settings or {})},
                    stderr=output.fileno(),
                )
            async with asyncio.timeout(READY_SECONDS):
                assert await asyncio.get_running_loop().sock_recv(notify, 100) == b"READY=1"

    def _environment(self, service: str, notify: Path) -> Mapping[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.getcwd(),
            "NOTIFY_SOCKET": str(notify),
            "HYPERKITTY_HOME": str(self.home),
            "HYPERKITTY_RUNTIME_DIR": str(self.runtime),
            "HYPERKITTY_NATS_URL": self.nats.url,
            "HYPERKITTY_NATS_CREDENTIALS": str(self.home / f"{service}.nats"),
            "HYPERKITTY_IDENTITY_KEY": str(self.home / f"{service}.pem"),
            "HYPERKITTY_DRAIN_MS": "1000",
        }

    async def kill(self, service: str) -> None:
        """kill -9."""
        process = self.processes.pop(service)
        process.kill()
        await process.wait()

    async def stop(self, service: str) -> int:
        """SIGTERM; the exit code."""
        process = self.processes.pop(service)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(15):
            return await process.wait()

    def channel(self, service: str) -> KitChannel:
        """A channel whose identities the gateway signs; use it inside `calling_as`."""
        channel = self.channels.get(service)
        if channel is None:
            signer = Signer("gateway", self.keys["gateway"], SystemClock())
            channel = self.channels[service] = open_channel(service, f"unix:{self.runtime}/{service}.sock", signer)
        return channel

    async def serve(self, service: str, servicers: list[Servicer]) -> Server:
        """A stand-in for a service, in this process, with everything that kit puts around handlers."""
        recorder = Recorder(
            service, MemoryEventLog(), MemoryStore(proto_codec(Operation)), Spool(self.home / f"{service}.spool")
        )
        verifier = Verifier(service, PublicKeys(self.home / "keys"), SystemClock())
        server = Server(servicers, Surroundings(verifier, recorder, SystemClock()))
        await server.start(f"unix:{self.runtime}/{service}.sock")
        await server.serve()
        return server

    async def events(self, subject: str = "", prefix: str = "") -> list[Event]:
        """What is on the log, oldest first."""
        return (await self.event_log.recent(EventFilter(category_prefix=prefix, subject=subject), 1_000))[::-1]

    async def categories(self, subject: str = "") -> list[str]:
        """Categories on the log, oldest first."""
        return [event.category for event in await self.events(subject)]

    def operations(self) -> NatsStore[Operation]:
        """The records of calls, as the services write them."""
        return NatsStore(self.bus.connection, self.bus.publisher, "operations", proto_codec(Operation))

    async def close(self) -> None:
        """Ends every process and connection."""
        for channel in self.channels.values():
            await channel.close()
        for service in list(self.processes):
            await self.kill(service)
        await self.bus.connection.close()


@asynccontextmanager
async def small_system(home: Path) -> AsyncGenerator[SmallSystem]:
    """A system without services yet."""
    home.mkdir(exist_ok=True)
    (home / "keys").mkdir()
    keys = {name: Ed25519PrivateKey.generate() for name in NAMES}
    for name, key in keys.items():
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (home / f"{name}.pem").write_bytes(private)
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (home / "keys" / f"{name}.pub").write_bytes(public)
        (home / f"{name}.nats").write_text(f"{name}:secret\n")
    async with AsyncExitStack() as stack:
        # Paths of Unix sockets are short; a test's own directory is not.
        runtime = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hk-", dir="/tmp")))
        nats = Nats(home, users=_users())
        await nats.start()
        stack.push_async_callback(nats.kill)
        stack.callback(_wake, nats)
        bus = await connect(nats.url, ("test", "test"))
        event_log = NatsEventLog(bus.connection, bus.publisher)
        await event_log.open()
        system = SmallSystem(home, runtime, nats, keys, bus, event_log)
        stack.push_async_callback(system.close)
        yield system


def _wake(nats: Nats) -> None:
    if nats.process is not None and nats.process.returncode is None:
        nats.signal(signal.SIGCONT)
