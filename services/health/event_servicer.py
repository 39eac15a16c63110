"""EventService: the newest events, all of them, or those to come (SPEC §9)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from hyperkitty.auth.v1.identity_pb2 import CallerIdentity
from hyperkitty.events.v1 import event_service_pb2 as pb
from hyperkitty.events.v1.event_service_pb2_grpc import EventServiceServicer
from hyperkitty.events.v1.events_pb2 import Event

from services.health.buffering import Buffer
from services.health.health_servicer import tenant_seen
from services.kit.event_log import EventFilter, EventLog, ReadItem, Start
from services.kit.identity import current_identity

_DEFAULT_LIMIT = 100


def wanted_by(identity: CallerIdentity, category_prefix: str, subject: str) -> EventFilter:
    """What a caller asks for, of what it sees. A token that is an agent's sees that agent's events."""
    return EventFilter(tenant_seen(identity), category_prefix, subject or identity.agent_id)


def is_seen(identity: CallerIdentity, item: ReadItem) -> bool:
    """Whether an item is for this caller; gaps and heartbeats are for everybody."""
    return not isinstance(item, Event) or not identity.agent_id or item.agent_id == identity.agent_id


class EventServicer(EventServiceServicer):
    """Reads the log; `streams` counts the open ones."""

    def __init__(self, event_log: EventLog) -> None:
        self._event_log = event_log
        self.streams = 0

    async def ListRecentEvents(
        self, request: pb.ListRecentEventsRequest, context: object
    ) -> pb.ListRecentEventsResponse:
        identity = current_identity()
        wanted = wanted_by(identity, request.category_prefix, request.subject)
        events = await self._event_log.recent(wanted, request.limit or _DEFAULT_LIMIT)
        return pb.ListRecentEventsResponse(events=[event for event in events if is_seen(identity, event)])

    async def ExportEvents(
        self, request: pb.ExportEventsRequest, context: object
    ) -> AsyncIterator[pb.ExportEventsResponse]:
        identity = current_identity()
        wanted = wanted_by(identity, request.category_prefix, request.subject)
        start = Start.since(request.since_ms) if request.since_ms else Start.after(request.after_sequence)
        async for item in self._event_log.read(wanted, start, until_end=True):
            if isinstance(item, Event) and item.sequence > request.after_sequence and is_seen(identity, item):
                yield pb.ExportEventsResponse(event=item)

    async def StreamEvents(
        self, request: pb.StreamEventsRequest, context: object
    ) -> AsyncIterator[pb.StreamEventsResponse]:
        identity = current_identity()
        wanted = wanted_by(identity, request.category_prefix, request.subject)
        buffer = Buffer()
        filling = asyncio.create_task(buffer.fill(self._items(identity, wanted, _start(request))))
        self.streams += 1
        try:
            async for response in buffer.drain():
                yield response
        finally:
            self.streams -= 1
            filling.cancel()
            await asyncio.wait([filling])
            if not filling.cancelled():
                filling.exception()

    async def _items(self, identity: CallerIdentity, wanted: EventFilter, start: Start) -> AsyncIterator[ReadItem]:
        async for item in self._event_log.read(wanted, start):
            if is_seen(identity, item):
                yield item


def _start(request: pb.StreamEventsRequest) -> Start:
    """After a sequence where one is given (a resuming reader knows best), else at a time, else now."""
    if request.HasField("after_sequence"):
        return Start.after(request.after_sequence)
    if request.HasField("since_ms"):
        return Start.since(request.since_ms)
    return Start.now()
