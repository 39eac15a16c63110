"""A service as the supervisor runs it: its own process, its own NATS credential, signals, kills, a frozen log."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.operations.v1.operations_pb2 import OPERATION_STATUS_SUCCEEDED, Operation

from deploy.nats_rights import rights_of
from deploy.processes import TABLE
from services.kit.clients import KitChannel, open_channel
from services.kit.clock import SystemClock
from services.kit.errors import Refusal
from services.kit.event_log import EventFilter, LogUnavailable
from services.kit.identity import Signer, calling_as
from services.kit.ids import new_id
from services.kit.nats_events import NatsEventLog
from services.kit.nats_store import NatsStore
from services.kit.processes import spawn
from services.kit.store import StoreUnavailable, proto_codec, struct_codec
from tests.contract.kit.nats_server import Bus, Nats, connect
from tests.unit.kit.echo_service import EchoStub, Request, caller, keys_in


def users() -> list[dict[str, object]]:
    """Every process's user with its rights, as the supervisor makes them, and one that may do anything."""
    made: list[dict[str, object]] = [{"user": "test", "password": "test"}]
    for process in TABLE:
        if process.name != "nats":
            rights = rights_of(process)
            permissions = {"publish": {"allow": rights.publish}, "subscribe": {"allow": rights.subscribe}}
            made.append({"user": process.name, "password": "secret", "permissions": permissions})
    return made


async def until(condition: Callable[[], bool], seconds: float) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


@dataclass
class Home:
    """A home with one service in it."""

    directory: Path
    nats: Nats
    keys: dict[str, Ed25519PrivateKey]
    process: asyncio.subprocess.Process | None = None
    channels: list[KitChannel] = field(default_factory=list[KitChannel])

    @property
    def gate(self) -> Path:
        return self.directory / "gate"

    @property
    def reached(self) -> Path:
        return self.gate.with_suffix(".reached")

    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.getcwd(),
            "HYPERKITTY_HOME": str(self.directory),
            "HYPERKITTY_RUNTIME_DIR": str(self.directory / "run"),
            "HYPERKITTY_NATS_URL": self.nats.url,
            "HYPERKITTY_NATS_CREDENTIALS": str(self.directory / "messaging.nats"),
            "HYPERKITTY_IDENTITY_KEY": str(self.directory / "messaging.pem"),
        }

    async def start(self, **environment: str) -> asyncio.subprocess.Process:
        """Starts the service; returns when it said that it is ready."""
        path = self.directory / "notify"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(str(path))
            notify.setblocking(False)
            self.process = await self.spawn(NOTIFY_SOCKET=str(path), **environment)
            async with asyncio.timeout(20):
                assert await asyncio.get_running_loop().sock_recv(notify, 100) == b"READY=1"
        return self.process

    async def spawn(self, **environment: str) -> asyncio.subprocess.Process:
        output = (self.directory / "service.log").open("ab")
        with output:
            return await spawn(
                [sys.executable, "-m", "tests.contract.kit.echo_process", str(self.gate)],
                env={**self.environment(), **environment},
                stderr=output.fileno(),
            )

    def stub(self) -> EchoStub:
        signer = Signer("gateway", self.keys["gateway"], SystemClock())
        self.channels.append(open_channel("messaging", f"unix:{self.directory}/run/messaging.sock", signer))
        return EchoStub(self.channels[-1])


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    directory = tmp_path / "home"
    directory.mkdir()
    nats = Nats(directory, users=users())
    await nats.start()
    keys = keys_in(directory / "keys", "gateway", "messaging")
    private = keys["messaging"].private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (directory / "messaging.pem").write_bytes(private)
    (directory / "messaging.nats").write_text("messaging:secret\n")
    made = Home(directory, nats, keys)
    yield made
    for channel in made.channels:
        await channel.close()
    if made.process is not None and made.process.returncode is None:
        made.process.kill()
        await made.process.wait()
    nats.signal(signal.SIGCONT)
    await nats.kill()


