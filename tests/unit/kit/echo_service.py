"""A tiny service with all four kinds of rpc, its contract made here, and everything that serving it needs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message_factory import GetMessageClass
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.buf.validate import validate_pb2
from hyperkitty.operations.v1.operations_pb2 import Operation
from hyperkitty.options.v1 import options_pb2

from services.kit import record
from services.kit.clients import KitChannel, open_channel
from services.kit.clock import SystemClock
from services.kit.idempotency import FirstCall, IdempotencyKeys
from services.kit.identity import PublicKeys, Signer, Verifier
from services.kit.interceptor import Surroundings
from services.kit.memory_events import MemoryEventLog
from services.kit.memory_store import MemoryStore
from services.kit.recorder import Recorder
from services.kit.serving import Server
from services.kit.spool import Spool
from services.kit.store import proto_codec, struct_codec

PACKAGE = "hyperkitty.echo.v1"
SERVICE = f"{PACKAGE}.EchoService"


def _contract() -> Any:
    """Descriptors of EchoService, as protoc would make them."""
    file = descriptor_pb2.FileDescriptorProto(
        name="hyperkitty/echo/v1/echo.proto",
        package=PACKAGE,
        syntax="proto3",
        dependency=["hyperkitty/options/v1/options.proto", "buf/validate/validate.proto"],
    )
    for name in ("EchoRequest", "EchoResponse"):
        message = file.message_type.add(name=name)
        text = message.field.add(name="text", number=1, type=9, label=1)
        if name == "EchoRequest":
            rules: Any = text.options.Extensions
            rules[validate_pb2.field].string.max_len = 10
    service = file.service.add(name="EchoService")
    kinds = {"Unary": (0, 0, 1), "Read": (0, 0, 0), "Expand": (0, 1, 0), "Collect": (1, 0, 1), "Talk": (1, 1, 0)}
    kinds["Act"] = (0, 1, 1)
    for name, (takes_stream, gives_stream, is_operation) in kinds.items():
        method = service.method.add(
            name=name,
            input_type=f".{PACKAGE}.EchoRequest",
            output_type=f".{PACKAGE}.EchoResponse",
            client_streaming=bool(takes_stream),
            server_streaming=bool(gives_stream),
        )
        options = method.options.Extensions[options_pb2.method]
        options.scope = options_pb2.SCOPE_SERVICE
        options.operation = bool(is_operation)
        if name == "Unary":
            options.callers.append("agent")
        if name == "Read":
            options.system_callers.append("health")
    return descriptor_pool.Default().AddSerializedFile(file.SerializeToString()) or file


_contract()
_POOL = descriptor_pool.Default()
Request: Any = GetMessageClass(_POOL.FindMessageTypeByName(f"{PACKAGE}.EchoRequest"))
Response: Any = GetMessageClass(_POOL.FindMessageTypeByName(f"{PACKAGE}.EchoResponse"))


class EchoServicer:
    """Plain async methods; tests replace `work` to see what happens."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.entered = asyncio.Event()

    async def work(self, text: str) -> str:
        return text

    async def Unary(self, request: Any, context: Any) -> Any:
        self.calls.append(request.text)
        self.entered.set()
        return Response(text=await self.work(request.text))

    async def Read(self, request: Any, context: Any) -> Any:
        self.calls.append(request.text)
        self.entered.set()
        return Response(text=await self.work(request.text))

    async def Expand(self, request: Any, context: Any) -> AsyncIterator[Any]:
        for character in request.text:
            self.entered.set()
            yield Response(text=await self.work(character))

    async def Act(self, request: Any, context: Any) -> AsyncIterator[Any]:
        async for response in self.Expand(request, context):
            yield response

    async def Collect(self, requests: Any, context: Any) -> Any:
        return Response(text="+".join([await self.work(request.text) async for request in requests]))

    async def Talk(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            yield Response(text=(await self.work(request.text)).upper())


def add_echo(servicer: Any, server: Any) -> None:
    """What grpcio-tools would generate."""
    shape = {"request_deserializer": Request.FromString, "response_serializer": Response.SerializeToString}
    handlers = {
        "Unary": grpc.unary_unary_rpc_method_handler(servicer.Unary, **shape),
        "Read": grpc.unary_unary_rpc_method_handler(servicer.Read, **shape),
        "Expand": grpc.unary_stream_rpc_method_handler(servicer.Expand, **shape),
        "Act": grpc.unary_stream_rpc_method_handler(servicer.Act, **shape),
        "Collect": grpc.stream_unary_rpc_method_handler(servicer.Collect, **shape),
        "Talk": grpc.stream_stream_rpc_method_handler(servicer.Talk, **shape),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))


