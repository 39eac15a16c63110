"""How the search service is put together."""

from __future__ import annotations

from hyperkitty.search.v1.search_pb2 import SearchJob
from hyperkitty.search.v1.search_service_pb2_grpc import add_SearchServiceServicer_to_server

from services.kit.run import Kit, Service
from services.kit.status import OwnStatus
from services.kit.store import proto_codec
from services.search.servicer import SearchServicer

# SPEC §3.
KEPT_SECONDS = 30 * 24 * 3600.0


async def build(kit: Kit) -> Service:
    """The search service on the kit's store."""
    jobs = await kit.store("jobs", proto_codec(SearchJob), KEPT_SECONDS)

    async def status() -> OwnStatus:
        return OwnStatus({"jobs": len(await jobs.keys())})

    return Service([(add_SearchServiceServicer_to_server, SearchServicer(jobs))], status=status)
