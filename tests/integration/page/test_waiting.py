"""What ends a wait: commits, 204s, downloads, routes, errors, dialogs; and nothing is waited for that did not begin."""

from __future__ import annotations

import asyncio
import time

import pytest
from hyperkitty.browser.v1 import operations_pb2 as pb
from hyperkitty.browser.v1 import sessions_pb2, targets_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode

from services.kit import deadlines
from services.kit.errors import Refusal
from tests.integration.page.driving import Driver

COMMITTED = targets_pb2.NAVIGATION_OUTCOME_COMMITTED
SAME_DOCUMENT = targets_pb2.NAVIGATION_OUTCOME_SAME_DOCUMENT


@pytest.mark.parametrize(
    "html",
    [
        "<a id=b href=/next>x</a>",
        "<form action=/next><button id=b>x</button></form>",
        "<form action=/next method=post><button id=b>x</button></form>",
        "<button id=b onclick=\"location.href = '/next'\">x</button>",
        "<button id=b onclick=\"location.replace('/next')\">x</button>",
        "<button id=b onclick=\"location.href = '/gone'; location.href = '/next'\">x</button>",
        "<form action=/next><button id=b type=button onclick='this.form.submit()'>x</button></form>",
    ],
)
async def test_a_navigation_that_a_click_began_has_committed(driver: Driver, html: str) -> None:
    driver.site.put("/next", "<title>Next</title>")
    await driver.show(html)
    await driver.click(selector="#b")
    assert driver.changed.url.split("?")[0] == driver.site.url("/next")
    assert driver.changed.navigation.outcome == COMMITTED
    assert driver.changed.navigation.http_status == 200
    assert await driver.page_says("document.title") == "Next"


async def test_a_slow_answer_is_waited_for_and_what_is_slower_than_the_call_is_pending(driver: Driver) -> None:
    await driver.show("<a id=b href=/hold>x</a>")
    clicked = asyncio.create_task(driver.click(selector="#b"))
    await asyncio.wait({clicked}, timeout=0.3)
    assert not clicked.done()
    driver.site.release()
    await clicked
    assert driver.changed.url.endswith("/hold")
    driver.site.hold()
    await driver.show("<a id=b href=/hold>x</a>")
    await driver.click(1.0, selector="#b")
    assert driver.changed.navigation.outcome == targets_pb2.NAVIGATION_OUTCOME_PENDING
    driver.site.release()


async def test_a_204_a_download_and_a_route_end_the_wait(driver: Driver) -> None:
    await driver.show(
        "<a id=empty href=/status/204>e</a> <a id=file href=/download>f</a> <a id=hash href=#part>h</a>"
        "<button id=push onclick=\"history.pushState(0, '', '/route')\">p</button>"
    )
    await driver.click(selector="#empty")
    assert driver.changed.navigation.outcome == targets_pb2.NAVIGATION_OUTCOME_NO_CONTENT
    assert driver.changed.navigation.http_status == 204
    assert driver.changed.url == driver.site.url("/")
    await driver.click(selector="#file")
    assert driver.changed.navigation.outcome == targets_pb2.NAVIGATION_OUTCOME_DOWNLOAD
    assert driver.changed.download.url == driver.site.url("/download")
    await driver.click(selector="#hash")
    assert driver.changed.navigation.outcome == SAME_DOCUMENT
    assert driver.changed.url == driver.site.url("/#part")
    await driver.click(selector="#push")
    assert driver.changed.navigation.outcome == SAME_DOCUMENT
    assert driver.changed.url == driver.site.url("/route")


async def test_navigate_ends_truthfully(driver: Driver) -> None:
    await driver.show("<p>stays")
    result = await driver.go(driver.site.url("/status/204"))
    assert result.navigation.outcome == targets_pb2.NAVIGATION_OUTCOME_NO_CONTENT
    assert result.url == driver.site.url("/")
    result = await driver.go(driver.site.url("/download"))
    assert result.navigation.outcome == targets_pb2.NAVIGATION_OUTCOME_DOWNLOAD
    result = await driver.go(driver.site.url("/status/404"))
    assert (result.navigation.outcome, result.navigation.http_status) == (COMMITTED, 404)
    result = await driver.go("data:text/html,<title>Data</title>")
    assert (result.title, result.navigation.outcome) == ("Data", COMMITTED)
    result = await driver.go("about:blank")
    assert result.url == "about:blank"
    result = await driver.go(driver.site.url("/redirect?to=/status/404"))
    assert result.url == driver.site.url("/status/404")
    with pytest.raises(Refusal) as caught:
        await driver.go(driver.site.url("/drop"))
    assert caught.value.code == ErrorCode.ERROR_CODE_NAVIGATION_FAILED
    assert str(caught.value.details["net_error"]).startswith("net::ERR_")


async def test_wait_until(driver: Driver) -> None:
    driver.site.put("/slow-parts", "<title>Slow</title><img src=/hold><p>text")
    started = time.perf_counter()
    for wait_until in (pb.WAIT_UNTIL_NONE, pb.WAIT_UNTIL_DOMCONTENTLOADED):
        result = await driver.run(
            pb.NavigateOperation(url=driver.site.url("/slow-parts"), wait_until=wait_until), seconds=5
        )
        assert result.navigation.outcome == COMMITTED
    assert driver.tab.page.loading
    assert time.perf_counter() - started < 3
    with pytest.raises(Refusal) as caught:
        await driver.run(pb.NavigateOperation(url=driver.site.url("/slow-parts")), seconds=1.0)
    assert caught.value.code == ErrorCode.ERROR_CODE_DEADLINE_EXCEEDED
    driver.site.release()
    result = await driver.run(pb.NavigateOperation(url=driver.site.url("/slow-parts")))
    assert await driver.page_says("document.readyState") == "complete"


