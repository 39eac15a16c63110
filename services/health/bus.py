"""How the message bus and the event log on it are."""

from __future__ import annotations

import asyncio
import time

from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.health.v1.health_pb2 import BusHealth

from services.health.parts import ASK_SECONDS, DEGRADED, HEALTHY, UNHEALTHY
from services.kit import deadlines
from services.kit.clock import Clock
from services.kit.errors import Refusal
from services.kit.event_log import EventFilter, EventLog

_NEWEST = 20
# Over this share of its bytes the log soon drops what is younger than 30 days.
_FULL = 0.9


async def ask(event_log: EventLog, clock: Clock) -> BusHealth:
    """Latency, fill and age; unhealthy when it does not answer in 1 s. Never raises."""
    began = time.perf_counter()
    try:
        with deadlines.within(ASK_SECONDS):
            async with asyncio.timeout(ASK_SECONDS):
                facts = await event_log.facts()
    except (Refusal, TimeoutError):
        return BusHealth(status=UNHEALTHY, detail="the message bus does not answer")
    is_full = 0 < facts.max_bytes * _FULL < facts.bytes
    return BusHealth(
        status=DEGRADED if is_full else HEALTHY,
        latency_ms=(time.perf_counter() - began) * 1000,
        log_bytes=facts.bytes,
        log_max_bytes=max(0, facts.max_bytes),
        log_events=facts.events,
        last_sequence=facts.last_sequence,
        log_age_ms=max(0, clock.now_ms() - facts.first_at_ms) if facts.first_at_ms else 0,
        detail="the event log is nearly full: it drops its oldest events before they are 30 days old"
        if is_full
        else "",
    )


async def newest_events(event_log: EventLog, tenant: str) -> list[Event]:
    """The newest events of a tenant ("" for all), newest first; none when the log does not answer in 1 s."""
    try:
        with deadlines.within(ASK_SECONDS):
            async with asyncio.timeout(ASK_SECONDS):
                return await event_log.recent(EventFilter(tenant=tenant), _NEWEST)
    except (Refusal, TimeoutError):
        return []
