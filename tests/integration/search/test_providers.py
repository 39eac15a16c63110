"""Jobs of the real service over a folder, over a SearXNG instance, and over both (SPEC §7, case 42)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.search.v1 import search_service_pb2 as pb
from hyperkitty.search.v1.search_pb2 import SearchOutcome, SearchQuery
from hyperkitty.search.v1.search_service_pb2_grpc import SearchServiceStub

from services.kit.errors import Refusal
from services.kit.identity import calling_as
from services.kit.json_values import from_struct
from services.search import stages
from tests.integration.agent.small_system import ROOT, SmallSystem, small_system
from tests.integration.search.searxng_site import SearxngSite
from tests.waiting import until

PAGES = {
    "sleep.md": "# Sleep\n\nCats 😺 sleep for about sixteen hours a day. Old cats sleep even longer.",
    "food.txt": "A cat eats meat. Cats need fresh water every day, as every vet says.",
    "deep/play.html": "<title>Play</title><p>Cats play at dawn and at dusk, when mice are out.</p>",
    "dogs.txt": "Dogs bark at night.",
}


@pytest.fixture
def instance() -> Iterator[SearxngSite]:
    with SearxngSite() as made:
        yield made


def settings_of(home: Path, instance: SearxngSite) -> dict[str, str]:
    return {
        "HYPERKITTY_SEARCH_PROVIDER": "corpus",
        "HYPERKITTY_SEARCH_CORPUS": str(home.parent / "corpus"),
        "HYPERKITTY_SEARCH_SEARXNG": instance.origin,
        "HYPERKITTY_SEARCH_PRIVATE_HOSTS": f"127.0.0.1:{instance.port}",
    }


@pytest.fixture
async def system(tmp_path: Path, instance: SearxngSite) -> AsyncIterator[SmallSystem]:
    folder = tmp_path / "corpus"
    for name, text in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    async with small_system(tmp_path / "home") as made:
        await made.start("search", settings_of(made.home, instance))
        yield made


async def search(system: SmallSystem, query: str, provider: str = "", **more: int) -> SearchOutcome:
    """The result; every quote in it is looked up in its document."""
    stub = SearchServiceStub(system.channel("search"))
    with calling_as(ROOT):
        wanted = SearchQuery(query=query, provider=provider, max_iterations=more.get("max_iterations", 1))
        job = (await stub.StartSearch(pb.StartSearchRequest(query=wanted))).job
        result = pb.GetSearchResultRequest(job_id=job.job_id, wait_ms=20_000)
        outcome = (await stub.GetSearchResult(result)).outcome
        for sentence in outcome.answer.sentences:
            assert sentence.citations
            for citation in sentence.citations:
                request = pb.GetSourceDocumentRequest(job_id=job.job_id, document_id=citation.document_id)
                document = (await stub.GetSourceDocument(request)).document
                assert document.extracted_text[citation.start : citation.end] == citation.quote
    return outcome


async def test_a_folder_is_searched_and_cited(system: SmallSystem) -> None:
    outcome = await search(system, "how long do cats sleep a day")
    assert outcome.provider == "corpus"
    assert {each.url for each in outcome.results} == {
        "corpus:///sleep.md",
        "corpus:///food.txt",
        "corpus:///deep/play.html",
    }
    assert outcome.results[0].url == "corpus:///sleep.md"
    assert outcome.answer.sentences[0].text == "Cats 😺 sleep for about sixteen hours a day."


async def test_searxngs_repeats_are_one_result_with_all_its_engines(system: SmallSystem) -> None:
    outcome = await search(system, "ok cats", "searxng")
    [only] = outcome.results
    assert list(only.found_by) == ["google", "bing", "brave"]
    assert (only.source_document_id != "", only.fetch_error) == (True, "")
    assert from_struct(outcome.diagnostics)["unresponsive"] == ["qwant: timeout"]
    assert any("fresh water" in sentence.text for sentence in outcome.answer.sentences)


async def test_a_dead_link_says_so_and_the_rest_is_used(system: SmallSystem) -> None:
    outcome = await search(system, "odd cats", "searxng")
    errors = {each.title: each.fetch_error.partition(":")[0] for each in outcome.results}
    assert errors["dead link"] in ("blocked", "unreachable")
    assert errors["Guide"] == ""
    assert outcome.answer.sentences


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        ("forbidden", "forbidden"),
        ("rate", "rate_limited"),
        ("captcha", "degraded"),
        ("html200", "bad_response"),
        ("badjson", "bad_response"),
        ("slow", "timeout"),
    ],
)
async def test_faults_fail_the_job_with_their_reason(system: SmallSystem, scenario: str, reason: str) -> None:
    with pytest.raises(Refusal) as caught:
        await search(system, f"{scenario} cats", "searxng")
    assert (caught.value.code, caught.value.details["reason"]) == (ErrorCode.ERROR_CODE_PROVIDER_FAILED, reason)


async def test_fan_out_gives_what_the_others_found(system: SmallSystem) -> None:
    outcome = await search(system, "captcha cats", "fan-out")
    assert {each.url.partition(":")[0] for each in outcome.results} == {"corpus"}
    assert from_struct(outcome.diagnostics)["unresponsive"] == ["searxng: degraded"]
    both = await search(system, "ok cats water", "fan-out")
    assert {each.url.partition(":")[0] for each in both.results} == {"corpus", "http"}
    assert len(both.results) == 4


async def test_a_service_that_is_asked_to_stop_leaves_its_jobs_to_the_next(
    system: SmallSystem, instance: SearxngSite
) -> None:
    stub = SearchServiceStub(system.channel("search"))
    with calling_as(ROOT):
        wanted = SearchQuery(query="slow cats", provider="searxng", max_iterations=1)
        job = (await stub.StartSearch(pb.StartSearchRequest(query=wanted))).job
        await asyncio.to_thread(until, lambda: "slow cats" in instance.queries, "the instance is asked")
        assert await system.stop("search") == 0
        instance.released.set()
        await system.start("search", settings_of(system.home, instance))
        result = pb.GetSearchResultRequest(job_id=job.job_id, wait_ms=20_000)
        assert (await stub.GetSearchResult(result)).outcome.results[0].source_document_id
    categories = await system.categories(job.job_id)
    assert (categories[0], categories[-1]) == ("search.started", "search.completed")
    assert len(categories) == len(set(categories))


async def test_a_provider_that_is_not_set_up_any_more_fails_its_jobs(
    system: SmallSystem, instance: SearxngSite
) -> None:
    stub = SearchServiceStub(system.channel("search"))
    with calling_as(ROOT):
        wanted = SearchQuery(query="slow cats", provider="searxng", max_iterations=1)
        job = (await stub.StartSearch(pb.StartSearchRequest(query=wanted))).job
        await asyncio.to_thread(until, lambda: "slow cats" in instance.queries, "the instance is asked")
        await system.kill("search")
        await system.start("search")
        with pytest.raises(Refusal) as caught:
            await stub.GetSearchResult(pb.GetSearchResultRequest(job_id=job.job_id, wait_ms=20_000))
    assert caught.value.details["reason"] == "not_set_up"


async def test_a_frozen_nats_delays_a_job_and_loses_or_doubles_nothing(
    system: SmallSystem, instance: SearxngSite
) -> None:
    stub = SearchServiceStub(system.channel("search"))
    with calling_as(ROOT):
        wanted = SearchQuery(query="slow cats", provider="searxng", max_iterations=1)
        job = (await stub.StartSearch(pb.StartSearchRequest(query=wanted))).job
        await asyncio.to_thread(until, lambda: "slow cats" in instance.queries, "the instance is asked")
        system.nats.signal(signal.SIGSTOP)
        instance.released.set()
        spool = system.home / "spool" / "search.spool"
        await asyncio.to_thread(
            until, lambda: spool.exists() and spool.stat().st_size > 0, "the event waits on disk", 30
        )
        system.nats.signal(signal.SIGCONT)
        result = pb.GetSearchResultRequest(job_id=job.job_id, wait_ms=25_000)
        outcome = (await stub.GetSearchResult(result, timeout=28)).outcome
    assert outcome.results[0].source_document_id
    categories = await system.categories(job.job_id)
    assert len(categories) == len(set(categories))
    assert categories == [stages.EVENTS[stage] for stage in stages.ORDER[:-1]]
