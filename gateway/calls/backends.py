"""Calling the services: one channel for each process, one callable for each rpc, both made once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import TypeAlias, cast

import grpc
from google.protobuf.message import Message
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity

from gateway.contract import Rpc
from services.kit import errors
from services.kit.clients import KitChannel
from services.kit.identity import calling_as

ChannelOf: TypeAlias = Callable[[str], KitChannel]
"""Kit's channel to a process, by its name: signs identities, reconnects."""

Unary: TypeAlias = "grpc.aio.UnaryUnaryCall[Message, Message]"
Stream: TypeAlias = "grpc.aio.UnaryStreamCall[Message, Message] | grpc.aio.StreamStreamCall[Message, Message]"

Metadata: TypeAlias = "tuple[tuple[str, str | bytes], ...]"

# A service that is being started again is waited for (SPEC §4); one that has been away for longer is not.
RESTART_SECONDS = 5.0
# The longest pause between two attempts to connect (kit's channels: 0.5 s and some chance): whoever waits as long
# finds a service that is back.
_CONNECT_SECONDS = 0.7


class Backend:
    """One process: its channel, and for how long it has been away."""

    def __init__(self, process: str, channel: KitChannel) -> None:
        self.process = process
        self.channel = channel
        self._away_since: float | None = None

    async def connected(self, seconds: float) -> None:
        """Returns when the process can be called; waits at most `seconds`. Raises Refusal unavailable.

        Together the callers wait until the process has been away for 5 s; later ones are refused at once.
        """
        state = self.channel.get_state(try_to_connect=True)
        if state is grpc.ChannelConnectivity.READY:
            self._away_since = None
            return
        now = time.monotonic()
        if self._away_since is None:
            self._away_since = now
        patience = max(_CONNECT_SECONDS, self._away_since + RESTART_SECONDS - now)
        try:
            async with asyncio.timeout(min(seconds, patience)):
                while state is not grpc.ChannelConnectivity.READY:
                    await self.channel.wait_for_state_change(state)
                    state = self.channel.get_state(try_to_connect=True)
        except TimeoutError:
            raise errors.unavailable(f"the {self.process} service does not answer") from None
        self._away_since = None

    def metadata(self, caller: CallerIdentity, extra: Metadata) -> Metadata:
        """A call's whole metadata: the signed identity, ids, trace."""
        with calling_as(caller):
            return self.channel.caller.metadata(extra)


class Backends:
    """Starts calls as their caller. What they end with is gRPC's own error, which `failures` reads."""

    def __init__(self, channel_of: ChannelOf) -> None:
        self._channel_of = channel_of
        self._backends: dict[str, Backend] = {}
        self._unary: dict[str, Callable[..., Unary]] = {}
        self._stream: dict[str, Callable[..., Stream]] = {}

    def backend(self, process: str) -> Backend:
        """A process, by its name."""
        backend = self._backends.get(process)
        if backend is None:
            backend = self._backends[process] = Backend(process, self._channel_of(process))
        return backend

    async def unary(self, rpc: Rpc, caller: CallerIdentity, request: Message, seconds: float, extra: Metadata) -> Unary:
        """Starts a call with one answer; `seconds` is its whole deadline. Raises Refusal unavailable."""
        backend = self.backend(rpc.process)
        started = time.monotonic()
        await backend.connected(seconds)
        start = self._unary.get(rpc.path)
        if start is None:
            made = backend.channel.raw.unary_unary(
                rpc.path,
                request_serializer=rpc.request_class.SerializeToString,
                response_deserializer=rpc.response_class.FromString,
            )
            start = self._unary[rpc.path] = cast("Callable[..., Unary]", made)
        left = max(0.0, seconds - (time.monotonic() - started))
        return start(request, timeout=left, metadata=backend.metadata(caller, extra))

    async def stream(
        self,
        rpc: Rpc,
        caller: CallerIdentity,
        request: Message | AsyncIterator[Message],
        seconds: float | None,
        extra: Metadata,
    ) -> Stream:
        """Starts a call with many answers; without `seconds` it lasts until one side ends it. Raises Refusal."""
        backend = self.backend(rpc.process)
        await backend.connected(RESTART_SECONDS if seconds is None else seconds)
        start = self._stream.get(rpc.path)
        if start is None:
            raw = backend.channel.raw
            make = raw.stream_stream if rpc.client_streaming else raw.unary_stream
            made = make(
                rpc.path,
                request_serializer=rpc.request_class.SerializeToString,
                response_deserializer=rpc.response_class.FromString,
            )
            start = self._stream[rpc.path] = cast("Callable[..., Stream]", made)
        return start(request, timeout=seconds, metadata=backend.metadata(caller, extra))


async def messages(stream: Stream) -> AsyncIterator[Message]:
    """What a stream brings, to its end. Raises AioRpcError. (gRPC allows either `read` or iteration on one call.)"""
    while isinstance(message := await stream.read(), Message):
        yield message
