"""How the health service is put together. It keeps nothing: with it down, every other call still works."""

from __future__ import annotations

from hyperkitty.events.v1.event_service_pb2_grpc import add_EventServiceServicer_to_server
from hyperkitty.health.v1.health_service_pb2_grpc import add_HealthServiceServicer_to_server
from hyperkitty.operations.v1.operation_service_pb2_grpc import add_OperationServiceServicer_to_server
from hyperkitty.operations.v1.operations_pb2 import Operation

from services.health.event_servicer import EventServicer
from services.health.health_servicer import HealthServicer
from services.health.in_progress import InProgress
from services.health.operation_servicer import OperationServicer
from services.kit.run import Kit, Service
from services.kit.status import OwnStatus
from services.kit.store import proto_codec

PARTS = ("browser", "agent", "search", "messaging", "health", "gateway")


async def build(kit: Kit) -> Service:
    """The health service on the kit's log, records and channels."""
    records = await kit.store("operations", proto_codec(Operation), 24 * 3600.0)
    channels = {name: kit.channel(name) for name in PARTS}
    events = EventServicer(kit.event_log)
    health = HealthServicer(channels, kit.event_log, kit.settings.runtime_dir, kit.clock)
    operations = OperationServicer(records, InProgress(kit.event_log, kit.clock), kit.artifacts)

    async def status() -> OwnStatus:
        return OwnStatus({"event_streams": events.streams})

    return Service(
        [
            (add_HealthServiceServicer_to_server, health),
            (add_EventServiceServicer_to_server, events),
            (add_OperationServiceServicer_to_server, operations),
        ],
        status=status,
    )
