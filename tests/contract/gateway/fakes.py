"""Services that answer as a test says, behind kit's own server: identity, bounds and record are real."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import grpc
from google.protobuf.message import Message
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.operations.v1.operations_pb2 import Operation

from gateway.contract import Rpc
from services.kit import record
from services.kit.clock import SystemClock
from services.kit.identity import PublicKeys, Verifier, current_identity
from services.kit.interceptor import Surroundings
from services.kit.memory_events import MemoryEventLog
from services.kit.memory_store import MemoryStore
from services.kit.recorder import Recorder
from services.kit.serving import Server, Servicer, service_names
from services.kit.spool import Spool
from services.kit.store import proto_codec

Unary = Callable[[Any], Awaitable[Message]]
Streaming = Callable[[Any], AsyncIterator[Message]]


@dataclass
class Seen:
    """A call as it arrived."""

    request: Message | None
    identity: CallerIdentity
    metadata: dict[str, str]
    seconds: float | None


@dataclass
class FakeProcess:
    """One process: every rpc of it answers its empty response unless a test says otherwise."""

    name: str
    rpcs: list[Rpc]
    directory: Path
    keys: Path
    unary: dict[str, Unary] = field(default_factory=dict[str, Unary])
    streams: dict[str, Streaming] = field(default_factory=dict[str, Streaming])
    seen: list[Seen] = field(default_factory=list[Seen])
    cancelled: int = 0
    # Real servicers in place of the fakes of their services.
    servicers: list[Servicer] = field(default_factory=list[Servicer])
    events: MemoryEventLog = field(default_factory=MemoryEventLog)
    _server: Server | None = None

    @property
    def target(self) -> str:
        return f"unix:{self.directory}/{self.name}.sock"

    async def start(self) -> None:
        spool = Spool(self.directory / f"{self.name}.spool")
        spool.open()
        clock = SystemClock()
        recorder = Recorder(self.name, self.events, MemoryStore(proto_codec(Operation)), spool)
        around = Surroundings(Verifier(self.name, PublicKeys(self.keys), clock), recorder, clock)
        services = {rpc.method.containing_service.full_name for rpc in self.rpcs}
        if self.servicers:
            record.install(recorder)
        real = set(service_names(self.servicers))
        fakes: list[Servicer] = [(self._adder(service), None) for service in sorted(services - real)]
        self._server = Server([*self.servicers, *fakes], around)
        await self._server.start(self.target)
        await self._server.serve()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.refuse_new()
            await self._server.drain(0.2)
            self._server = None

    def _adder(self, service: str) -> Callable[[Any, Any], None]:
        handlers = {
            rpc.method.name: self._handler(rpc)
            for rpc in self.rpcs
            if rpc.method.containing_service.full_name == service
        }

        def add(_: object, server: Any) -> None:
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))

        return add

    def _handler(self, rpc: Rpc) -> grpc.RpcMethodHandler[Any, Any]:
        codec: dict[str, Any] = {
            "request_deserializer": rpc.request_class.FromString,
            "response_serializer": cast("Any", rpc.response_class).SerializeToString,
        }

        async def unary(request: Any, context: Any) -> Message:
            self._note(request, context)
            answer = self.unary.get(rpc.method.name)
            try:
                return rpc.response_class() if answer is None else await answer(request)
            except BaseException as error:
                self.cancelled += type(error).__name__ == "CancelledError"
                raise

        async def stream(request: Any, context: Any) -> AsyncIterator[Message]:
            self._note(None if rpc.client_streaming else request, context)
            answer = self.streams.get(rpc.method.name)
            if answer is None:
                return
            try:
                async for message in answer(request):
                    yield message
            except BaseException as error:
                self.cancelled += type(error).__name__ in ("CancelledError", "GeneratorExit")
                raise

        if rpc.client_streaming:
            return grpc.stream_stream_rpc_method_handler(stream, **codec)
        if rpc.server_streaming:
            return grpc.unary_stream_rpc_method_handler(stream, **codec)
        return grpc.unary_unary_rpc_method_handler(unary, **codec)

    def _note(self, request: Message | None, context: Any) -> None:
        metadata = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
        self.seen.append(Seen(request, current_identity(), metadata, context.time_remaining()))
