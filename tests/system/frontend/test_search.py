"""Search: a job's stages as they happen, and an answer that shows what it rests on."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.rest_client import RestClient


def test_a_search_is_watched_and_its_citations_are_shown(page: Page, rest: RestClient) -> None:
    page.get_by_role("link", name="Search", exact=True).click()
    page.get_by_label("Query").fill("how 🐈 cats sleep")
    page.get_by_label("Provider").fill("mock")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url(re.compile("#/search\\?id=job_"))
    job_id = page.url.rsplit("=", 1)[1]
    expect(page.get_by_role("list", name="Stages").locator("[aria-current=step]")).to_have_text("done")
    page.get_by_text("What happened, newest first").click()
    trail = page.get_by_role("list", name="What happened").locator(".category")
    expect(trail.first).to_have_text("search.completed")
    told = [event["category"] for event in rest.get(f"/api/events/recent?subject={job_id}").json["events"]]
    assert trail.all_text_contents() == told

    outcome = rest.get(f"/api/search/{job_id}/result").json
    sentences = outcome["answer"]["sentences"]
    assert len(sentences) >= 2
    expect(page.locator(".answer p")).to_have_count(len(sentences))
    number = 0
    for sentence in sentences:
        for citation in sentence["citations"]:
            number += 1
            page.get_by_role("button", name=f"Source {number}:").click()
            expect(page.locator("mark")).to_have_text(citation["quote"])
            document = rest.get(f"/api/search/{job_id}/documents/{citation['document_id']}").json
            shown = page.get_by_role("region", name="Text of the source")
            expect(shown).to_contain_text(document["extracted_text"][:60])
            before = shown.evaluate("pre => Array.from(pre.firstChild.data ?? '').length")
            assert before == citation["start"]
    expect(page.locator(".results li")).to_have_count(len(outcome["results"]))
