"""A real nats-server that tests start, stop, freeze and kill, and clients of it."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path

from services.kit.nats_acks import AckPublisher
from services.kit.nats_connection import NatsConnection
from services.kit.processes import spawn

SERVER = Path(sys.executable).parent / "nats-server"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Nats:
    """A server that tests may stop, kill and start again."""

    directory: Path
    port: int = field(default_factory=free_port)
    users: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    async def start(self) -> None:
        config: dict[str, object] = {
            "host": "127.0.0.1",
            "port": self.port,
            "jetstream": {"store_dir": str(self.directory / "store"), "max_file_store": 64 * 1024**3},
        }
        if self.users:
            config["authorization"] = {"users": self.users}
        path = self.directory / "nats.conf"
        path.write_text(json.dumps(config))
        output = (self.directory / "nats.log").open("ab")
        self.process = await spawn([str(SERVER), "-c", str(path)], stdout=output.fileno(), stderr=output.fileno())
        output.close()
        async with asyncio.timeout(10):
            while not await self._greets():
                await asyncio.sleep(0.02)

    async def _greets(self) -> bool:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        greeting = await reader.readline()
        writer.close()
        await writer.wait_closed()
        return greeting.startswith(b"INFO")

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    async def kill(self) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


@dataclass
class Bus:
    """A connected client."""

    connection: NatsConnection
    publisher: AckPublisher


async def connect(url: str, credentials: tuple[str, str] | None = None) -> Bus:
    connection = NatsConnection(url, credentials, "test")
    async with asyncio.timeout(10):
        await connection.connect()
    publisher = AckPublisher(connection)
    await publisher.start()
    return Bus(connection, publisher)