@pytest.fixture
async def reader(home: Home) -> AsyncIterator[Bus]:
    bus = await connect(home.nats.url, ("test", "test"))
    yield bus
    await bus.connection.close()


async def categories(bus: Bus) -> list[str]:
    events = await NatsEventLog(bus.connection, bus.publisher).recent(EventFilter(), 100)
    return [event.category for event in reversed(events)]


async def operation(bus: Bus, operation_id: str) -> Operation | None:
    store = NatsStore(bus.connection, bus.publisher, "operations", proto_codec(Operation))
    entry = await store.get(f"messaging.{operation_id}")
    return None if entry is None else entry.value


async def test_a_life(home: Home, reader: Bus) -> None:
    process = await home.start()
    assert await categories(reader) == ["service.started"]
    with calling_as(caller()):
        call = home.stub().Unary(Request(text="hello"))
        assert (await call).text == "hello"
    operation_id = dict(await call.initial_metadata())["x-operation-id"]
    assert await categories(reader) == ["service.started", "message.sent", "message.received"]
    done = await operation(reader, operation_id)
    assert done is not None
    assert done.status == OPERATION_STATUS_SUCCEEDED
    directory = home.directory / "run"
    assert directory.stat().st_mode & 0o777 == 0o700
    reading, writing = await asyncio.open_unix_connection(str(directory / "messaging.metrics.sock"))
    writing.write(b"GET /metrics HTTP/1.0\r\n\r\n")
    metrics = await reading.read()
    writing.close()
    assert b"hyperkitty_rpc_seconds_count" in metrics
    process.terminate()
    async with asyncio.timeout(10):
        assert await process.wait() == 0
    assert (await categories(reader))[-1] == "service.stopping"


async def test_a_second_life_on_the_same_socket(home: Home, reader: Bus) -> None:
    stub = home.stub()
    for _ in range(2):
        process = await home.start()
        with calling_as(caller()):
            assert (await stub.Unary(Request(text="hello"))).text == "hello"
        process.kill()
        await process.wait()
    assert (await categories(reader)).count("service.started") == 2


async def test_with_a_frozen_log_nothing_is_done_and_afterwards_all_goes_on(home: Home, reader: Bus) -> None:
    await home.start()
    stub = home.stub()
    with calling_as(caller()):
        await stub.Unary(Request(text="warm"))
        home.nats.signal(signal.SIGSTOP)
        home.gate.touch()
        began = time.monotonic()
        with pytest.raises(Refusal) as caught:
            await stub.Unary(Request(text="gate"))
        assert caught.value.code == ErrorCode.ERROR_CODE_EVENT_LOG_UNAVAILABLE
        assert time.monotonic() - began < 6
        assert not home.reached.exists()
        home.nats.signal(signal.SIGCONT)
        home.gate.unlink()
        await answered(stub)
    done = await operation(reader, str(caught.value.details["operation_id"]))
    assert done is not None
    assert done.error.code == ErrorCode.ERROR_CODE_EVENT_LOG_UNAVAILABLE


async def answered(stub: EchoStub) -> None:
    """Calls until the service takes operations again."""
    async with asyncio.timeout(10):
        while True:
            code = await code_of(stub.Unary(Request(text="again")))
            if code is None:
                return
            assert code == ErrorCode.ERROR_CODE_EVENT_LOG_UNAVAILABLE
            await asyncio.sleep(0.05)


async def code_of(call: Any) -> int | None:
    """The code of the refusal, None for an answer."""
    try:
        await call
    except Refusal as refusal:
        return refusal.code
    return None


