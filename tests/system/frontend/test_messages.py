"""Messages: sent, in order, read."""

from __future__ import annotations

import uuid

from playwright.sync_api import Page, expect

from tests.rest_client import RestClient


def test_messages_are_sent_seen_in_order_and_marked_read(page: Page, rest: RestClient) -> None:
    name = f"talk-{uuid.uuid4().hex}"
    page.get_by_role("link", name="Messages", exact=True).click()
    page.get_by_label("To", exact=True).fill("user:ann")
    page.get_by_label("Conversation", exact=True).fill(name)
    page.get_by_label("Text").fill("first <b>line</b>")
    page.get_by_role("button", name="Send").click()
    said = page.locator(".thread .said")
    expect(said).to_have_text(["first <b>line</b>"])

    answer = {"recipient": "user:root", "payload": {"text": "second"}, "conversation_id": name, "sender": "user:ann"}
    assert rest.post("/api/messages", answer).status == 200
    expect(said).to_have_text(["first <b>line</b>", "second"])
    page.get_by_label("Text").fill("third")
    page.get_by_role("button", name="Send").click()
    expect(said).to_have_text(["first <b>line</b>", "second", "third"])

    page.get_by_role("button", name="Mark read: second").click()
    entries = page.locator(".thread li")
    expect(entries.nth(1).locator(".status")).to_have_text("read")
    expect(entries.nth(0).locator(".status")).to_have_text("queued")
    listed = rest.get(f"/api/messages?conversation_id={name}").json["messages"]
    assert [message["status"] for message in listed] == ["queued", "read", "queued"]
