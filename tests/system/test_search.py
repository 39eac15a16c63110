"""Searching over REST on every real part: cited answers, agents within their limit, a killed service (SPEC §7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.search.searxng_site import SearxngSite
from tests.rest_client import RestClient
from tests.running_system import RunningSystem
from tests.waiting import until

# The order of SPEC §7 and §9, written down apart from the code.
STORY = [
    "search.started",
    "search.query_normalized",
    "search.query_generated",
    "search.provider_called",
    "search.results_received",
    "search.urls_deduplicated",
    "search.document_retrieved",
    "search.document_extracted",
    "search.source_ranked",
    "search.result_synthesized",
    "search.completed",
]


def start(rest: RestClient, query: str, **more: object) -> str:
    job = rest.post("/api/search", {"query": query, **more}).result
    assert (job["stage"], job["query"]) == ("user_query", query)
    return str(job["job_id"])


def result(rest: RestClient, job_id: str) -> Any:
    reply = rest.get(f"/api/search/{job_id}/result?wait_ms=20000")
    assert reply.status == 200, reply.body
    return reply.json


def story(rest: RestClient, job_id: str) -> list[str]:
    """The job's categories, oldest first, a stage's several events as one."""
    events = rest.get(f"/api/events/recent?subject={job_id}&limit=1000").json["events"][::-1]
    found = [event["category"] for event in events]
    return [each for place, each in enumerate(found) if place == 0 or found[place - 1] != each]


def check_quotes(rest: RestClient, outcome: Any) -> int:
    """Looks up every quote in its document; how many there are."""
    quotes = 0
    for sentence in outcome["answer"]["sentences"]:
        assert sentence["citations"], sentence
        for citation in sentence["citations"]:
            document = rest.get(f"/api/search/{outcome['job_id']}/documents/{citation['document_id']}").json
            assert document["extracted_text"][citation["start"] : citation["end"]] == citation["quote"]
            quotes += 1
    return quotes


def test_a_search_goes_through_every_stage_to_a_cited_answer(shared_system: RunningSystem) -> None:
    rest = shared_system.rest
    job_id = start(rest, "how do kittens sleep")
    outcome = result(rest, job_id)
    assert (outcome["job_id"], outcome["provider"]) == (job_id, "mock")
    assert [each["rank"] for each in outcome["results"]] == [1, 2, 3, 4, 5]
    assert check_quotes(rest, outcome) >= 3
    assert story(rest, job_id) == STORY
    job = rest.get(f"/api/search/{job_id}").json
    assert (job["stage"], job["iteration"], job["failure"]) == ("done", 1, None)
    assert job_id in [each["job_id"] for each in rest.get("/api/search?stage=done").json["jobs"]]
    assert job_id not in [each["job_id"] for each in rest.get("/api/search?stage=failed").json["jobs"]]


def test_too_few_sources_go_back_to_the_planner(shared_system: RunningSystem) -> None:
    rest = shared_system.rest
    job_id = start(rest, "nothing of kittens", max_iterations=3)
    outcome = result(rest, job_id)
    assert outcome["results"] == []
    queries = outcome["diagnostics"]["queries"]
    assert len(queries) == len(set(queries)) == 3
    again = [*STORY[2:9], "search.iteration_retried"]
    assert story(rest, job_id) == [*STORY[:2], *again, *again, *STORY[2:]]


def test_a_search_is_its_tenants_own(shared_system: RunningSystem) -> None:
    rest = shared_system.rest
    job_id = start(rest, "kittens")
    outcome = result(rest, job_id)
    document_id = outcome["results"][0]["source_document_id"]
    token = rest.post("/api/tokens", {"tenant": "elsewhere", "services": ["search"]}).result["token"]
    other = RestClient(shared_system.state["rest_url"], token)
    for path in ("", "/result", f"/documents/{document_id}"):
        reply = other.get(f"/api/search/{job_id}{path}")
        assert (reply.status, reply.error_code) == (404, "not_found")
    assert other.post(f"/api/search/{job_id}/cancel").status == 404
    assert other.get("/api/search").json["jobs"] == []
    mine = start(other, "kittens")
    assert [each["job_id"] for each in other.get("/api/search").json["jobs"]] == [mine]


def test_an_agent_searches_within_its_limit(shared_system: RunningSystem) -> None:
    rest = shared_system.rest
    body = {"capabilities": ["search"], "limits": {"max_search_iterations": 2}}
    agent_id = rest.post("/api/agents", body).result["agent_id"]
    actions = f"/api/agents/{agent_id}/actions"
    call = {"tool": "search", "op": "search", "args": {"query": "nothing of kittens"}}
    found = rest.post(actions, call).result
    assert rest.get(f"/api/search/{found['job_id']}").json["owner_agent_id"] == agent_id
    assert found["diagnostics"]["iterations"] == 2
    assert rest.get(f"/api/agents/{agent_id}").json["usage"]["search_iterations"] == 2
    refused = rest.post(actions, call)
    assert (refused.status, refused.error_code) == (429, "limit_exceeded")
    ungranted = rest.post("/api/agents", {"capabilities": ["read_page"]}).result["agent_id"]
    reply = rest.post(f"/api/agents/{ungranted}/actions", call)
    assert (reply.status, reply.error_code) == (403, "not_authorized")


@pytest.fixture
def instance() -> Iterator[SearxngSite]:
    with SearxngSite() as made:
        yield made


@pytest.fixture
def live(tmp_path_factory: pytest.TempPathFactory, instance: SearxngSite) -> Iterator[RunningSystem]:
    """A system whose default provider is a SearXNG instance."""
    environment = {
        "HYPERKITTY_SEARCH_PROVIDER": "searxng",
        "HYPERKITTY_SEARCH_SEARXNG": instance.origin,
        "HYPERKITTY_SEARCH_PRIVATE_HOSTS": f"127.0.0.1:{instance.port}",
    }
    running = RunningSystem(tmp_path_factory.mktemp("home"), environment=environment).wait_ready()
    yield running
    running.stop()


def test_a_killed_search_service_goes_on_where_it_was_and_a_cancelled_job_does_not(
    live: RunningSystem, instance: SearxngSite
) -> None:
    rest = live.rest
    cancelled = start(rest, "slow dogs", max_iterations=1)
    until(lambda: "slow dogs" in instance.queries, "the instance is asked")
    early = rest.get(f"/api/search/{cancelled}/result")
    assert (early.status, early.error_code) == (409, "wrong_state")
    assert rest.post(f"/api/search/{cancelled}/cancel").result["stage"] == "failed"
    reply = rest.get(f"/api/search/{cancelled}/result?wait_ms=5000")
    assert (reply.status, reply.error_code) == (499, "cancelled")
    assert rest.post(f"/api/search/{cancelled}/cancel").error_code == "wrong_state"

    job_id = start(rest, "slow cats", max_iterations=1)
    until(lambda: "slow cats" in instance.queries, "the instance is asked")
    assert rest.get(f"/api/search/{job_id}").json["stage"] == "search_provider"
    killed = live.kill("search")
    instance.released.set()
    live.wait_healed("search", killed)
    outcome = result(rest, job_id)
    assert outcome["results"][0]["found_by"] == ["google", "bing", "brave"]
    assert outcome["diagnostics"]["unresponsive"] == ["qwant: timeout"]
    assert check_quotes(rest, outcome) >= 1
    assert instance.queries.count("slow cats") == 2
    events = rest.get(f"/api/events/recent?subject={job_id}&limit=1000").json["events"][::-1]
    assert [event["category"] for event in events] == STORY
    assert story(rest, cancelled)[-1] == "search.failed"
    health = until(lambda: _counts(rest), "health counts jobs")
    assert (health["jobs"], health["jobs_done"], health["jobs_failed"]) == (2, 1, 1)


def _counts(rest: RestClient) -> Any:
    report = rest.get("/api/health").json
    part = next(each for each in report["services"] if each["name"] == "search")
    return part["counts"] if part["counts"].get("jobs_done") else None
