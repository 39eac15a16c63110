"""The search service as a process of its own, on real NATS, and agents that search through it (SPEC §7, §6)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hyperkitty.agent.v1.agents_pb2 import AgentLimits, SearchToolOperation, ToolCall
from hyperkitty.auth.v1.identity_pb2 import CallerIdentity, TokenScopes
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.search.v1 import search_service_pb2 as pb
from hyperkitty.search.v1.search_pb2 import SearchJob, SearchOutcome, SearchQuery
from hyperkitty.search.v1.search_service_pb2_grpc import SearchServiceStub

from services.kit.errors import Refusal
from services.kit.identity import calling_as
from services.search import stages
from tests.integration.agent.conftest import AgentWorld
from tests.integration.agent.fake_browser import FakeBrowser
from tests.integration.agent.small_system import ROOT, SmallSystem, small_system

STRANGER = CallerIdentity(tenant="other", token_id="tok_s", scopes=TokenScopes(services=["search"]))
STRAIGHT = [stages.EVENTS[stage] for stage in stages.ORDER[:-1]]


@pytest.fixture
async def system(tmp_path: Path) -> AsyncIterator[SmallSystem]:
    async with small_system(tmp_path / "home") as made:
        await made.start("search")
        yield made


def stub(system: SmallSystem) -> SearchServiceStub:
    return SearchServiceStub(system.channel("search"))


async def start(system: SmallSystem, query: str, **more: str | int) -> SearchJob:
    with calling_as(ROOT):
        wanted = SearchQuery(query=query, **more)  # type: ignore[arg-type]
        return (await stub(system).StartSearch(pb.StartSearchRequest(query=wanted))).job


async def result(system: SmallSystem, job_id: str, wait_ms: int = 10_000) -> SearchOutcome:
    with calling_as(ROOT):
        request = pb.GetSearchResultRequest(job_id=job_id, wait_ms=wait_ms)
        return (await stub(system).GetSearchResult(request)).outcome


def in_one(categories: list[str]) -> list[str]:
    """A stage's several events as one."""
    return [each for place, each in enumerate(categories) if place == 0 or categories[place - 1] != each]


async def test_a_search_is_answered_with_quotes_that_stand_in_its_documents(system: SmallSystem) -> None:
    job = await start(system, "kittens")
    assert (job.provider, job.stage) == ("mock", stages.USER_QUERY)
    outcome = await result(system, job.job_id)
    assert outcome.provider == "mock"
    assert len(outcome.results) == 5
    assert outcome.answer.sentences
    for sentence in outcome.answer.sentences:
        for citation in sentence.citations:
            with calling_as(ROOT):
                request = pb.GetSourceDocumentRequest(job_id=job.job_id, document_id=citation.document_id)
                document = (await stub(system).GetSourceDocument(request)).document
            assert document.extracted_text[citation.start : citation.end] == citation.quote
    assert in_one(await system.categories(job.job_id)) == STRAIGHT
    with calling_as(ROOT):
        assert (await stub(system).GetSearchJob(pb.GetSearchJobRequest(job_id=job.job_id))).job.stage == stages.DONE
        assert len((await stub(system).ListSearchJobs(pb.ListSearchJobsRequest())).jobs) == 1
    with calling_as(STRANGER):
        assert len((await stub(system).ListSearchJobs(pb.ListSearchJobsRequest())).jobs) == 0


async def test_jobs_are_finished_after_kill_9_each_event_once(system: SmallSystem) -> None:
    jobs = [await start(system, f"sparse kittens {number}") for number in range(20)]
    await system.kill("search")
    await system.start("search")
    for job in jobs:
        outcome = await result(system, job.job_id)
        assert outcome.diagnostics.fields["iterations"].number_value >= 1
        categories = await system.categories(job.job_id)
        assert categories[0] == "search.started"
        assert categories[-1] == "search.completed"
        for once in ("search.started", "search.query_normalized", "search.result_synthesized", "search.completed"):
            assert categories.count(once) == 1


async def test_what_is_refused_or_fails_says_why(system: SmallSystem) -> None:
    with pytest.raises(Refusal) as caught:
        await start(system, "kittens", provider="nowhere")
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS
    with pytest.raises(Refusal) as caught:
        await start(system, " \n ")
    assert caught.value.code == ErrorCode.ERROR_CODE_INVALID_ARGUMENTS
    failing = await start(system, "outage")
    with pytest.raises(Refusal) as caught:
        await result(system, failing.job_id)
    assert (caught.value.code, caught.value.details["reason"]) == (ErrorCode.ERROR_CODE_PROVIDER_FAILED, "down")
    with calling_as(ROOT):
        cancel = stub(system).CancelSearch(pb.CancelSearchRequest(job_id=failing.job_id))
    with pytest.raises(Refusal) as caught:
        await cancel
    assert caught.value.code == ErrorCode.ERROR_CODE_WRONG_STATE


@pytest.fixture
async def acting(system: SmallSystem) -> AsyncIterator[AgentWorld]:
    fake = FakeBrowser()
    server = await system.serve("browser", [fake.servicer])
    await system.start("agent")
    await system.start("messaging")
    yield AgentWorld(system, fake)
    await server.drain(0)


def search(query: str) -> ToolCall:
    return ToolCall(search=SearchToolOperation(search=SearchQuery(query=query)))


async def test_an_agent_searches_until_its_iterations_are_used_up(acting: AgentWorld) -> None:
    agent_id = await acting.create("search", limits=AgentLimits(max_search_iterations=2))
    answer = await acting.act(agent_id, search("kittens"))
    assert answer.search.answer.sentences
    with calling_as(ROOT):
        request = pb.GetSearchJobRequest(job_id=answer.search.job_id)
        job = (await stub(acting.system).GetSearchJob(request)).job
    assert job.owner_agent_id == agent_id
    # What is left bounds the next one, which would otherwise take three.
    sparse = await acting.act(agent_id, search("sparse kittens"))
    assert sparse.search.diagnostics.fields["iterations"].number_value == 1
    assert (await acting.get(agent_id)).usage.search_iterations == 2
    with pytest.raises(Refusal) as caught:
        await acting.act(agent_id, search("cats"))
    assert caught.value.details == {"which": "max_search_iterations", "value": 2, "limit": 2}
    assert await acting.state(agent_id) == "failed"


async def test_a_providers_failure_is_the_actions(acting: AgentWorld) -> None:
    agent_id = await acting.create("search")
    with pytest.raises(Refusal) as caught:
        await acting.act(agent_id, search("outage"))
    assert caught.value.code == ErrorCode.ERROR_CODE_PROVIDER_FAILED
    assert [action.outcome for action in await acting.history(agent_id)] == ["provider_failed"]
    assert (await acting.get(agent_id)).usage.search_iterations == 1
    assert (await acting.act(agent_id, search("kittens"))).search.answer.sentences
