"""The gRPC front: passes every rpc of the contract on as bytes, in the name of whoever shows a token."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable
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
        try:
            call = await self._begin(request, context)
            try:
                await context.send_initial_metadata(tuple(await call.initial_metadata()))
                response = cast("bytes", await call)
                context.set_trailing_metadata(tuple(await call.trailing_metadata()))
                return response
            finally:
                call.cancel()
        except grpc.aio.AioRpcError as error:
            return await self._pass_on(error, context)
        except Refusal as refusal:
            return await _refuse(refusal, context)

    async def stream(self, request: Any, context: Context) -> AsyncIterator[bytes]:
        """An rpc with many responses."""
        try:
            call = await self._begin(request, context)
            try:
                await context.send_initial_metadata(tuple(await call.initial_metadata()))
                while (response := await call.read()) is not grpc.aio.EOF:
                    yield cast("bytes", response)
                context.set_trailing_metadata(tuple(await call.trailing_metadata()))
            finally:
                call.cancel()
        except grpc.aio.AioRpcError as error:
            await self._pass_on(error, context)
        except Refusal as refusal:
            await _refuse(refusal, context)

    async def _begin(self, request: Any, context: Context) -> Call:
        """Checks the caller, and starts the call to the service. Raises Refusal."""
        given = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
        request_id = given.get(REQUEST_ID_KEY, "")
        if not REQUEST_ID.fullmatch(request_id):
            request_id = mint_request_id()
        logs.bind(request_id=request_id)
        parent = telemetry.Trace.parse(given.get(TRACE_KEY, ""))
        telemetry.current_trace.set(telemetry.Trace.begin() if parent is None else parent.child())
        try:
            caller, message = self._admit(given.get(AUTHORIZATION_KEY), request)
        except Refusal as refusal:
            # What never reaches a service has no ids but this one.
            await context.send_initial_metadata(((REQUEST_ID_KEY, request_id),))
            self._door.note(refusal, source=_source(context), request_id=request_id, what=self.rpc.name)
            raise
        extra: Metadata = ((REQUEST_ID_KEY, request_id),)
        if self.rpc.options.operation and IDEMPOTENCY_KEY in given:
            extra = (*extra, (IDEMPOTENCY_KEY, given[IDEMPOTENCY_KEY]))
        return await self._call(request, caller, extra, self._seconds(context, message))

    def _admit(self, authorization: str | None, request: Any) -> tuple[CallerIdentity, Message | None]:
        """Who is calling; and the request, where it decides. Raises Refusal."""
        caller = self._door.caller(authorization)
        message = None if self.rpc.client_streaming else self._parse(request)
        self._door.check(self.rpc, caller, message)
        return caller, message

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

    async def _call(self, request: Any, caller: CallerIdentity, extra: Metadata, seconds: float | None) -> Call:
        backend = self._backends.backend(self.rpc.process)
        began = time.monotonic()
        await backend.connected(RESTART_SECONDS if seconds is None else seconds)
        if self._start is None:
            self._start = self._multicallable(backend)
        left = None if seconds is None else max(0.0, seconds - (time.monotonic() - began))
        return self._start(request, timeout=left, metadata=backend.metadata(caller, extra))

    def _multicallable(self, backend: Backend) -> Callable[..., Call]:
        raw: Any = backend.channel.raw
        kinds = {
            (False, False): raw.unary_unary,
            (False, True): raw.unary_stream,
            (True, False): raw.stream_unary,
            (True, True): raw.stream_stream,
        }
        return kinds[self.rpc.client_streaming, self.rpc.server_streaming](self.rpc.path)

    async def _pass_on(self, error: grpc.aio.AioRpcError, context: Context) -> bytes:
        """Ends with the service's own status and details; with ours where gRPC made it, whose text names sockets."""
        trailing = tuple(error.trailing_metadata() or ())
        if not any(key == DETAILS_KEY for key, _ in trailing):
            return await _refuse(refusal_of(error, self.rpc), context)
        return await context.abort(error.code(), error.details() or "", trailing)


async def _refuse(refusal: Refusal, context: Context) -> bytes:
    status = errors.to_status(refusal)
    details = ((DETAILS_KEY, status.SerializeToString()),)
    return await context.abort(errors.grpc_status(refusal.code), status.message, details)


def _source(context: Context) -> str:
    """The caller's address, of gRPC's `ipv4:127.0.0.1:4711`."""
    peer = cast("str", context.peer())
    return peer.partition(":")[2].rpartition(":")[0].strip("[]") or peer
