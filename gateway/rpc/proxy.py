"""The gRPC front: passes every rpc of the contract on as bytes, in the name of whoever shows a token."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import grpc
from google.protobuf.message import DecodeError, Message
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from gateway.access.door import Door
from gateway.calls.backends import RESTART_SECONDS, Backend, Backends, Metadata
from gateway.calls.deadlines import deadline_of
from gateway.calls.failures import refusal_of
from gateway.contract import Rpc
from services.kit import errors, logs, telemetry
from services.kit.calls import IDEMPOTENCY_KEY, REQUEST_ID, REQUEST_ID_KEY, TRACE_KEY, mint_request_id
from services.kit.errors import DETAILS_KEY, Refusal
from services.kit.serving import Servicer

AUTHORIZATION_KEY = "authorization"

# gRPC hands contexts, calls and handlers around without types; requests and responses here are bytes.
Context: TypeAlias = Any
Call: TypeAlias = Any


def proxied(rpcs: Iterable[Rpc], door: Door, backends: Backends) -> list[Servicer]:
    """Servicers of every service of the contract, for kit's server."""
    services: dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]] = {}
    for rpc in rpcs:
        handlers = services.setdefault(rpc.method.containing_service.full_name, {})
        handlers[rpc.method.name] = _handler(_Forward(rpc, door, backends))
    return [(_adder(name, handlers), None) for name, handlers in services.items()]


def _adder(name: str, handlers: dict[str, grpc.RpcMethodHandler[Any, Any]]) -> Callable[[Any, Any], None]:
    def add(_: object, server: Any) -> None:
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))

    return add


def _handler(forward: _Forward) -> grpc.RpcMethodHandler[Any, Any]:
    if forward.rpc.server_streaming:
        stream = forward.stream
        if forward.rpc.client_streaming:
            return grpc.stream_stream_rpc_method_handler(cast("Any", stream))
        return grpc.unary_stream_rpc_method_handler(cast("Any", stream))
    if forward.rpc.client_streaming:
        return grpc.stream_unary_rpc_method_handler(cast("Any", forward.single))
    return grpc.unary_unary_rpc_method_handler(cast("Any", forward.single))


@dataclass(frozen=True, slots=True)
class _Admitted:
    """A call that may go on: as whom, with which metadata, for how long (None: until one side ends it)."""

    caller: CallerIdentity
    extra: Metadata
    seconds: float | None


class _Passage:
    """One call as the front sees it."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._begun = False
        self.given = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
        given = self.given.get(REQUEST_ID_KEY, "")
        self.request_id = given if REQUEST_ID.fullmatch(given) else mint_request_id()
        logs.bind(request_id=self.request_id)
        parent = telemetry.Trace.parse(self.given.get(TRACE_KEY, ""))
        telemetry.current_trace.set(telemetry.Trace.begin() if parent is None else parent.child())

    @property
    def source(self) -> str:
        """The caller's address, of gRPC's `ipv4:127.0.0.1:4711`."""
        peer = cast("str", self.context.peer())
        return peer.partition(":")[2].rpartition(":")[0].strip("[]") or peer

    async def begin(self, metadata: Iterable[tuple[str, str | bytes]] | None) -> None:
        """Sends the service's initial metadata, once; the request's id is always among them."""
        if self._begun:
            return
        self._begun = True
        sent = tuple(metadata or ())
        if all(key != REQUEST_ID_KEY for key, _ in sent):
            sent = (*sent, (REQUEST_ID_KEY, self.request_id))
        await self.context.send_initial_metadata(sent)

    async def refuse(self, refusal: Refusal) -> bytes:
        """Ends the call with a refusal of the gateway's; does not return."""
        await self.begin(None)
        status = errors.to_status(refusal)
        details = ((DETAILS_KEY, status.SerializeToString()),)
        return await self.context.abort(errors.grpc_status(refusal.code), status.message, details)


