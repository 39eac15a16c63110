"""A service's life: `main("messaging", build)` is all that its __main__.py does (DESIGN §4)."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import uvloop
from hyperkitty.health.v1.health_service_pb2_grpc import add_ServiceStatusServiceServicer_to_server
from hyperkitty.operations.v1.operations_pb2 import Operation

from services.kit import config, logs, record
from services.kit.artifacts import Artifacts
from services.kit.clients import KitChannel, open_channel
from services.kit.clock import Clock, SystemClock
from services.kit.config import SettingsError
from services.kit.event_log import EventLog
from services.kit.idempotency import KEPT_SECONDS, FirstCall, IdempotencyKeys
from services.kit.identity import KeyUnreadable, PublicKeys, Signer, Verifier, load_private_key
from services.kit.interceptor import Surroundings
from services.kit.interrupted import Interrupted
from services.kit.metrics_endpoint import serve_metrics
from services.kit.nats_acks import AckPublisher
from services.kit.nats_artifacts import NatsArtifacts
from services.kit.nats_connection import CredentialsUnreadable, NatsConnection, read_credentials
from services.kit.nats_events import NatsEventLog
from services.kit.nats_store import NatsStore
from services.kit.nats_streams import StreamUnavailable
from services.kit.recorder import Recorder
from services.kit.serving import Server, Servicer, default_listen
from services.kit.settings import CommonSettings, load
from services.kit.spool import Spool
from services.kit.status import Ask, StatusServicer, nothing_to_tell
from services.kit.store import Codec, Store, proto_codec, struct_codec
from services.kit.telemetry import NoSpans, SpanSink
from services.kit.transport import Tls

T = TypeVar("T")
log = logs.get(__name__)

_CONNECT_SECONDS = 30.0
_DRAIN_SPOOL_SECONDS = 5.0
_OPERATIONS_SECONDS = 24 * 3600.0
_EXIT_FAILED = 1


@dataclass
class Service:
    """What a service's `build` gives back."""

    servicers: Sequence[Servicer]
    # Awaited before the service says that it is ready.
    ready: Callable[[], Awaitable[None]] | None = None
    # Awaited when calls in flight have ended.
    drain: Callable[[], Awaitable[None]] | None = None
    # Asked by health.
    status: Ask = nothing_to_tell
    # Root of the event categories whose open intents an earlier process left are settled as `interrupted`; "": none.
    settles: str = ""


