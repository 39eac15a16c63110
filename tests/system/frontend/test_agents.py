"""The agent console drives a real agent on a real browser."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.rest_client import RestClient
from tests.site import Site
from tests.system.frontend.conftest import Frontend


def create_agent(page: Page, grants: list[str], **fields: str) -> str:
    """Makes an agent with the console's form; returns its id."""
    page.get_by_role("link", name="Agent console").click()
    page.get_by_text("Create an agent").click()
    for grant in grants:
        page.get_by_label(grant, exact=True).check()
    for label, value in fields.items():
        page.get_by_label(label.replace("_", " "), exact=True).fill(value)
    page.get_by_role("button", name="Create").click()
    heading = page.get_by_role("heading", name="Agent agent_")
    heading.wait_for()
    return (heading.text_content() or "").split()[-1]


def act(page: Page, op: str, args: str | None = None, tool: str = "browser") -> None:
    page.get_by_label("Tool").select_option(tool)
    page.get_by_label("Operation").select_option(op)
    if args is not None:
        page.get_by_label("Arguments").fill(args)
    page.get_by_role("button", name="Act").click()


def test_an_agent_is_made_driven_refused_and_ended(
    page: Page, frontend: Frontend, rest: RestClient, site: Site
) -> None:
    frontend.refusals_expected = True
    url = site.put("/cats", "<title>About <b>cats</b></title><h1>Cats</h1>")
    grants = ["create_session", "close_session", "open_tab", "read_page", "screenshot", "navigate"]
    host = f"127.0.0.1:{site.port}"
    agent_id = create_agent(page, grants, Objective="find cats", Navigate_only_to=host, Actions="9")
    made = rest.get(f"/api/agents/{agent_id}").json
    assert made["limits"]["max_actions"] == 9
    assert made["objective"]["description"] == "find cats"
    assert {"navigate": {"allowed_domains": [host]}} in made["capabilities"]

    expect(page.locator(".outcome")).to_be_empty()
    act(page, "create_session")
    result = page.get_by_role("region", name="Result of the action")
    expect(result).to_contain_text("sess_")
    [session] = rest.get(f"/api/browser/sessions?owner_agent_id={agent_id}").json["sessions"]
    act(page, "open_tab", f'{{"session_id": "{session["session_id"]}", "url": "{url}"}}')
    expect(result).to_contain_text("About <b>cats</b>")
    assert [hit.path for hit in site.hits("/cats")] == ["/cats"]

    # The session and its tab are filled in.
    page.get_by_label("Operation").select_option("screenshot")
    expect(page.get_by_label("Arguments")).to_have_value(re.compile("tab_"))
    page.get_by_role("button", name="Act").click()
    picture = page.get_by_alt_text("Screenshot that the action gave")
    picture.wait_for()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") >= 800

    tab_id = rest.get(f"/api/browser/sessions/{session['session_id']}").json["tabs"][0]["tab_id"]
    act(page, "navigate", f'{{"tab_id": "{tab_id}", "url": "http://example.com/"}}')
    refusal = page.locator(".outcome").get_by_role("alert")
    expect(refusal).to_contain_text("not_authorized")
    expect(refusal).to_contain_text("does not cover 'http://example.com/'")
    expect(refusal).to_contain_text("capabilities")
    act(page, "read_page", "{")
    expect(refusal).to_contain_text("The arguments are not JSON")

    history = page.get_by_role("table", name=f"Actions of {agent_id}").locator("tbody tr")
    expect(history).to_have_count(3)
    expect(history.first).to_contain_text("browser screenshot")

    page.get_by_text("End it").click()
    page.get_by_label("Result or reason").fill('{"found": 2}')
    page.get_by_role("button", name="Complete").click()
    expect(page.locator(".detail dl")).to_contain_text("completed")
    expect(page.get_by_role("button", name="Act")).to_have_count(0)
    assert rest.get(f"/api/agents/{agent_id}").json["result"] == {"found": 2}


def test_the_list_is_filtered_and_live(page: Page, rest: RestClient) -> None:
    page.get_by_role("link", name="Agent console").click()
    page.get_by_label("State").select_option("created")
    page.wait_for_url("**/#/agents?state=created")
    agent_id = rest.post("/api/agents", {"capabilities": ["message"]}).result["agent_id"]
    row = page.get_by_role("row").filter(has_text=agent_id)
    expect(row).to_have_count(1)
    row.get_by_role("link").click()
    page.get_by_text("End it").click()
    page.get_by_label("Result or reason").fill("enough")
    page.get_by_role("button", name="Terminate").click()
    expect(page.locator(".detail dl")).to_contain_text("enough")
    expect(row).to_have_count(0)
