"""What counts as a request of a session (SPEC §6), told by the browser's own events."""

from __future__ import annotations

import pytest

from services.browser.cdp.client import CdpClient
from services.browser.requests import MOST_REQUESTS, RequestCount
from tests.unit.browser_cdp.stub_transport import StubTransport

PAGE = "P"


class Told:
    """A count, and a browser that tells it of requests."""

    def __init__(self, total: int = 0) -> None:
        client = CdpClient()
        self.stub = StubTransport(client)
        self.count = RequestCount(total)
        self.count.follow(client.browser)
        self.stub.attach_target(PAGE)

    def sent(self, request_id: str, url: str = "http://a.example/", on: str = PAGE, after: object = None) -> None:
        request: dict[str, object] = {"url": url, "method": "GET", "headers": {}}
        facts = {"timestamp": 0, "wallTime": 0, "initiator": {"type": "other"}, "redirectHasExtraInfo": False}
        more = {"redirectResponse": after} if after is not None else {}
        ids = {"requestId": request_id, "loaderId": "L", "documentURL": "http://a.example/"}
        self.stub.event("Network.requestWillBeSent", on, **ids, request=request, **facts, **more)

    def answered(self, request_id: str, **how: object) -> None:
        response = answer(**how)
        ids = {"requestId": request_id, "loaderId": "L", "timestamp": 0, "type": "Image", "hasExtraInfo": False}
        self.stub.event("Network.responseReceived", PAGE, **ids, response=response)


def answer(**how: object) -> dict[str, object]:
    whole: dict[str, object] = {"url": "http://a.example/", "status": 200, "statusText": "", "headers": {}}
    return {**whole, "mimeType": "", "encodedDataLength": 0, **how}


@pytest.fixture
async def told() -> Told:
    return Told()


async def test_what_needs_no_network_does_not_count(told: Told) -> None:
    for url in ("data:text/html,x", "blob:http://a.example/1", "about:blank", "chrome://version"):
        told.sent(url, url)
    assert told.count.total == 0
    told.sent("1", "https://a.example/")
    assert told.count.total == 1


async def test_each_hop_of_a_redirect_counts_but_for_a_cached_one(told: Told) -> None:
    told.sent("1")
    told.sent("1", after=answer(status=302))
    assert told.count.total == 2
    told.sent("1", after=answer(status=301, fromDiskCache=True))
    assert told.count.total == 2


async def test_answers_of_a_cache_or_a_service_worker_are_taken_back_once(told: Told) -> None:
    for each in ("1", "2", "3"):
        told.sent(each)
    told.stub.event("Network.requestServedFromCache", PAGE, requestId="1")
    told.answered("1", fromDiskCache=True)
    told.answered("2", fromServiceWorker=True)
    told.answered("3")
    assert told.count.total == 1


async def test_frames_and_workers_count_and_are_let_run(told: Told) -> None:
    told.stub.attach_target("F", PAGE, "iframe")
    told.stub.attach_target("W", PAGE, "worker")
    told.stub.attach_target("S", None, "service_worker")
    for place, session in enumerate(("F", "W", "S")):
        told.sent(str(place), on=session)
    # A worker's own script is told by its page and by the worker.
    told.sent("1", on=PAGE)
    assert told.count.total == 3
    socket = {"requestId": "9", "url": "ws://a.example/"}
    told.stub.event("Network.webSocketCreated", "W", **socket)
    assert told.count.total == 4


async def test_a_total_goes_on_and_what_is_remembered_is_bounded() -> None:
    told = Told(total=7)
    for number in range(MOST_REQUESTS + 10):
        told.sent(str(number))
    assert told.count.total == 7 + MOST_REQUESTS + 10
    told.stub.event("Network.requestServedFromCache", PAGE, requestId="0")
    assert told.count.total == 7 + MOST_REQUESTS + 10
