"""The first page in a real browser, driven by Playwright, before fake services."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hyperkitty.events.v1.event_service_pb2 import (
    ListRecentEventsRequest,
    ListRecentEventsResponse,
    StreamEventsRequest,
    StreamEventsResponse,
)
from hyperkitty.events.v1.events_pb2 import Event
from playwright.async_api import Page, async_playwright, expect

from tests.contract.gateway.conftest import TOKEN, Gateway
from tests.waiting import async_until

CHROMIUM = Path("/usr/lib/chromium/chromium")
pytestmark = pytest.mark.real_chromium


def event(sequence: int, subject: str = "agent_1") -> Event:
    made = Event(event_id=f"evt_{sequence}", sequence=sequence, category="agent.created", subject=subject)
    made.emitted_at_ms = 1_735_689_600_000 + sequence
    return made


class FakeLog:
    """An event log that a test adds to; each stream begins after what it asks for."""

    def __init__(self, gateway: Gateway) -> None:
        self.events: list[Event] = []
        self.asked: list[StreamEventsRequest] = []
        self._more = asyncio.Condition()
        gateway["health"].unary["ListRecentEvents"] = self._recent
        gateway["health"].streams["StreamEvents"] = self._stream

    async def add(self, *events: Event) -> None:
        async with self._more:
            self.events += events
            self._more.notify_all()

    async def _recent(self, request: ListRecentEventsRequest) -> ListRecentEventsResponse:
        return ListRecentEventsResponse(events=self.events[::-1][: request.limit])

    async def _stream(self, request: StreamEventsRequest) -> AsyncIterator[StreamEventsResponse]:
        self.asked.append(request)
        last = request.after_sequence
        while True:
            fresh = [each for each in self.events if each.sequence > last]
            if fresh:
                last = fresh[-1].sequence
                yield StreamEventsResponse(events=fresh)
            async with self._more:
                if self.events[-1].sequence <= last:
                    await self._more.wait()


@asynccontextmanager
async def opened(gateway: Gateway, width: int = 1280) -> AsyncGenerator[tuple[Page, list[str]]]:
    """The page, and everything that its console or its policy complained of."""
    async with async_playwright() as playwright:
        # Our own page only, and tests may run as root, where Chromium's sandbox needs more than it has here.
        browser = await playwright.chromium.launch(executable_path=str(CHROMIUM), chromium_sandbox=False)
        page = await browser.new_page(viewport={"width": width, "height": 800})
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(gateway.url)
        yield page, complaints
        await browser.close()


async def log_in(page: Page, token: str = TOKEN) -> None:
    await page.get_by_label("Token").fill(token)
    await page.get_by_role("button", name="Open").click()


async def test_live_events_and_resuming(gateway: Gateway) -> None:
    log = FakeLog(gateway)
    await log.add(event(1), event(2, "<img src=x onerror=alert(1)>"))
    async with opened(gateway) as (page, complaints):
        await log_in(page)
        await page.get_by_role("link", name="Event stream").click()
        entries = page.get_by_role("list", name="Events, newest first").get_by_role("listitem")
        await expect(entries).to_have_count(2)
        await expect(entries.first).to_contain_text("<img src=x onerror=alert(1)>")
        await expect(page.locator("#connection")).to_have_text("Live")
        await log.add(event(3))
        await expect(entries).to_have_count(3)
        await gateway["health"].stop()
        await expect(page.locator("#connection")).to_contain_text("Reconnecting")
        log.events.append(event(4))
        await gateway["health"].start()
        await expect(entries).to_have_count(4, timeout=15_000)
        await expect(entries.first).to_have_attribute("data-sequence", "4")
        assert log.asked[0].after_sequence == 2
        assert log.asked[-1].after_sequence == 3
        assert await page.locator("img").count() == 0
        # The connection that broke is told by the browser itself.
        assert [each for each in complaints if "WebSocket" not in each] == []


async def test_a_wrong_token(gateway: Gateway) -> None:
    async with opened(gateway) as (page, _):
        await log_in(page, "hk_of_somebody_else")
        await expect(page.locator("#login-error")).to_contain_text("not known")
        await expect(page.locator("#login")).to_be_visible()


async def test_the_token_is_in_memory_only(gateway: Gateway) -> None:
    log = FakeLog(gateway)
    await log.add(event(1))
    async with opened(gateway) as (page, complaints):
        await log_in(page)
        await expect(page.locator("#connection")).to_have_text("Live")
        assert await page.evaluate("Object.keys(localStorage).length + Object.keys(sessionStorage).length") == 0
        assert await page.evaluate("document.cookie") == ""
        assert TOKEN not in await page.content()
        assert TOKEN not in page.url
        await page.reload()
        await expect(page.locator("#login")).to_be_visible()
        assert complaints == []


async def test_every_view(gateway: Gateway) -> None:
    log = FakeLog(gateway)
    await log.add(event(1))
    async with opened(gateway, width=360) as (page, complaints):
        await log_in(page)
        links = page.get_by_role("navigation").get_by_role("link")
        assert await links.count() == 7
        for index in range(7):
            link = links.nth(index)
            await link.click()
            await expect(link).to_have_attribute("aria-current", "page")
            await expect(page.locator("#view h2").first).to_be_visible()
            assert await page.evaluate("document.documentElement.scrollWidth") <= 360
        await async_until(lambda: len(gateway["agent"].seen) > 0, "the agents to be asked for")
        await log.add(event(2))
        asked = len(gateway["messaging"].seen)
        assert asked == 1
        assert complaints == []
