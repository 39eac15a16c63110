"""Jobs counted by state, and the oldest ended ones forgotten when there are too many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from hyperkitty.search.v1.search_pb2 import SearchJob, SearchResult, SourceDocument

from services.kit.ids import new_id
from services.kit.memory_store import MemoryStore
from services.kit.record_codec import RecordCodec
from services.search import census as counting
from services.search import stages
from services.search.census import Census
from services.search.jobs import ContentPart, DocumentRecord, JobRecord, Jobs
from services.search.retention import Retention
from services.search.stages import Stage


class World:
    """A bucket, with what watches it."""

    def __init__(self) -> None:
        self.records = MemoryStore(RecordCodec(JobRecord))
        self.jobs = Jobs(self.records, MemoryStore(RecordCodec(DocumentRecord)), MemoryStore(RecordCodec(ContentPart)))
        self.census = Census(self.records)

    async def put(self, stage: Stage, characters: int = 10) -> SearchJob:
        job = SearchJob(job_id=new_id("job"), tenant="default", stage=stage)
        document = SourceDocument(document_id=new_id("doc"))
        job.results.append(SearchResult(source_document_id=document.document_id))
        await self.jobs.put_document(job.job_id, DocumentRecord(document, 1))
        await self.records.put(self.jobs.key_of(job), JobRecord(job, characters=characters))
        return job

    async def present(self, job: SearchJob) -> tuple[bool, bool]:
        """Whether the job is there, and whether its document is."""
        found = await self.records.get(self.jobs.key_of(job))
        document = await self.jobs.document(job.job_id, job.results[0].source_document_id)
        return found is not None, document is not None


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    tasks = [
        asyncio.create_task(each)
        for each in (made.census.watch_for_ever(), Retention(made.jobs, made.census).keep_for_ever())
    ]
    yield made
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def settled(world: World, jobs: int) -> None:
    async with asyncio.timeout(2):
        while world.census.counts()["jobs"] != jobs:
            await asyncio.sleep(0.005)


async def test_states_are_counted(world: World) -> None:
    job = await world.put(stages.SEARCH_PROVIDER)
    await world.put(stages.DONE)
    await world.put(stages.FAILED)
    await settled(world, 3)
    assert world.census.counts() == {
        "jobs": 3,
        "jobs_running": 1,
        "jobs_done": 1,
        "jobs_failed": 1,
        "jobs_at_search_provider": 1,
    }
    await world.records.delete(world.jobs.key_of(job))
    await settled(world, 2)
    assert world.census.counts()["jobs_running"] == 0


async def test_the_oldest_ended_are_forgotten_with_their_documents(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "MOST_JOBS", 3)
    running = await world.put(stages.SEARCH_PROVIDER)
    old, older_failed = await world.put(stages.DONE), await world.put(stages.FAILED)
    kept = [await world.put(stages.DONE), await world.put(stages.DONE)]
    await settled(world, 3)
    assert await world.present(old) == await world.present(older_failed) == (False, False)
    assert [await world.present(each) for each in (running, *kept)] == [(True, True)] * 3


async def test_documents_are_bounded_together(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_CHARACTERS", 100)
    first = await world.put(stages.DONE, 60)
    second = await world.put(stages.DONE, 60)
    await settled(world, 1)
    assert (await world.present(first), await world.present(second)) == ((False, False), (True, True))
