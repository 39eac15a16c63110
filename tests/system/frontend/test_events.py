"""The event stream and the audit log: filters in the address, pausing, going back, paging."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.rest_client import RestClient


def create_agents(rest: RestClient, count: int) -> list[str]:
    return [rest.post("/api/agents", {"capabilities": []}).result["agent_id"] for _ in range(count)]


def sequences(events: Locator) -> list[int]:
    return events.evaluate_all("entries => entries.map((entry) => Number(entry.dataset.sequence))")


def test_events_are_filtered_by_the_address_and_paused(page: Page, rest: RestClient) -> None:
    [agent_id, other] = create_agents(rest, 2)
    page.get_by_role("link", name="Event stream").click()
    page.get_by_label("Category").fill("agent")
    page.get_by_label("About").fill(agent_id)
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url(f"**/#/events?category_prefix=agent&subject={agent_id}")
    categories = page.locator("ol.events .category")
    expect(categories).to_have_text(["agent.created"])
    rest.post(f"/api/agents/{other}/terminate")
    rest.post(f"/api/agents/{agent_id}/objective", {"description": "go on"})
    expect(categories).to_have_text(["agent.objective.assigned", "agent.created"])

    page.get_by_role("button", name="Pause").click()
    rest.post(f"/api/agents/{agent_id}/terminate")
    expect(page.get_by_text("1 more wait")).to_be_visible()
    expect(categories).to_have_count(2)
    page.get_by_role("button", name="Go on").click()
    expect(categories).to_have_text(["agent.terminated", "agent.objective.assigned", "agent.created"])

    # The address alone says what is shown: going back shows what was shown before.
    page.go_back()
    expect(page.get_by_label("About")).to_have_value("")
    page.go_forward()
    expect(categories).to_have_count(3)


def test_older_events_are_loaded_without_a_hole(page: Page, rest: RestClient) -> None:
    while len(rest.get("/api/events/recent?limit=1000").json["events"]) < 260:
        create_agents(rest, 20)
    page.get_by_role("link", name="Event stream").click()
    entries = page.locator("ol.events li")
    expect(entries).to_have_count(200)
    page.get_by_role("button", name="Load older").click()
    expect(page.get_by_text("200 shown")).to_have_count(0)
    shown = sequences(entries)
    known = [event["sequence"] for event in rest.get("/api/events/recent?limit=1000").json["events"]]
    assert shown == known[: len(shown)]
    assert len(shown) > 250


def test_operations_are_paged_filtered_and_told_with_their_events(page: Page, rest: RestClient) -> None:
    create_agents(rest, 55)
    page.get_by_role("link", name="Audit log").click()
    page.get_by_label("Kind").fill("create_agent")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**/#/audit?kind=create_agent")
    rows = page.get_by_role("table", name="Operations").locator("tbody tr")
    expect(rows).to_have_count(50)
    page.get_by_role("button", name="Load older").click()
    known: list[Any] = rest.get("/api/operations?kind=create_agent&page_size=200").json["operations"]
    expect(rows).to_have_count(min(len(known), 100))
    links = rows.locator("td:first-child a").all_text_contents()
    assert links == [operation["operation_id"] for operation in known[: len(links)]]

    rows.first.get_by_role("link").first.click()
    expect(page.locator(".detail dl")).to_contain_text("succeeded")
    expect(page.locator(".detail .category")).to_have_text(["agent.created"])


def test_a_failed_operation_says_why(page: Page, rest: RestClient) -> None:
    [agent_id] = create_agents(rest, 1)
    refused = rest.post(f"/api/agents/{agent_id}/complete", {"result": {}})
    page.get_by_role("link", name="Audit log").click()
    page.get_by_label("Status").select_option("failed")
    page.get_by_label("Subject").fill(agent_id)
    page.get_by_role("button", name="Filter").click()
    row = page.get_by_role("table", name="Operations").locator("tbody tr")
    expect(row).to_have_count(1)
    row.get_by_role("link").first.click()
    told = page.locator(".detail .refusal")
    expect(told).to_contain_text("wrong_state")
    expect(told).to_contain_text(refused.json["error"]["message"])
