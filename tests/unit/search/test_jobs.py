"""Jobs from their query to their answer, on memory stores and the mock provider (SPEC §7)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path

import pytest
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.operations.v1.operations_pb2 import Operation
from hyperkitty.search.v1.search_pb2 import SearchJob

from services.kit.clock import ManualClock
from services.kit.errors import Refusal, from_proto
from services.kit.event_log import EventFilter
from services.kit.ids import is_id, new_id
from services.kit.json_values import from_struct
from services.kit.memory_events import MemoryEventLog
from services.kit.memory_store import MemoryStore
from services.kit.record_codec import RecordCodec
from services.kit.recorder import Recorder
from services.kit.spool import Spool
from services.kit.store import Entry, proto_codec
from services.search import stages
from services.search.derived_ids import derived_id
from services.search.jobs import ContentPart, DocumentRecord, JobRecord, Jobs
from services.search.pipeline import Pipeline, Step
from services.search.providers.mock import MockProvider
from services.search.providers.provider import Fetched, Found, Hit, failed
from services.search.runner import Runner, cancelled

ROOT = CallerIdentity(tenant="default", token_id="tok_r", scopes=TokenScopes(root=True))
STRAIGHT = [stages.EVENTS[stage] for stage in stages.ORDER[:-1]]


def _spawn(work: Coroutine[object, object, None], name: str) -> asyncio.Task[None]:
    return asyncio.create_task(work, name=name)


class World:
    """The inside of the search service."""

    def __init__(self, directory: Path) -> None:
        self.clock = ManualClock()
        self.log = MemoryEventLog()
        self.mock = MockProvider()
        recorder = Recorder("search", self.log, MemoryStore(proto_codec(Operation)), Spool(directory / "spool"))
        self.jobs = Jobs(
            MemoryStore(RecordCodec(JobRecord)),
            MemoryStore(RecordCodec(DocumentRecord)),
            MemoryStore(RecordCodec(ContentPart)),
        )
        self.pipeline = Pipeline(self.jobs, {"mock": self.mock}, self.clock)
        self.runner = Runner(self.jobs, self.pipeline, recorder, self.clock, _spawn)

    async def job(self, query: str, max_iterations: int = 3) -> SearchJob:
        job = SearchJob(
            job_id=new_id("job"),
            query=query,
            stage=stages.USER_QUERY,
            iteration=1,
            max_iterations=max_iterations,
            provider="mock",
            tenant="default",
        )
        await self.jobs.records.create(self.jobs.key_of(job), JobRecord(job, actor="tok_r"))
        return job

    async def ended(self, query: str, max_iterations: int = 3) -> JobRecord:
        job = await self.job(query, max_iterations)
        self.runner.start(job)
        await self.runner.wait(job.job_id, 10)
        return await self.record(job)

    async def record(self, job: SearchJob) -> JobRecord:
        return (await self.jobs.find(ROOT, job.job_id)).value

    async def told(self) -> list[str]:
        """Categories, oldest first, each stage's several events as one."""
        events = (await self.log.recent(EventFilter(), 1_000))[::-1]
        categories = [event.category for event in events]
        return [each for place, each in enumerate(categories) if place == 0 or categories[place - 1] != each]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_every_stage_in_order_each_published_before_the_next(world: World) -> None:
    record = await world.ended("history of kittens")
    assert record.job.stage == stages.DONE
    assert await world.told() == STRAIGHT
    assert (record.job.iteration, len(record.job.results)) == (1, 5)


async def test_a_result_is_ranked_without_repeats_and_answered_with_checked_quotes(world: World) -> None:
    job = (await world.ended("kittens")).job
    assert [result.rank for result in job.results] == [1, 2, 3, 4, 5]
    assert [result.score for result in job.results] == sorted((each.score for each in job.results), reverse=True)
    assert len({result.normalized_url for result in job.results}) == 5
    assert all("utm_source" not in result.url for result in job.results)
    assert job.answer.sentences
    for sentence in job.answer.sentences:
        assert sentence.citations
        for citation in sentence.citations:
            kept = await world.jobs.document(job.job_id, citation.document_id)
            assert kept is not None
            assert kept.document.extracted_text[citation.start : citation.end] == citation.quote
            assert kept.document.citation_map
            assert kept.parts == 0


async def test_too_few_sources_ask_again_with_other_queries_up_to_the_limit(world: World) -> None:
    record = await world.ended("sparse kittens", max_iterations=3)
    assert record.job.stage == stages.DONE
    assert len(record.asked) == len(set(record.asked)) == record.job.iteration
    assert 1 < record.job.iteration <= 3
    assert (await world.told()).count("search.iteration_retried") == record.job.iteration - 1


async def test_one_iteration_is_one(world: World) -> None:
    record = await world.ended("sparse kittens", max_iterations=1)
    assert (record.job.stage, record.job.iteration, len(record.job.results)) == (stages.DONE, 1, 1)
    assert "search.iteration_retried" not in await world.told()


async def test_nothing_found_is_a_result_without_an_answer(world: World) -> None:
    job = (await world.ended("nothing at all")).job
    assert (job.stage, len(job.results), len(job.answer.sentences)) == (stages.DONE, 0, 0)


