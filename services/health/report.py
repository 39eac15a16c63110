"""The whole report, put together from what each part said (SPEC §13); pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.health.v1.health_pb2 import BusHealth, HealthReport, HealthStatus, ServiceHealth

from services.health.parts import DEGRADED, HEALTHY, UNHEALTHY

# Without these nothing that the product is for works; without another one, something is lost.
ESSENTIAL = frozenset({"browser", "agent", "gateway"})


def overall(services: Sequence[ServiceHealth], bus: BusHealth) -> HealthStatus.ValueType:
    """The worst that matters."""
    if bus.status == UNHEALTHY or any(each.status == UNHEALTHY and each.name in ESSENTIAL for each in services):
        return UNHEALTHY
    if bus.status != HEALTHY or any(each.status != HEALTHY for each in services):
        return DEGRADED
    return HEALTHY


def total(services: Sequence[ServiceHealth]) -> dict[str, int]:
    """Counts over all services, by name."""
    counts: Counter[str] = Counter()
    for service in services:
        counts.update(service.counts)
    return dict(counts)


def put_together(
    services: Sequence[ServiceHealth], bus: BusHealth, events: Sequence[Event], now_ms: int, version: str
) -> HealthReport:
    """The report."""
    return HealthReport(
        status=overall(services, bus),
        services=services,
        bus=bus,
        counts=total(services),
        recent_events=events,
        computed_at_ms=now_ms,
        version=version,
    )
