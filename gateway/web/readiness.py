"""Whether the services answer, asked when somebody asks (grpc.health.v1)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import grpc
from grpc_health.v1 import health_pb2

from gateway.calls.backends import Backends

_SECONDS = 1.0
_CHECK = "/grpc.health.v1.Health/Check"


class Readiness:
    """Asks every process at once; one that does not answer in 1 s is down."""

    def __init__(self, backends: Backends, processes: Iterable[str]) -> None:
        self._backends = backends
        self._processes = sorted(set(processes))

    async def ask(self) -> dict[str, bool]:
        """Process → whether it serves."""
        answers = await asyncio.gather(*(self._serves(process) for process in self._processes))
        return dict(zip(self._processes, answers, strict=True))

    async def _serves(self, process: str) -> bool:
        check = self._backends.backend(process).channel.raw.unary_unary(
            _CHECK,
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        try:
            answer = await check(health_pb2.HealthCheckRequest(), timeout=_SECONDS)
        except grpc.aio.AioRpcError:
            return False
        return answer.status == health_pb2.HealthCheckResponse.SERVING