@dataclass
class Kit:
    """What a service gets for nothing."""

    name: str
    settings: CommonSettings
    clock: Clock
    connection: NatsConnection
    publisher: AckPublisher
    event_log: EventLog
    artifacts: Artifacts
    signer: Signer
    recorder: Recorder
    tls: Tls | None = None
    _channels: dict[str, KitChannel] = field(default_factory=dict[str, KitChannel])
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    # Set when the service must end; the text says why.
    stop: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    async def store(self, bucket: str, codec: Codec[T], ttl_seconds: float | None = None) -> Store[T]:
        """A bucket, made where it is missing. Raises StreamUnavailable."""
        made = NatsStore(self.connection, self.publisher, bucket, codec)
        await made.open(ttl_seconds=ttl_seconds)
        return made

    def channel(self, service: str) -> KitChannel:
        """The channel to a service, for its generated stub. One per service."""
        channel = self._channels.get(service)
        if channel is None:
            target = getattr(self.settings, f"{service}_target")
            channel = self._channels[service] = open_channel(service, target, self.signer, self.tls)
        return channel

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """A background task of the service: one that fails ends the service, which drains first."""
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            log.error("background_task_failed", task=task.get_name(), exc_info=error)
            self.request_stop(f"background task {task.get_name()} failed")

    def request_stop(self, why: str) -> None:
        """Begins the end of the service; the first reason counts."""
        if not self.stop.done():
            self.stop.set_result(why)

    async def close(self) -> None:
        """Ends background tasks and channels."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for channel in self._channels.values():
            await channel.close()


Build = Callable[[Kit], Awaitable[Service]]


def _span_sink(service: str, settings: CommonSettings) -> SpanSink:
    if not settings.otlp_endpoint:
        return NoSpans()
    # The SDK costs time and memory: only where a collector is set.
    from services.kit.otlp_spans import OtlpSpans

    return OtlpSpans(service, settings.otlp_endpoint)


@asynccontextmanager
async def open_kit(name: str, settings: CommonSettings) -> AsyncGenerator[Kit]:
    """Connects to NATS, makes the shared streams, and drains what an earlier process could not write."""
    if settings.identity_key is None:
        raise SettingsError("HYPERKITTY_IDENTITY_KEY is not set")
    clock = SystemClock()
    signer = Signer(name, load_private_key(settings.identity_key), clock)
    spool = Spool(Path(settings.spool_dir) / f"{name}.spool")
    spool.open()
    connection = NatsConnection(settings.nats_url, read_credentials(settings.nats_credentials), name)
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            await connection.connect()
            publisher = AckPublisher(connection)
            await publisher.start()
            event_log = NatsEventLog(connection, publisher)
            await event_log.open(max_events=settings.events_max_count or -1)
            operations = NatsStore(connection, publisher, "operations", proto_codec(Operation))
            await operations.open(ttl_seconds=_OPERATIONS_SECONDS)
            artifacts = NatsArtifacts(connection, publisher, clock)
            if name in ("browser", "gateway"):
                await artifacts.open()
        recorder = Recorder(name, event_log, operations, spool, lambda: connection.is_connected)
        tls = Tls.read(settings.tls_dir)
        kit = Kit(name, settings, clock, connection, publisher, event_log, artifacts, signer, recorder, tls)
        record.install(recorder)
        connection.on_restored(recorder.wake)
        kit.spawn(recorder.drain_for_ever(), "spool")
        kit.spawn(_watch_connection(kit), "nats")
        await _drain_spool(recorder)
        try:
            yield kit
        finally:
            await recorder.finish()
            await kit.close()
    finally:
        await connection.close()


async def _watch_connection(kit: Kit) -> None:
    """A connection that ended for good (the credential was refused) ends the process: the supervisor starts it anew."""
    await kit.connection.broken.wait()
    kit.request_stop("the connection to NATS ended")


async def _drain_spool(recorder: Recorder) -> None:
    """Waits a little for the spool to be empty, so that a restart does not begin by refusing."""
    try:
        async with asyncio.timeout(_DRAIN_SPOOL_SECONDS):
            await recorder.drained()
    except TimeoutError:
        log.warning("spool_not_drained", items=recorder.spooled)


async def serve(name: str, build: Build, settings: CommonSettings) -> int:
    """Runs a service until it is asked to stop; returns the exit code."""
    async with AsyncExitStack() as stack:
        kit = await stack.enter_async_context(open_kit(name, settings))
        _on_signals(kit)
        service = await build(kit)
        target = getattr(settings, f"{name}_target", "")
        listen = settings.listen or default_listen(target)
        metrics = settings.metrics_listen or f"unix:{settings.runtime_dir}/{name}.metrics.sock"
        idempotent = await kit.store("idempotency", struct_codec(FirstCall), KEPT_SECONDS)
        spans = _span_sink(name, settings)
        stack.push_async_callback(asyncio.to_thread, spans.close)
        around = Surroundings(
            Verifier(name, PublicKeys(settings.identity_keys), kit.clock),
            kit.recorder,
            kit.clock,
            IdempotencyKeys(name, idempotent, kit.clock),
            spans,
        )
        status = StatusServicer(name, service.status, lambda: kit.recorder.spooled)
        server = Server([*service.servicers, (add_ServiceStatusServiceServicer_to_server, status)], around)
        await server.start(listen, kit.tls)
        await stack.enter_async_context(serve_metrics(metrics))
        if service.ready is not None:
            await service.ready()
        if service.settles:
            records = await kit.store("operations", proto_codec(Operation), _OPERATIONS_SECONDS)
            await Interrupted(name, kit.event_log, records, kit.recorder, kit.clock).settle(service.settles)
        await record.emit("service.started", data={"service": name})
        await server.serve()
        log.info("service_ready", listen=listen)
        why = await kit.stop
        await _stop(kit, server, service, why)
        return 0 if why.startswith("signal") else _EXIT_FAILED


def _on_signals(kit: Kit) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, kit.request_stop, f"signal {number.name}")


async def _stop(kit: Kit, server: Server, service: Service, why: str) -> None:
    log.info("service_stopping", reason=why)
    await server.refuse_new()
    await record.emit("service.stopping", data={"service": kit.name, "reason": why})
    await server.drain(kit.settings.drain_ms / 1000)
    if service.drain is not None:
        await service.drain()
    log.info("service_stopped")


def main(name: str, build: Build) -> None:
    """Runs the service as this process. Bad settings: exit 2; a failure: exit 1; asked to stop: exit 0."""
    try:
        settings = load(CommonSettings)
        logs.configure(name, settings.log_level)
        code = uvloop.run(serve(name, build, settings))
    except (SettingsError, KeyUnreadable, CredentialsUnreadable) as error:
        config.refuse_to_start(SettingsError(str(error)))
    except (TimeoutError, StreamUnavailable) as error:
        log.error("service_could_not_start", reason=f"{type(error).__name__}: {error}")
        code = _EXIT_FAILED
    except Exception as error:
        log.error("service_failed", exc_info=error)
        code = _EXIT_FAILED
    sys.exit(code)
