"""What holds for every view: narrow screens, accessibility, the keyboard, strict policy."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.acting import ActingAgent, grants_for
from tests.rest_client import RestClient
from tests.running_system import RunningSystem
from tests.site import Site
from tests.system.frontend.conftest import Frontend

VIEWS = ["dashboard", "agents", "sessions", "search", "messages", "events", "audit"]
# WCAG 2.2 A and AA, and what axe-core holds for good practice beside them.
AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text()


@pytest.fixture
def addresses(rest: RestClient, site: Site) -> list[str]:
    """Every view with something chosen in it."""
    agent = ActingAgent.create(rest, grants_for(site), objective={"description": "long " + "word" * 40})
    agent.start(site.put("/page", f"<title>{'Title' * 30}</title><p>text</p>"))
    job_id = rest.post("/api/search", {"query": "kittens" * 20}).result["job_id"]
    said = rest.post("/api/messages", {"recipient": "user:ann", "payload": {"text": "m" * 300}}).result
    assert rest.post(f"/api/agents/{agent.agent_id}/approve", {}).status == 400
    operation_id = rest.get("/api/operations").json["operations"][0]["operation_id"]
    return [
        "dashboard",
        f"agents?id={agent.agent_id}",
        f"sessions?id={agent.session_id}",
        f"search?id={job_id}",
        f"messages?conversation_id={said['conversation_id']}",
        "events",
        f"audit?id={operation_id}",
    ]


def show(page: Page, address: str) -> None:
    """Goes to a view, unfolds it, waits until it is filled."""
    page.evaluate("address => { location.hash = `#/${address}`; }", address)
    name = address.split("?", maxsplit=1)[0]
    expect(page.locator("nav a[aria-current=page]")).to_have_attribute("href", f"#/{name}")
    page.wait_for_function(
        "name => document.querySelector({ dashboard: 'dl.tiles', messages: '.thread li', events: 'ol.events li' }[name]"
        " ?? '.detail dl')",
        arg=name,
    )
    for summary in page.locator("summary").all():
        summary.click()


def test_no_view_needs_scrolling_sideways_at_360_px(
    frontend: Frontend, shared_system: RunningSystem, addresses: list[str]
) -> None:
    page = frontend.open(shared_system, {"width": 360, "height": 740})
    for address in addresses:
        show(page, address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, address
        beyond = "[...document.querySelectorAll('main *')].filter((each) => each.getBoundingClientRect().right > 361)"
        assert page.evaluate(f"{beyond}.map((each) => each.outerHTML.slice(0, 200))") == [], address


def test_axe_finds_no_violation(page: Page, addresses: list[str]) -> None:
    assert [address.split("?")[0] for address in addresses] == VIEWS
    page.evaluate(AXE)
    for address in addresses:
        show(page, address)
        found: list[Any] = page.evaluate("axe.run().then((result) => result.violations)")
        told = [(each["id"], [node["html"][:150] for node in each["nodes"]]) for each in found]
        assert told == [], address


def test_the_keyboard_reaches_everything_and_is_seen(page: Page) -> None:
    page.keyboard.press("Home")
    page.get_by_role("link", name="Skip to content").focus()
    reached: list[str] = []
    for _ in VIEWS:
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.getAttribute('href')"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert reached == [f"#/{name}" for name in VIEWS]
    page.get_by_role("link", name="Messages", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_label("To", exact=True).focus()
    for label in ("From", "Conversation", "Text"):
        page.keyboard.press("Tab")
        expect(page.get_by_label(label, exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Send")).to_be_focused()


def test_focus_stays_where_it_is_when_a_list_is_read_anew(page: Page, rest: RestClient) -> None:
    agent_id = rest.post("/api/agents", {"capabilities": []}).result["agent_id"]
    page.get_by_role("link", name="Agent console").click()
    link = page.get_by_role("link", name=agent_id)
    link.focus()
    other = rest.post("/api/agents", {"capabilities": []}).result["agent_id"]
    page.get_by_role("link", name=other).wait_for()
    expect(link).to_be_focused()


def test_the_dashboard_tells_of_every_part(page: Page, rest: RestClient) -> None:
    rows = page.get_by_role("table", name="Parts").locator("tbody tr")
    expect(rows).to_have_count(7)
    for name in ("browser", "agent", "search", "messaging", "health", "gateway", "event log"):
        expect(rows.filter(has=page.get_by_role("cell", name=re.compile(f"^{name}")))).to_contain_text("healthy")
    agent_id = rest.post("/api/agents", {"capabilities": []}).result["agent_id"]
    newest = page.get_by_role("list", name="Newest events").get_by_role("listitem").filter(has_text=agent_id)
    newest.get_by_role("link").first.click()
    page.get_by_role("heading", name=f"Agent {agent_id}").wait_for()


def test_a_wrong_token_is_refused_and_nothing_is_shown(frontend: Frontend, shared_system: RunningSystem) -> None:
    frontend.refusals_expected = True
    page = frontend.browser.new_context().new_page()
    page.goto(shared_system.state["rest_url"])
    page.get_by_label("Token").fill("hk_wrong")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("alert")).to_contain_text("token")
    expect(page.locator("#view")).to_be_hidden()