class _Forward:
    """One rpc on its way through."""

    def __init__(self, rpc: Rpc, door: Door, backends: Backends) -> None:
        self.rpc = rpc
        self._door = door
        self._backends = backends
        self._deadline = deadline_of(rpc)
        self._start: Callable[..., Call] | None = None

    async def single(self, request: Any, context: Context) -> bytes:
        """An rpc with one response."""
        passage = _Passage(context)
        try:
            admitted = await self._admit(request, passage)
            async with self._door.lease(admitted.caller):
                call = await self._call(request, admitted)
                try:
                    await passage.begin(await call.initial_metadata())
                    response = cast("bytes", await call)
                    context.set_trailing_metadata(tuple(await call.trailing_metadata()))
                    return response
                finally:
                    call.cancel()
        except grpc.aio.AioRpcError as error:
            return await self._pass_on(error, passage)
        except Refusal as refusal:
            return await passage.refuse(refusal)

    async def stream(self, request: Any, context: Context) -> AsyncIterator[bytes]:
        """An rpc with many responses."""
        passage = _Passage(context)
        try:
            admitted = await self._admit(request, passage)
            async with self._door.lease(admitted.caller):
                call = await self._call(request, admitted)
                try:
                    await passage.begin(await call.initial_metadata())
                    while (response := await call.read()) is not grpc.aio.EOF:
                        yield cast("bytes", response)
                    context.set_trailing_metadata(tuple(await call.trailing_metadata()))
                finally:
                    call.cancel()
        except grpc.aio.AioRpcError as error:
            await self._pass_on(error, passage)
        except Refusal as refusal:
            await passage.refuse(refusal)

    async def _admit(self, request: Any, passage: _Passage) -> _Admitted:
        """Who is calling, whether it may, and for how long. Raises Refusal."""
        try:
            caller = self._door.caller(passage.given.get(AUTHORIZATION_KEY))
            message = None if self.rpc.client_streaming else self._parse(request)
            caller = self._door.check(self.rpc, caller, message)
        except Refusal as refusal:
            self._door.note(refusal, source=passage.source, request_id=passage.request_id, what=self.rpc.name)
            raise
        extra: Metadata = ((REQUEST_ID_KEY, passage.request_id),)
        key = passage.given.get(IDEMPOTENCY_KEY)
        if key is not None and self.rpc.answers_secret:
            raise Refusal(
                ErrorCode.ERROR_CODE_INVALID_ARGUMENTS,
                "the answer holds a secret, of which nothing is kept: send no idempotency-key",
            )
        if key is not None and self.rpc.options.operation:
            extra = (*extra, (IDEMPOTENCY_KEY, key))
        return _Admitted(caller, extra, self._seconds(passage.context, message))

    def _parse(self, request: bytes) -> Message:
        message = self.rpc.request_class()
        try:
            message.ParseFromString(request)
        except DecodeError:
            problem = f"the request is no {self.rpc.method.input_type.name}"
            raise Refusal(ErrorCode.ERROR_CODE_INVALID_ARGUMENTS, problem) from None
        return message

    def _seconds(self, context: Context, message: Message | None) -> float | None:
        """What is left of the caller's deadline; the contract's default where a single answer has none."""
        remaining = cast("float | None", context.time_remaining())
        if remaining is not None or message is None or self.rpc.server_streaming:
            return remaining
        return self._deadline(message)

    async def _call(self, request: Any, admitted: _Admitted) -> Call:
        backend = self._backends.backend(self.rpc.process)
        seconds = admitted.seconds
        began = time.monotonic()
        await backend.connected(RESTART_SECONDS if seconds is None else seconds)
        if self._start is None:
            self._start = self._multicallable(backend)
        left = None if seconds is None else max(0.0, seconds - (time.monotonic() - began))
        return self._start(request, timeout=left, metadata=backend.metadata(admitted.caller, admitted.extra))

    def _multicallable(self, backend: Backend) -> Callable[..., Call]:
        raw: Any = backend.channel.raw
        kinds = {
            (False, False): raw.unary_unary,
            (False, True): raw.unary_stream,
            (True, False): raw.stream_unary,
            (True, True): raw.stream_stream,
        }
        return kinds[self.rpc.client_streaming, self.rpc.server_streaming](self.rpc.path)

    async def _pass_on(self, error: grpc.aio.AioRpcError, passage: _Passage) -> bytes:
        """Ends with the service's own status and details; with ours where gRPC made it, whose text names sockets."""
        trailing = tuple(error.trailing_metadata() or ())
        await passage.begin(error.initial_metadata())
        if not any(key == DETAILS_KEY for key, _ in trailing):
            return await passage.refuse(refusal_of(error, self.rpc))
        return await passage.context.abort(error.code(), error.details() or "", trailing)
