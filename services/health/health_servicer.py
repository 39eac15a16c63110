"""HealthService: asks every part at once and answers within 2 s, whatever is down."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import grpc
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.health.v1 import health_service_pb2 as pb
from hyperkitty.health.v1.health_service_pb2_grpc import HealthServiceServicer

from services.health import bus, parts, report, restarts
from services.kit.clock import Clock
from services.kit.event_log import EventLog
from services.kit.identity import current_identity, is_system
from services.kit.status import VERSION


def tenant_seen(identity: CallerIdentity) -> str:
    """The tenant that a caller sees; "" for all, which root and the services do."""
    return "" if identity.scopes.root or is_system(identity) else identity.tenant


class HealthServicer(HealthServiceServicer):
    """`channels` by service name."""

    def __init__(
        self, channels: Mapping[str, grpc.aio.Channel], event_log: EventLog, runtime_dir: Path, clock: Clock
    ) -> None:
        self._channels = channels
        self._event_log = event_log
        self._runtime_dir = runtime_dir
        self._clock = clock

    async def GetHealth(self, request: pb.GetHealthRequest, context: object) -> pb.GetHealthResponse:
        tenant = tenant_seen(current_identity())
        services, bus_health, events = await asyncio.gather(
            asyncio.gather(*(parts.ask(name, channel) for name, channel in self._channels.items())),
            bus.ask(self._event_log, self._clock),
            bus.newest_events(self._event_log, tenant),
        )
        counted = restarts.read(self._runtime_dir)
        for service in services:
            service.restarts = counted.get(service.name, 0)
        return pb.GetHealthResponse(
            report=report.put_together(services, bus_health, events, self._clock.now_ms(), VERSION)
        )
