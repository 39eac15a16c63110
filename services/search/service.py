"""How the search service is put together."""

from __future__ import annotations

from hyperkitty.search.v1.search_service_pb2_grpc import add_SearchServiceServicer_to_server

from services.kit.record_codec import RecordCodec
from services.kit.run import Kit, Service
from services.kit.settings import SearchSettings, load
from services.kit.status import OwnStatus
from services.search.census import Census
from services.search.configured import providers_of
from services.search.jobs import ContentPart, DocumentRecord, JobRecord, Jobs
from services.search.pipeline import Pipeline
from services.search.retention import Retention
from services.search.runner import Runner
from services.search.servicer import SearchServicer

# SPEC §3.
KEPT_SECONDS = 30 * 24 * 3600.0


async def build(kit: Kit) -> Service:
    """The search service on the kit's store. Raises SettingsError."""
    providers = providers_of(load(SearchSettings), kit.settings)
    # One bucket, three kinds of values under different first tokens.
    records = await kit.store("jobs", RecordCodec(JobRecord), KEPT_SECONDS)
    documents = await kit.store("jobs", RecordCodec(DocumentRecord), KEPT_SECONDS)
    parts = await kit.store("jobs", RecordCodec(ContentPart), KEPT_SECONDS)
    jobs = Jobs(records, documents, parts)
    runner = Runner(jobs, Pipeline(jobs, providers.by_name, kit.clock), kit.recorder, kit.clock, kit.spawn)

    census = Census(records)
    kit.spawn(census.watch_for_ever(), "census")
    kit.spawn(Retention(jobs, census).keep_for_ever(), "retention")

    async def status() -> OwnStatus:
        return OwnStatus(census.counts())

    async def close() -> None:
        await runner.close()
        for each in providers.close:
            await each()

    servicer = SearchServicer(jobs, runner, providers.by_name, providers.default, kit.clock)
    return Service([(add_SearchServiceServicer_to_server, servicer)], ready=runner.resume, drain=close, status=status)
