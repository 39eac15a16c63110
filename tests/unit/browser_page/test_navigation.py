"""The navigation log over the events that Chromium sends, in the orders that were measured."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hyperkitty.browser.v1 import targets_pb2 as pb

from services.browser.cdp.client import CdpClient
from services.browser.cdp.domains import page as cdp_page
from services.browser.page.conditions import Conditions
from services.browser.page.navigation import NavigationLog
from services.browser.page.traffic import LONG_SECONDS, QUIET_SECONDS, Traffic
from tests.unit.browser_cdp.stub_transport import StubTransport


class Playing:
    """A page's session whose browser the test plays; `now` is its clock."""

    def __init__(self) -> None:
        self.client = CdpClient()
        self.browser = StubTransport(self.client)
        self.browser.attach_target("S")
        session = self.client.session("S")
        assert session is not None
        self.now = 100.0
        self.conditions = Conditions()
        self.traffic = Traffic(self.conditions, lambda: self.now)
        self.traffic.hear(session)
        self.log = NavigationLog(session, self.conditions, self.traffic)
        self.log.begin(
            cdp_page.Frame(id="main", loader_id="L0", url="http://a/", security_origin="", mime_type="text/html")
        )

    def event(self, method: str, **params: Any) -> None:
        self.browser.event(method, "S", **params)

    def request(self, frame: str = "main", url: str = "http://a/b") -> None:
        self.event(
            "Page.frameRequestedNavigation", frameId=frame, reason="anchorClick", url=url, disposition="currentTab"
        )

    def start(self, loader: str = "L1", kind: str = "differentDocument", frame: str = "main") -> None:
        self.event("Page.frameStartedNavigating", frameId=frame, url="http://a/b", loaderId=loader, navigationType=kind)
        self.event("Page.frameStartedLoading", frameId=frame)

    def answer(self, status: int, loader: str = "L1") -> None:
        response: dict[str, Any] = {
            "url": "http://a/b", "status": status, "statusText": "", "headers": {}, "mimeType": "",
            "encodedDataLength": 0,
        }  # fmt: skip
        self.event(
            "Network.responseReceived", requestId=loader, loaderId=loader, timestamp=1, type="Document",
            response=response, hasExtraInfo=False,
        )  # fmt: skip

    def fail(self, error: str, loader: str = "L1", *, cancelled: bool = True) -> None:
        self.event(
            "Network.loadingFailed", requestId=loader, timestamp=1, type="Document", errorText=error, canceled=cancelled
        )

    def commit(self, loader: str = "L1", **more: str) -> None:
        frame = {
            "id": "main", "loaderId": loader, "url": "http://a/b", "securityOrigin": "", "mimeType": "text/html",
            **more,
        }  # fmt: skip
        self.event("Page.frameNavigated", frame=frame, type="Navigation")

    def stop(self) -> None:
        self.event("Page.frameStoppedLoading", frameId="main")

    def sent(self, request: str) -> None:
        self.event(
            "Network.requestWillBeSent", requestId=request, loaderId="L0", documentURL="http://a/", timestamp=1,
            wallTime=1, request={"url": "http://a/x", "method": "GET", "headers": {}}, initiator={"type": "script"},
            redirectHasExtraInfo=False,
        )  # fmt: skip

    def finished(self, request: str) -> None:
        self.event("Network.loadingFinished", requestId=request, timestamp=1, encodedDataLength=1)


@pytest.fixture
async def play() -> Playing:
    return Playing()


async def test_a_link_is_under_way_until_it_commits(play: Playing) -> None:
    mark = play.log.number
    play.request()
    assert play.log.begun_since(mark)
    play.start()
    play.answer(200)
    assert play.log.begun_since(mark)
    play.commit()
    assert not play.log.begun_since(mark)
    ended = play.log.main_since(mark)
    assert ended is not None
    assert (ended.outcome, ended.http_status, ended.url) == (pb.NAVIGATION_OUTCOME_COMMITTED, 200, "http://a/b")
    assert play.log.busy()
    play.event("Page.lifecycleEvent", frameId="main", loaderId="L1", name="load", timestamp=1)
    play.stop()
    assert play.log.reached("load")
    assert not play.log.busy()