@pytest.mark.parametrize("killed", [False, True])
async def test_an_outcome_reaches_the_log_also_after_kill_9(home: Home, reader: Bus, killed: bool) -> None:
    process = await home.start()
    home.gate.touch()
    stub = home.stub()
    with calling_as(caller()):
        call = stub.Unary(Request(text="gate"))
        waiting = asyncio.ensure_future(_await(call))
        await until(home.reached.exists, 5)
        home.nats.signal(signal.SIGSTOP)
        home.gate.unlink()
        with pytest.raises(Refusal) as caught:
            await waiting
        assert caught.value.code == ErrorCode.ERROR_CODE_EVENT_LOG_UNAVAILABLE
        operation_id = str(caught.value.details["operation_id"])
        if killed:
            process.kill()
            await process.wait()
        home.nats.signal(signal.SIGCONT)
        if killed:
            await home.start()
        await answered(stub)
    log = await categories(reader)
    assert log.count("message.sent") == log.count("message.received") == 2
    assert log.index("message.sent") < log.index("message.received")
    done = await operation(reader, operation_id)
    assert done is not None
    assert done.status == OPERATION_STATUS_SUCCEEDED


async def _await(call: Any) -> Any:
    return await call


async def test_a_call_that_died_with_its_process_gets_its_record_at_the_next_start(home: Home, reader: Bus) -> None:
    process = await home.start()
    home.gate.touch()
    with calling_as(caller()):
        call = home.stub().Unary(Request(text="gate"))
        waiting = asyncio.ensure_future(code_of(call))
        await until(home.reached.exists, 5)
        process.kill()
        await process.wait()
        assert await waiting == ErrorCode.ERROR_CODE_UNAVAILABLE
    operation_id = dict(await call.initial_metadata())["x-operation-id"]
    assert await operation(reader, operation_id) is None
    await home.start()
    done = await operation(reader, operation_id)
    assert done is not None
    assert (done.kind, done.subject) == ("echo", "gate")


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ({"HYPERKITTY_DRAIN_MS": "soon"}, "HYPERKITTY_DRAIN_MS"),
        ({"HYPERKITTY_NO_SUCH": "1"}, "HYPERKITTY_NO_SUCH is not a setting"),
        ({"HYPERKITTY_IDENTITY_KEY": "/nowhere"}, "/nowhere"),
        ({"HYPERKITTY_NATS_CREDENTIALS": "/nowhere"}, "/nowhere"),
        ({"HYPERKITTY_LISTEN": "0.0.0.0:0"}, "HYPERKITTY_TLS_DIR"),
    ],
)
async def test_bad_settings_refuse_to_start(home: Home, environment: dict[str, str], line: str) -> None:
    process = await home.spawn(**environment)
    async with asyncio.timeout(20):
        assert await process.wait() == 2
    assert line in (home.directory / "service.log").read_text()


async def test_a_credential_publishes_its_own_categories_only(home: Home, reader: Bus) -> None:
    mine = await connect(home.nats.url, ("messaging", "secret"))
    log = NatsEventLog(mine.connection, mine.publisher)
    await log.open()
    await log.publish(Event(event_id=new_id("evt"), category="message.sent", tenant="t"))
    with pytest.raises(LogUnavailable):
        await log.publish(Event(event_id=new_id("evt"), category="agent.created", tenant="t"), timeout=0.5)
    with pytest.raises(StoreUnavailable):
        await NatsStore(mine.connection, mine.publisher, "agents", struct_codec(str)).put("a", "b")
    with pytest.raises(StoreUnavailable):
        await NatsStore(mine.connection, mine.publisher, "operations", struct_codec(str)).put("browser.a", "b")
    assert await categories(reader) == ["message.sent"]
    await mine.connection.close()


async def test_a_socket_answers_nobody_without_an_identity(home: Home) -> None:
    await home.start()
    async with grpc.aio.insecure_channel(f"unix:{home.directory}/run/messaging.sock") as channel:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await channel.unary_unary("/hyperkitty.echo.v1.EchoService/Unary")(b"")
    assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED
    assert not home.reached.exists()
