"""The only place that builds a gRPC server: health, reflection, the interceptor, draining (DESIGN §4)."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from services.kit.config import SettingsError
from services.kit.interceptor import KitInterceptor, Surroundings
from services.kit.methods import MethodFacts, methods_of
from services.kit.transport import COMMON_OPTIONS, Tls, prepare

# Calls at a time; more are refused with resource_exhausted by gRPC itself.
MOST_CALLS = 2_000

# grpc.health.v1.HealthCheckResponse.ServingStatus; the package ships no types.
_SERVING, _NOT_SERVING = 1, 2

# A generated `add_…Servicer_to_server` with the servicer it adds; its types differ by service.
Servicer = tuple[Callable[[Any, Any], None], object]


class _Names:
    """Stands in for a server to learn which services a generated function would add."""

    def __init__(self) -> None:
        self.services: list[str] = []

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        self.services += [handler.service_name() for handler in handlers]

    def __getattr__(self, name: str) -> Callable[..., None]:
        """What else generated code calls tells nothing new."""
        return lambda *_: None


def service_names(servicers: Sequence[Servicer]) -> list[str]:
    """Full names of the services that these servicers serve."""
    names = _Names()
    for add, servicer in servicers:
        add(servicer, names)
    return names.services


class Server:
    """A gRPC server that says when it is ready and ends gracefully.

    Without `around` nothing is checked here: the gateway's front, whose handlers check tokens themselves.
    """

    def __init__(self, servicers: Sequence[Servicer], around: Surroundings | None) -> None:
        self._around = around
        self._names = service_names(servicers)
        methods: dict[str, MethodFacts] = {}
        for name in self._names:
            methods.update({method.path: method for method in methods_of(name)})
        self._server = grpc.aio.server(
            interceptors=[KitInterceptor(around, methods)] if around is not None else [],
            options=[
                *COMMON_OPTIONS,
                ("grpc.so_reuseport", 0),
                ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
            ],
            maximum_concurrent_rpcs=MOST_CALLS,
        )
        for add, servicer in servicers:
            add(servicer, self._server)
        self._health = health.aio.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        open_names = [health.SERVICE_NAME, reflection.SERVICE_NAME]
        reflection.enable_server_reflection([*self._names, *open_names], self._server)

    async def start(self, listen: str, tls: Tls | None = None) -> None:
        """Listens on `unix:<path>` or `host:port`, NOT_SERVING yet. Raises SettingsError."""
        await self._set_health(_NOT_SERVING)
        path = prepare(listen, tls)
        try:
            if tls is not None and path is None:
                self._server.add_secure_port(listen, tls.server())
            else:
                self._server.add_insecure_port(listen)
        except RuntimeError as error:
            raise SettingsError(f"cannot listen on {listen}") from error
        await self._server.start()
        if path is not None:
            path.chmod(0o600)

    async def _set_health(self, status: int) -> None:
        for name in ("", *self._names):
            await self._health.set(name, status)

    async def serve(self, *, announce: bool = True) -> None:
        """SERVING, and the supervisor is told (`announce`)."""
        await self._set_health(_SERVING)
        if announce:
            notify_ready()

    async def refuse_new(self) -> None:
        """NOT_SERVING, for good; calls in flight go on."""
        await self._health.enter_graceful_shutdown()

    async def drain(self, grace: float) -> None:
        """Takes no new calls, ends endless streams, waits up to `grace` seconds for the rest, cancels them then."""
        if self._around is not None:
            self._around.drain()
        await self._server.stop(grace)


def notify_ready() -> None:
    """Tells the supervisor that waits on $NOTIFY_SOCKET (sd_notify(3)); nothing where nobody waits."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    target = "\0" + address[1:] if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
        try:
            channel.sendto(b"READY=1", target)
        except OSError:
            # The supervisor is gone or does not listen: serving goes on without it.
            return


def default_listen(target: str) -> str:
    """What a service listens on when nothing else is set: its own target."""
    return target.removeprefix("ipv4:").removeprefix("dns:///")