class EchoStub:
    """What grpcio-tools would generate."""

    def __init__(self, channel: Any) -> None:
        shape = {"request_serializer": Request.SerializeToString, "response_deserializer": Response.FromString}
        self.Unary = channel.unary_unary(f"/{SERVICE}/Unary", **shape)
        self.Read = channel.unary_unary(f"/{SERVICE}/Read", **shape)
        self.Expand = channel.unary_stream(f"/{SERVICE}/Expand", **shape)
        self.Act = channel.unary_stream(f"/{SERVICE}/Act", **shape)
        self.Collect = channel.stream_unary(f"/{SERVICE}/Collect", **shape)
        self.Talk = channel.stream_stream(f"/{SERVICE}/Talk", **shape)


def caller(**fields: Any) -> CallerIdentity:
    """A person's identity with root scope."""
    identity = CallerIdentity(tenant="default", token_id="tok_1", scopes=TokenScopes(root=True))
    identity.MergeFrom(CallerIdentity(**fields))
    return identity


def keys_in(directory: Path, *services: str) -> dict[str, Ed25519PrivateKey]:
    """A key for each service, the public halves in the directory."""
    directory.mkdir(exist_ok=True)
    made = {service: Ed25519PrivateKey.generate() for service in services}
    for service, key in made.items():
        pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (directory / f"{service}.pub").write_bytes(pem)
    return made


@dataclass
class Echo:
    """A running service and a way to call it."""

    target: str
    server: Server
    around: Surroundings
    servicer: EchoServicer
    event_log: MemoryEventLog
    operations: MemoryStore[Operation]
    recorder: Recorder
    spool: Spool
    keys: dict[str, Ed25519PrivateKey]
    channels: list[KitChannel] = field(default_factory=list[KitChannel])

    def stub(self, signer: str = "gateway", key: Ed25519PrivateKey | None = None, service: str = "echo") -> EchoStub:
        made = open_channel(service, self.target, Signer(signer, key or self.keys[signer], SystemClock()))
        self.channels.append(made)
        return EchoStub(made)

    async def record_of(self, operation_id: str) -> Operation:
        entry = await self.operations.get(f"echo.{operation_id}")
        assert entry is not None
        return entry.value

    def log(self) -> list[str]:
        return [event.category for event in self.event_log.events]


@asynccontextmanager
async def running_echo(directory: Path, name: str = "echo.sock") -> AsyncGenerator[Echo]:
    """Serves EchoService on a Unix socket, over memory."""
    clock, event_log, operations = SystemClock(), MemoryEventLog(), MemoryStore(proto_codec(Operation))
    keys = keys_in(directory / "keys", "gateway", "agent", "health", "echo")
    spool = Spool(directory / "echo.spool")
    spool.open()
    recorder = Recorder("echo", event_log, operations, spool)
    record.install(recorder)
    draining = asyncio.create_task(recorder.drain_for_ever())
    around = Surroundings(
        Verifier("echo", PublicKeys(directory / "keys"), clock),
        recorder,
        clock,
        IdempotencyKeys("echo", MemoryStore(struct_codec(FirstCall)), clock),
    )
    servicer = EchoServicer()
    server = Server([(add_echo, servicer)], around)
    target = f"unix:{directory}/run/{name}"
    await server.start(target)
    await server.serve()
    echo = Echo(target, server, around, servicer, event_log, operations, recorder, spool, keys)
    try:
        yield echo
    finally:
        for channel in echo.channels:
            await channel.close()
        await server.drain(1.0)
        draining.cancel()
        await asyncio.gather(draining, return_exceptions=True)
        record.install(None)