async def test_network_idle_waits_for_late_requests(driver: Driver) -> None:
    url = driver.site.put(
        "/late",
        "<script>window.got = 0; const next = (n) => fetch('/status/200').then(() => {"
        "got++; if (n) setTimeout(next, 200, n - 1) });"
        "setTimeout(next, 100, 3)</script>",
    )
    await driver.run(pb.NavigateOperation(url=url, wait_until=pb.WAIT_UNTIL_NETWORKIDLE))
    assert await driver.page_says("got") == 4


async def test_a_page_that_replaces_itself(driver: Driver) -> None:
    driver.site.put("/final", "<title>Final</title>")
    url = driver.site.put("/first", "<title>First</title><script>location.replace('/final')</script>")
    result = await driver.go(url)
    assert (result.url, result.title) == (driver.site.url("/final"), "Final")


async def test_back_forward_reload(driver: Driver) -> None:
    one, two = driver.site.put("/one", "<title>One</title>"), driver.site.put("/two", "<title>Two</title>")
    await driver.go(one)
    await driver.go(two)
    result = await driver.run(pb.BackOperation())
    assert (result.url, result.title, result.navigation.outcome) == (one, "One", COMMITTED)
    result = await driver.run(pb.ForwardOperation())
    assert (result.url, result.title) == (two, "Two")
    driver.site.put("/two", "<title>Two again</title>")
    result = await driver.run(pb.ReloadOperation())
    assert (result.url, result.title, result.navigation.http_status) == (two, "Two again", 200)
    with pytest.raises(Refusal) as caught:
        await driver.run(pb.ForwardOperation())
    assert caught.value.code == ErrorCode.ERROR_CODE_WRONG_STATE


async def test_a_dialog_ends_the_wait_at_once(driver: Driver) -> None:
    await driver.show("<button id=b onclick=\"window.answer = confirm('Sure?')\">x</button>")
    started = time.perf_counter()
    await driver.click(selector="#b")
    assert time.perf_counter() - started < 2
    assert driver.changed.dialog.message == "Sure?"
    with pytest.raises(Refusal) as caught:
        await driver.snapshot()
    assert caught.value.code == ErrorCode.ERROR_CODE_DIALOG_OPEN
    await driver.tab.handle_dialog(accept=True, prompt_text="")
    assert await driver.page_says("answer") is True
    await driver.click(selector="#b")
    await driver.tab.handle_dialog(accept=False, prompt_text="")
    assert await driver.page_says("answer") is False


async def test_a_dialog_while_a_page_loads(driver: Driver) -> None:
    url = driver.site.put("/asks", "<title>Asks</title><script>alert('Hello')</script>")
    result = await driver.go(url)
    assert result.navigation.outcome == COMMITTED
    assert driver.changed.dialog.message == "Hello"
    await driver.tab.handle_dialog(accept=True, prompt_text="")


async def test_leaving_a_page_that_asks(driver: Driver) -> None:
    url = driver.site.put("/next", "<title>Next</title>")
    await driver.show("<button id=b>x</button><script>onbeforeunload = (e) => e.preventDefault()</script>")
    await driver.click(selector="#b")  # a page that nobody touched may not ask
    result = await driver.go(url)
    assert result.navigation.outcome == targets_pb2.NAVIGATION_OUTCOME_PENDING
    assert driver.changed.dialog.kind == sessions_pb2.DIALOG_KIND_BEFOREUNLOAD
    await driver.tab.handle_dialog(accept=False, prompt_text="")
    assert await driver.page_says("document.title") == "Test"
    await driver.go(url)
    await driver.tab.handle_dialog(accept=True, prompt_text="")
    with deadlines.within(5):
        await driver.tab.page.conditions.until(lambda: driver.tab.page.url == url, 5)


async def test_a_new_window_is_a_new_tab(driver: Driver) -> None:
    driver.site.put("/pop", "<title>Pop</title>")
    await driver.show("<a id=b href=/pop target=_blank>x</a><button id=c onclick=\"window.open('/pop')\">y</button>")
    for selector in ("#b", "#c"):
        await driver.click(selector=selector)
        [new] = driver.changed.new_tabs
        assert new.opener_tab_id in (driver.tab.tab_id, "")
        assert not driver.changed.HasField("navigation")


async def test_nothing_is_waited_for_that_did_not_begin(driver: Driver) -> None:
    await driver.show("<button id=b onclick=\"fetch('/hold')\">x</button>")
    started = time.perf_counter()
    await driver.click(selector="#b")
    assert time.perf_counter() - started < 1
    driver.site.release()


async def test_case_23_routes(driver: Driver) -> None:
    await driver.case("23-same-document-nav")
    base = driver.tab.page.url
    kept = await driver.ref("link", "Route two")

    async def view() -> str:
        return await driver.page_says("document.querySelector('#view').textContent")

    result = await driver.go(base + "#/completed")
    assert (await view(), result.navigation.outcome, result.url) == ("completed", SAME_DOCUMENT, base + "#/completed")
    await driver.click(role="link", name="Route two")
    assert (await view(), driver.changed.url) == ("two", base + "?two")
    result = await driver.run(pb.BackOperation())
    assert (await view(), result.url) == ("completed", base + "#/completed")
    result = await driver.run(pb.ForwardOperation())
    assert (await view(), result.url) == ("two", base + "?two")
    result = await driver.go(base + "#/completed")
    assert await view() == "completed"
    result = await driver.go(base + "#/completed")
    assert (await view(), result.url) == ("completed", base + "#/completed")
    del kept