async def test_a_provider_that_is_down_is_a_typed_failure(world: World) -> None:
    job = (await world.ended("outage")).job
    assert job.stage == stages.FAILED
    failure = from_proto(job.failure)
    assert failure.code == ErrorCode.ERROR_CODE_PROVIDER_FAILED
    assert failure.details["reason"] == "down"
    event = (await world.log.recent(EventFilter(), 1))[0]
    assert (event.category, from_struct(event.data)["stage"]) == ("search.failed", "search_provider")


async def test_a_dead_link_is_told_and_the_rest_is_used(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = world.mock.fetch

    async def without_basics(url: str) -> Fetched:
        if url.endswith("basics"):
            raise failed("mock", "not_found", "gone")
        return await fetch(url)

    monkeypatch.setattr(world.mock, "fetch", without_basics)
    record = await world.ended("kittens")
    assert record.job.stage == stages.DONE
    assert record.unreadable == 1
    assert record.job.results[-1].url.endswith("basics")
    assert record.job.results[-1].source_document_id == ""


async def test_odd_results_are_dropped(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    search = world.mock.search

    async def oddities(query: str) -> Found:
        odd = [Hit("javascript:alert(1)", "x", ""), Hit("", "", ""), Hit("https://u:p@mock.example/a", "", "")]
        return Found([*odd, *(await search(query)).hits])

    monkeypatch.setattr(world.mock, "search", oddities)
    record = await world.ended("kittens")
    assert len(record.job.results) == 5
    assert record.dropped == 4


@pytest.mark.parametrize("stops_after", range(1, 11))
async def test_a_job_goes_on_at_its_stage_after_a_crash_and_tells_nothing_twice(
    world: World, tmp_path: Path, stops_after: int
) -> None:
    whole = await world.ended("sparse kittens")
    expected = await world.told()
    events = len(world.log.events)
    again = World(tmp_path)
    job = await again.job("sparse kittens")
    entry = await again.jobs.find(ROOT, job.job_id)
    for _ in range(stops_after - 1):
        entry = await again.runner._step(entry)  # pyright: ignore[reportPrivateUsage]
    step = await again.pipeline.step(entry.value)
    # The process dies after telling the log of the stage, before the next stage is stored.
    await again.runner._publish(entry.value, step.told)  # pyright: ignore[reportPrivateUsage]
    await again.runner.resume()
    await again.runner.wait(job.job_id, 10)
    resumed = await again.record(job)
    assert resumed.job.stage == stages.DONE
    assert await again.told() == expected
    assert len(again.log.events) == events
    assert [result.url for result in resumed.job.results] == [result.url for result in whole.job.results]


async def test_a_cancelled_job_has_failed_with_cancelled_and_stays_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, gate = asyncio.Event(), asyncio.Event()

    async def slow(query: str) -> Found:
        reached.set()
        await gate.wait()
        return Found(())

    monkeypatch.setattr(world.mock, "search", slow)
    job = await world.job("kittens")
    world.runner.start(job)
    await reached.wait()
    await world.runner.stop(job.job_id)
    entry: Entry[JobRecord] = await world.jobs.find(ROOT, job.job_id)
    assert entry.value.job.stage == stages.SEARCH_PROVIDER
    await world.runner.fail(entry, cancelled(job.job_id))
    record = await world.record(job)
    assert (record.job.stage, record.job.failure.code) == (stages.FAILED, ErrorCode.ERROR_CODE_CANCELLED)
    await world.runner.resume()
    assert len(world.runner) == 0
    assert (await world.told())[-1] == "search.failed"


async def test_a_fault_of_ours_fails_that_job_only(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(record: JobRecord) -> Step:
        if record.job.query == "broken":
            raise ZeroDivisionError
        return await step(record)

    step = world.pipeline.step
    monkeypatch.setattr(world.pipeline, "step", broken)
    assert (await world.ended("broken")).job.failure.code == ErrorCode.ERROR_CODE_INTERNAL
    assert (await world.ended("kittens")).job.stage == stages.DONE


async def test_tenants_and_agents_see_their_own(world: World) -> None:
    job = await world.job("kittens")
    for identity in (
        CallerIdentity(tenant="other", token_id="tok_o"),
        CallerIdentity(tenant="default", token_id="tok_b", agent_id=new_id("agent")),
    ):
        assert await world.jobs.visible(identity) == []
        with pytest.raises(Refusal) as caught:
            await world.jobs.find(identity, job.job_id)
        assert caught.value.code == ErrorCode.ERROR_CODE_NOT_FOUND
    elsewhere = CallerIdentity(tenant="other", token_id="tok_r", scopes=TokenScopes(root=True))
    assert (await world.jobs.find(elsewhere, job.job_id)).value.job == job


def test_derived_ids_are_ids() -> None:
    assert is_id("doc", derived_id("doc", "a", "b"))
    assert derived_id("doc", "a", "b") == derived_id("doc", "a", "b") != derived_id("doc", "ab")
    with pytest.raises(ValueError, match="no such id prefix"):
        derived_id("nothing", "a")
