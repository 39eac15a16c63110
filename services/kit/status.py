"""What a service says of itself to health: every service serves it (SPEC §13)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from hyperkitty.health.v1 import health_pb2, health_service_pb2
from hyperkitty.health.v1.health_service_pb2_grpc import ServiceStatusServiceServicer

VERSION = "0.1.0"


@dataclass(frozen=True)
class OwnStatus:
    """Counts and facts of a service; `degraded` says what is lost, "" for nothing."""

    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    facts: Mapping[str, str] = field(default_factory=dict[str, str])
    degraded: str = ""


Ask = Callable[[], Awaitable[OwnStatus]]


async def nothing_to_tell() -> OwnStatus:
    """For a service without counts of its own."""
    return OwnStatus()


class StatusServicer(ServiceStatusServiceServicer):
    """Answers with the service's own counts and kit's."""

    def __init__(self, name: str, ask: Ask, spooled: Callable[[], int]) -> None:
        self._name = name
        self._ask = ask
        self._spooled = spooled
        self._started = time.monotonic()

    async def GetServiceStatus(
        self, request: health_service_pb2.GetServiceStatusRequest, context: object
    ) -> health_service_pb2.GetServiceStatusResponse:
        del request, context
        own = await self._ask()
        healthy = not own.degraded and self._spooled() == 0
        return health_service_pb2.GetServiceStatusResponse(
            service=health_pb2.ServiceHealth(
                name=self._name,
                status=health_pb2.HEALTH_STATUS_HEALTHY if healthy else health_pb2.HEALTH_STATUS_DEGRADED,
                version=VERSION,
                uptime_ms=round((time.monotonic() - self._started) * 1000),
                detail=own.degraded,
                counts={**own.counts, "spool": self._spooled()},
                facts=dict(own.facts),
            )
        )
