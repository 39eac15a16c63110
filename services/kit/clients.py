"""The only place that builds a gRPC channel: deadline, identity, ids and trace on every call; refusals come back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Sequence
from typing import Any

import grpc

from services.kit import telemetry
from services.kit.calls import OPERATION_ID_KEY, REQUEST_ID_KEY, TRACE_KEY, current_request_id, mint_request_id
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal, from_rpc_error, unavailable
from services.kit.identity import METADATA_KEY, Signer, outgoing_identity, system_identity
from services.kit.methods import MethodFacts, NotInContract, methods_of
from services.kit.operations import operation_or_none
from services.kit.telemetry import Trace
from services.kit.transport import COMMON_OPTIONS, Tls

# How long a call waits for a service that is being started again (SPEC §4).
WAIT_SECONDS = 5.0

_BACKOFF = [
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
]


def _service_config(methods: Sequence[MethodFacts]) -> str:
    """Round robin over a target's addresses; reads, which change nothing, are tried again."""
    reads = [method for method in methods if not method.is_operation and not method.streams_requests]
    names = [dict(zip(("service", "method"), method.path[1:].split("/"), strict=True)) for method in reads]
    retry = {
        "maxAttempts": 4,
        "initialBackoff": "0.05s",
        "maxBackoff": "0.5s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"],
    }
    config: dict[str, object] = {"loadBalancingConfig": [{"round_robin": {}}]}
    if names:
        config["methodConfig"] = [{"name": names, "retryPolicy": retry}]
    return json.dumps(config)


class Caller:
    """What a channel puts on every call."""

    def __init__(self, service: str, signer: Signer) -> None:
        self.service = service
        self._signer = signer
        self._own = system_identity(signer.service)

    def metadata(self, extra: Iterable[tuple[str, str | bytes]] | None) -> tuple[tuple[str, str | bytes], ...]:
        """The call's metadata; what the caller passed itself comes first."""
        operation, trace = operation_or_none(), telemetry.current_trace.get()
        given = tuple(extra or ())
        keys = {key for key, _ in given}
        own: list[tuple[str, str | bytes]] = [
            (METADATA_KEY, self._signer.sign(outgoing_identity() or self._own, self.service)),
            (TRACE_KEY, str(trace or Trace.begin())),
        ]
        if REQUEST_ID_KEY not in keys:
            own.append((REQUEST_ID_KEY, current_request_id.get() or mint_request_id()))
        if operation is not None and OPERATION_ID_KEY not in keys:
            own.append((OPERATION_ID_KEY, operation.operation_id))
        return (*given, *own)

    async def ready(self, channel: grpc.aio.Channel) -> None:
        """Returns when the channel is connected; waits up to 5 s for a service that is away. Raises Refusal."""
        state = channel.get_state(try_to_connect=True)
        if state == grpc.ChannelConnectivity.READY:
            return
        try:
            async with asyncio.timeout(min(WAIT_SECONDS, current_budget().remaining())):
                while state != grpc.ChannelConnectivity.READY:
                    await channel.wait_for_state_change(state)
                    state = channel.get_state(try_to_connect=True)
        except TimeoutError:
            raise unavailable(f"the {self.service} service does not answer") from None

    def refusal(self, error: grpc.aio.AioRpcError) -> Refusal:
        return from_rpc_error(error, self.service)


class _Call:
    """A call under way. Awaiting it, or iterating over it, raises Refusal instead of gRPC's own error."""

    def __init__(self, caller: Caller, start: Callable[[], Any], channel: grpc.aio.Channel) -> None:
        self._caller = caller
        self._start = start
        self._channel = channel
        self._call: Any = None
        self._starting: asyncio.Future[Any] | None = None

    async def _begin(self) -> Any:
        await self._caller.ready(self._channel)
        self._call = self._start()
        return self._call

    async def started(self) -> Any:
        """gRPC's own call, once the channel is connected."""
        if self._call is not None:
            return self._call
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._begin())
        return await self._starting

    async def initial_metadata(self) -> Any:
        try:
            return await (await self.started()).initial_metadata()
        except grpc.aio.AioRpcError as error:
            raise self._caller.refusal(error) from None

    async def trailing_metadata(self) -> Any:
        return await (await self.started()).trailing_metadata()

    def cancel(self) -> bool:
        """Ends the call at once."""
        if self._call is not None:
            return self._call.cancel()
        return self._starting is not None and self._starting.cancel()


class UnaryResponseCall(_Call):
    """One response; `await` it."""

    def __await__(self) -> Generator[Any, None, Any]:
        return self._respond().__await__()

    async def _respond(self) -> Any:
        # Already connected, as nearly always: no further task is needed.
        if self._starting is None and self._call is None:
            await self._begin()
        call = await self.started()
        try:
            return await call
        except grpc.aio.AioRpcError as error:
            raise self._caller.refusal(error) from None

    async def write(self, request: Any) -> None:
        """Sends a request of a request stream."""
        try:
            await (await self.started()).write(request)
        except grpc.aio.AioRpcError as error:
            raise self._caller.refusal(error) from None

    async def done_writing(self) -> None:
        await (await self.started()).done_writing()