@pytest.mark.parametrize(
    ("status", "outcome", "error"),
    [
        (204, pb.NAVIGATION_OUTCOME_NO_CONTENT, ""),
        (200, pb.NAVIGATION_OUTCOME_DOWNLOAD, ""),
        (0, pb.NAVIGATION_OUTCOME_FAILED, "net::ERR_ABORTED"),
    ],
)
async def test_what_ends_without_a_document(
    play: Playing, status: int, outcome: pb.NavigationOutcome.ValueType, error: str
) -> None:
    mark = play.log.number
    play.request()
    play.start()
    if status:
        play.answer(status)
    play.fail("net::ERR_ABORTED")
    play.stop()
    ended = play.log.main_since(mark)
    assert ended is not None
    assert (ended.outcome, ended.net_error) == (outcome, error)
    assert not play.log.begun_since(mark)


async def test_an_error_page_tells_the_url_and_the_error(play: Playing) -> None:
    mark = play.log.number
    play.request()
    play.start()
    play.fail("net::ERR_CONNECTION_REFUSED", cancelled=False)
    play.commit(url="chrome-error://chromewebdata/", unreachableUrl="http://a/b")
    ended = play.log.main_since(mark)
    assert ended is not None
    assert (ended.outcome, ended.url, ended.net_error) == (
        pb.NAVIGATION_OUTCOME_FAILED, "http://a/b", "net::ERR_CONNECTION_REFUSED",
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["sameDocument", "historySameDocument"])
async def test_a_route_is_over_at_once(play: Playing, kind: str) -> None:
    mark = play.log.number
    play.start("L0", kind)
    play.event("Page.navigatedWithinDocument", frameId="main", url="http://a/#x", navigationType="fragment")
    ended = play.log.main_since(mark)
    assert ended is not None
    assert ended.outcome == pb.NAVIGATION_OUTCOME_SAME_DOCUMENT
    assert not play.log.begun_since(mark)


async def test_a_navigation_that_another_replaces(play: Playing) -> None:
    mark = play.log.number
    play.request(url="http://a/slow")
    play.start("L1")
    play.request(url="http://a/b")
    play.fail("net::ERR_ABORTED", "L1")
    play.start("L2")
    assert play.log.begun_since(mark)
    play.commit("L2")
    assert not play.log.begun_since(mark)


async def test_a_frame_that_goes_away_is_not_waited_for(play: Playing) -> None:
    mark = play.log.number
    play.request(frame="child")
    assert play.log.begun_since(mark)
    play.event("Page.frameDetached", frameId="child", reason="remove")
    assert not play.log.begun_since(mark)


async def test_idle_is_half_a_second_without_a_request_and_polls_do_not_count(play: Playing) -> None:
    play.sent("poll")
    play.now += LONG_SECONDS + 0.1
    assert play.traffic.quiet_in() == pytest.approx(QUIET_SECONDS - 0.1)
    play.now += 0.4
    assert play.traffic.quiet_in() <= 1e-6
    play.sent("short")
    assert play.traffic.quiet_in() == pytest.approx(LONG_SECONDS)
    play.now += 1
    play.finished("short")
    assert play.traffic.quiet_in() == pytest.approx(QUIET_SECONDS)
    play.now += 0.6
    await asyncio.wait_for(play.traffic.idle(1.0), 1.0)


async def test_conditions_wake_fail_and_resume() -> None:
    conditions, state = Conditions(), {"done": False}
    waiting = asyncio.ensure_future(conditions.until(lambda: state["done"], 5.0))
    await asyncio.wait({waiting}, timeout=0.01)
    state["done"] = True
    conditions.happened()
    await waiting
    conditions.fail(RuntimeError("dialog"))
    with pytest.raises(RuntimeError):
        await conditions.until(lambda: False, 5.0)
    await conditions.until(lambda: True, 5.0)
    conditions.resume()
    with pytest.raises(TimeoutError):
        await conditions.until(lambda: False, 0.01)
