"""The provider `searxng` against an instance with every fault of case 42, and `fan-out` over it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import pytest
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit.dialer import CheckedDialer, EgressPolicy
from services.kit.errors import Refusal
from services.kit.host_rules import HostRules
from services.search.providers import searxng
from services.search.providers.corpus import CorpusProvider
from services.search.providers.fan_out import FanOutProvider
from services.search.providers.searxng import SearxngProvider
from services.search.web.client import HttpClient
from services.search.web.fetcher import WebFetcher
from tests.integration.search.searxng_site import SearxngSite


@pytest.fixture
def instance() -> Iterator[SearxngSite]:
    with SearxngSite() as made:
        yield made


@pytest.fixture
async def provider(instance: SearxngSite) -> AsyncIterator[SearxngProvider]:
    client = HttpClient(CheckedDialer(EgressPolicy(opened=HostRules.parse([f"127.0.0.1:{instance.port}"]))))
    yield SearxngProvider(instance.origin + "/", client, WebFetcher(client))
    await client.close()


async def refused(provider: SearxngProvider | FanOutProvider, query: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await provider.search(query)
    assert caught.value.code == ErrorCode.ERROR_CODE_PROVIDER_FAILED
    return caught.value


async def test_results_with_their_engines_and_who_did_not_answer(
    provider: SearxngProvider, instance: SearxngSite
) -> None:
    found = await provider.search("ok cats & dogs")
    assert [hit.found_by for hit in found.hits] == [("google", "bing"), ("brave",)]
    assert found.unresponsive == ("qwant: timeout",)
    assert instance.queries == ["ok cats & dogs"]


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        ("forbidden", "forbidden"),
        ("captcha", "degraded"),
        ("html200", "bad_response"),
        ("badjson", "bad_response"),
        ("broken", "bad_response"),
    ],
)
async def test_each_fault_has_its_reason_and_is_asked_once(
    provider: SearxngProvider, instance: SearxngSite, scenario: str, reason: str
) -> None:
    refusal = await refused(provider, f"{scenario} cats")
    assert refusal.details["reason"] == reason
    assert str(instance.port) not in refusal.message
    assert len(instance.queries) == 1


async def test_degraded_names_the_engines(provider: SearxngProvider) -> None:
    refusal = await refused(provider, "captcha cats")
    for engine in ("google", "startpage", "brave"):
        assert engine in refusal.message


async def test_nothing_found_is_no_failure(provider: SearxngProvider) -> None:
    assert list((await provider.search("empty cats")).hits) == []


async def test_a_limit_is_waited_out_once_and_not_before_its_time(
    provider: SearxngProvider, instance: SearxngSite
) -> None:
    instance.limited_answers = 1
    begun = time.monotonic()
    assert len((await provider.search("rate cats")).hits) == 2
    assert time.monotonic() - begun >= 1.0
    assert len(instance.queries) == 2


async def test_a_limit_that_stays_is_rate_limited_and_a_long_one_is_not_waited_for(
    provider: SearxngProvider, instance: SearxngSite
) -> None:
    refusal = await refused(provider, "rate cats")
    assert refusal.details["reason"] == "rate_limited"
    assert len(instance.queries) == 2
    instance.retry_after = "120"
    begun = time.monotonic()
    refusal = await refused(provider, "rate cats")
    assert refusal.details["reason"] == "rate_limited"
    # It was told to wait: until then it is not even asked.
    asked = len(instance.queries)
    assert int(str(refusal.details["retry_after_ms"])) > 100_000
    assert (await refused(provider, "ok cats")).details["reason"] == "rate_limited"
    assert len(instance.queries) == asked
    assert time.monotonic() - begun < 3


async def test_a_slow_instance_costs_its_time_only(provider: SearxngProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searxng, "SECONDS", 0.4)
    async with asyncio.timeout(3):
        assert (await refused(provider, "slow cats")).details["reason"] == "timeout"


async def test_one_that_is_not_there_is_unreachable() -> None:
    client = HttpClient(CheckedDialer(EgressPolicy(opened=HostRules.parse(["127.0.0.1:1"]))))
    gone = SearxngProvider("http://127.0.0.1:1", client, WebFetcher(client))
    assert (await refused(gone, "cats")).details["reason"] == "unreachable"
    await client.close()


async def test_odd_results_are_dropped_or_mended(provider: SearxngProvider, instance: SearxngSite) -> None:
    found = await provider.search("odd cats")
    docs = f"{instance.origin}/docs"
    assert [(hit.url, hit.title) for hit in found.hits] == [
        (f"{docs}/guide.html?utm_source=x&id=7", "Guide"),
        (f"{docs}/guide.html?id=7#top", "Guide (copy)"),
        ("http://127.0.0.1:1/closed", "dead link"),
        (f"{docs}/x.html", f"{docs}/x.html"),
    ]
    fetched = await provider.fetch(found.hits[1].url)
    assert "Cats sleep for most of the day" in provider.extract(fetched)


async def test_fan_out_goes_on_with_those_that_answer(
    provider: SearxngProvider, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr(searxng, "SECONDS", 0.4)
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "cats.md").write_text("# Cats\n\nCats sleep for most of the day.")
    both = FanOutProvider([CorpusProvider(folder), provider])
    found = await both.search("slow cats")
    assert [hit.url for hit in found.hits] == ["corpus:///cats.md"]
    assert found.unresponsive == ("searxng: timeout",)
    assert (await both.fetch("corpus:///cats.md")).content_type == "text/markdown"
    found = await both.search("ok cats")
    assert {hit.url.partition(":")[0] for hit in found.hits} == {"corpus", "http"}
    assert [hit.found_by for hit in found.hits if hit.url.startswith("http")] == [("google", "bing", "brave")]


async def test_fan_out_fails_when_all_do(provider: SearxngProvider) -> None:
    refusal = await refused(FanOutProvider([provider, provider]), "forbidden cats")
    assert refusal.details["reason"] == "forbidden"
    assert refusal.details["providers"] == {"searxng": "forbidden"}