class StreamResponseCall(UnaryResponseCall):
    """A stream of responses; iterate over it or `read`."""

    def __await__(self) -> Generator[Any, None, Any]:
        raise TypeError("a stream is iterated over, not awaited")

    async def __aiter__(self) -> AsyncIterator[Any]:
        call = await self.started()
        try:
            async for response in call:
                yield response
        except grpc.aio.AioRpcError as error:
            raise self._caller.refusal(error) from None
        finally:
            call.cancel()

    async def read(self) -> Any:
        """The next response, or grpc.aio.EOF."""
        try:
            return await (await self.started()).read()
        except grpc.aio.AioRpcError as error:
            raise self._caller.refusal(error) from None


class _Method:
    """Callable as a generated stub expects; a deadline is the budget's, or `timeout` where that is sooner."""

    def __init__(self, channel: KitChannel, inner: Any, *, streams_requests: bool, streams_responses: bool) -> None:
        self._channel = channel
        self._inner = inner
        self._streams_requests = streams_requests
        self._endless = streams_responses or streams_requests
        self._make = StreamResponseCall if streams_responses else UnaryResponseCall

    def __call__(self, request: Any = None, *, timeout: float | None = None, metadata: Any = None, **_: Any) -> _Call:
        caller = self._channel.caller
        sent = caller.metadata(metadata)
        budget = current_budget()

        def start() -> Any:
            left = None if self._endless and timeout is None else budget.remaining()
            deadline = left if timeout is None else timeout if left is None else min(timeout, left)
            return self._inner(request, timeout=deadline, metadata=sent)

        return self._make(caller, start, self._channel.raw)


class KitChannel(grpc.aio.Channel):
    """A channel for generated stubs."""

    def __init__(self, raw: grpc.aio.Channel, caller: Caller) -> None:
        self.raw = raw
        self.caller = caller

    def unary_unary(self, method: str, *args: Any, **options: Any) -> Any:
        return _Method(
            self, self.raw.unary_unary(method, *args, **options), streams_requests=False, streams_responses=False
        )

    def unary_stream(self, method: str, *args: Any, **options: Any) -> Any:
        return _Method(
            self, self.raw.unary_stream(method, *args, **options), streams_requests=False, streams_responses=True
        )

    def stream_unary(self, method: str, *args: Any, **options: Any) -> Any:
        return _Method(
            self, self.raw.stream_unary(method, *args, **options), streams_requests=True, streams_responses=False
        )

    def stream_stream(self, method: str, *args: Any, **options: Any) -> Any:
        return _Method(
            self, self.raw.stream_stream(method, *args, **options), streams_requests=True, streams_responses=True
        )

    async def close(self, grace: float | None = None) -> None:
        await self.raw.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        return self.raw.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        await self.raw.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self.raw.channel_ready()

    async def __aenter__(self) -> KitChannel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


# The services that a process serves: an area's package and what it holds besides (SPEC §2).
SERVED: dict[str, tuple[str, ...]] = {
    "browser": ("hyperkitty.browser.v1.BrowserService",),
    "agent": ("hyperkitty.agent.v1.AgentService",),
    "search": ("hyperkitty.search.v1.SearchService",),
    "messaging": ("hyperkitty.messaging.v1.MessagingService",),
    "health": (
        "hyperkitty.health.v1.HealthService",
        "hyperkitty.events.v1.EventService",
        "hyperkitty.operations.v1.OperationService",
    ),
}


def _methods(service: str) -> list[MethodFacts]:
    """The methods of a process as far as their descriptors are loaded here: what is not imported is not called."""
    found: list[MethodFacts] = []
    for name in (*SERVED.get(service, ()), "hyperkitty.health.v1.ServiceStatusService"):
        try:
            found += methods_of(name)
        except NotInContract:
            continue
    return found


def open_channel(service: str, target: str, signer: Signer, tls: Tls | None = None) -> KitChannel:
    """A channel to a service; calls on it carry the current identity (`calling_as`), else the service's own."""
    options: list[tuple[str, int | str]] = [
        *COMMON_OPTIONS,
        *_BACKOFF,
        ("grpc.service_config", _service_config(_methods(service))),
        ("grpc.enable_retries", 1),
        # Each channel keeps its own connections: a test may run two systems in one process.
        ("grpc.use_local_subchannel_pool", 1),
    ]
    return KitChannel(raw_channel(target, tls, options), Caller(service, signer))


def raw_channel(target: str, tls: Tls | None, options: list[tuple[str, int | str]]) -> grpc.aio.Channel:
    """A channel of gRPC's own, for what has no identity: health checks."""
    if tls is not None and not target.startswith("unix:"):
        return grpc.aio.secure_channel(target, tls.channel(), options=options)
    return grpc.aio.insecure_channel(target, options=options)
