"""Browser sessions: opened, watched, read, pictured and closed."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.rest_client import RestClient
from tests.site import Site


def test_a_session_is_opened_used_and_closed(page: Page, rest: RestClient, site: Site) -> None:
    hostile = "<img src=x onerror=document.title='pwned'>"
    url = site.put("/page", f"<title>{hostile.replace('<', '&lt;')}</title><h1>Hello</h1><p>{'words ' * 20}</p>")
    page.get_by_role("link", name="Browser sessions").click()
    page.get_by_text("Open a session").click()
    page.get_by_label("Go only to").fill(f"127.0.0.1:{site.port}")
    page.get_by_role("button", name="Open session").click()
    heading = page.get_by_role("heading", name="Session sess_")
    heading.wait_for()
    session_id = (heading.text_content() or "").split()[-1]

    page.get_by_label("URL").fill(url)
    page.get_by_role("button", name="Open tab").click()
    tabs = page.get_by_role("list", name="Tabs").get_by_role("listitem")
    expect(tabs).to_have_count(1)
    # What a page says is text.
    expect(tabs.first).to_contain_text(hostile)
    assert page.locator("main img").count() == 0

    page.get_by_role("button", name=re.compile("^Read ")).click()
    expect(page.get_by_role("region", name="Text of the page")).to_contain_text("words words")
    page.get_by_role("button", name=re.compile("^Screenshot ")).click()
    picture = page.get_by_role("img", name=re.compile("^Screenshot of"))
    picture.wait_for()
    assert picture.evaluate("image => image.decode().then(() => [image.naturalWidth, image.naturalHeight])") == [
        1280,
        720,
    ]

    # A tab that somebody else opens and closes is seen.
    other = rest.post(f"/api/browser/sessions/{session_id}/tabs", {"url": site.put("/other", "<title>Other</title>")})
    expect(tabs).to_have_count(2)
    expect(tabs.nth(1)).to_contain_text("Other")
    assert rest.post(f"/api/browser/sessions/{session_id}/tabs/{other.result['tab_id']}/close").status == 200
    expect(tabs).to_have_count(1)

    page.get_by_role("button", name="Close session").click()
    expect(page.locator(".detail dl")).to_contain_text("closed")
    assert rest.get(f"/api/browser/sessions/{session_id}").json["status"] == "closed"
    assert "pwned" not in page.title()
