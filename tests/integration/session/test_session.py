"""A session on a real Chromium: its tabs come and go, crash, and end with it."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import msgspec
import pytest
from hyperkitty.browser.v1 import sessions_pb2 as pb

from services.browser.cdp.domains import page, runtime, target
from services.browser.session import Session
from services.browser.tab import Tab
from services.kit import deadlines
from services.kit.errors import Refusal
from services.kit.ids import new_id
from tests.integration.session.started import Place
from tests.process_table import appeared_since, descendants, is_running
from tests.site import Site
from tests.waiting import async_until

pytestmark = pytest.mark.real_chromium

SECONDS = 10.0


async def opened(session: Session) -> Tab:
    with deadlines.within(SECONDS):
        return await session.open_tab(new_id("tab"))


async def evaluated(tab: Tab, expression: str) -> Any:
    answer = await tab.cdp.send(
        runtime.Evaluate(expression=expression, return_by_value=True, user_gesture=True), timeout=SECONDS
    )
    raw = bytes(answer.result.value)
    return msgspec.json.decode(raw) if raw else None


async def at(tab: Tab, url: str) -> None:
    await tab.cdp.send(page.Navigate(url=url), timeout=SECONDS)
    await async_until(lambda: tab.page.url == url and not tab.page.loading, f"the tab is at {url}")


async def test_a_session_tells_what_it_runs_in(here: Place) -> None:
    session = await here.start()
    told = session.to_proto()
    assert told.status == pb.SESSION_STATUS_READY
    assert is_running(told.pid)
    assert told.pid in descendants(os.getpid())
    assert (told.sandbox, told.egress_isolation) == (pb.SANDBOX_STATE_ON, pb.EGRESS_ISOLATION_NAMESPACE)
    assert told.browser.name == "chromium-headless-shell"
    assert told.browser.version.count(".") == 3
    assert list(told.tabs) == []


@pytest.mark.parametrize("full", [False, True], ids=["shell", "full"])
async def test_a_new_tab_is_the_callers_and_nothing_else_is_a_tab(here: Place, full: bool) -> None:
    session = await here.start(settings=pb.SessionSettings(full_chromium=full))
    first = await opened(session)
    second = await opened(session)
    assert list(session.tabs.values()) == [first, second]
    assert [tab.to_proto().status for tab in (first, second)] == [pb.TAB_STATUS_IDLE] * 2
    assert here.reports.of("browser.tab.opened") == []


async def test_tabs_opened_at_once_get_their_own_ids(here: Place) -> None:
    session = await here.start()
    ids = [new_id("tab") for _ in range(8)]
    with deadlines.within(SECONDS):
        tabs = await asyncio.gather(*(session.open_tab(tab_id) for tab_id in ids))
    assert [tab.tab_id for tab in tabs] == ids
    assert len({tab.target_id for tab in tabs}) == 8


async def test_a_popup_is_a_tab_with_its_opener_and_says_when_it_closes_itself(here: Place, site: Site) -> None:
    session = await here.start(f"127.0.0.1:{site.port}")
    tab = await opened(session)
    await at(tab, site.put("/", "<h1>opener</h1>"))
    inner = site.put("/popup", "<h1>popup</h1>")
    await evaluated(tab, f"window.popup = open('{inner}'); 1")
    popup = await async_until(lambda: next(iter(tab.new_tabs_since(1)), None), "the popup's tab")
    assert popup is not None
    await async_until(lambda: popup.page.url == inner, "the popup's page")
    assert popup.opener_tab_id == tab.tab_id
    await async_until(lambda: here.reports.of("browser.tab.opened"), "its opening is told")
    assert here.reports.of("browser.tab.opened")[0].subject == popup.tab_id
    await evaluated(tab, "popup.close()")
    await async_until(popup.gone.is_set, "the popup is gone")
    assert [report.subject for report in here.reports.of("browser.tab.closed")] == [popup.tab_id]
    assert list(session.tabs.values()) == [tab]


async def test_a_tab_that_a_call_closes_is_not_told_as_closed_by_its_page(here: Place) -> None:
    session = await here.start()
    tab = await opened(session)
    with deadlines.within(SECONDS):
        await tab.close(run_beforeunload=False)
    assert session.tabs == {}
    assert here.reports.of("browser.tab.closed") == []


async def test_an_opening_that_is_cancelled_leaves_no_tab(here: Place) -> None:
    session = await here.start()
    for turns in range(6):
        opening = asyncio.create_task(session.open_tab(new_id("tab")))
        for _ in range(turns):
            await asyncio.sleep(0)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)

    async def pages() -> int:
        targets = await session.cdp.send(target.GetTargets(), timeout=SECONDS)
        return sum(info.type == "page" for info in targets.target_infos)

    async with asyncio.timeout(SECONDS):
        while session.tabs or await pages():
            await asyncio.sleep(0.02)
    assert here.reports.kept == []


async def test_a_dead_renderer_is_its_tabs_crash_and_a_navigation_revives_it(here: Place, site: Site) -> None:
    session = await here.start(f"127.0.0.1:{site.port}")
    tab, other = await opened(session), await opened(session)
    url = site.put("/", "<h1>here</h1>")
    await at(tab, url)
    tab.cdp.post(page.Navigate(url="chrome://crash"), timeout=SECONDS)
    await async_until(lambda: tab.status == pb.TAB_STATUS_CRASHED, "the tab has crashed")
    assert [report.subject for report in here.reports.of("browser.tab.crashed")] == [tab.tab_id]
    with pytest.raises(Refusal, match="tab_crashed"):
        tab.check_usable()
    assert await evaluated(other, "6*7") == 42
    tab.check_usable(reviving=True)
    await at(tab, url)
    assert await evaluated(tab, "document.body.innerText") == "here"
    assert [report.subject for report in here.reports.of("browser.tab.restored")] == [tab.tab_id]
    assert session.status == pb.SESSION_STATUS_READY


async def test_a_dead_chromium_is_its_sessions_crash_and_nobody_elses(here: Place) -> None:
    session, other = await here.start(), await here.start()
    await opened(session)
    kept = await opened(other)
    os.kill(session.chromium.pid, signal.SIGKILL)
    await async_until(lambda: here.ended_sessions, "its end is told")
    assert here.ended_sessions == [session]
    assert session.status == pb.SESSION_STATUS_CRASHED
    assert here.reports.of("browser.tab.closed") == []
    with pytest.raises(Refusal, match="session_crashed"):
        session.check_usable()
    assert await evaluated(kept, "6*7") == 42
    await session.close()
    assert not session.chromium.directory.path.exists()


async def test_closing_leaves_no_process_and_no_file(here: Place) -> None:
    session = await here.start()
    tab = await opened(session)
    pids = {pid for pid in descendants(os.getpid()) if pid in {session.chromium.pid, session.chromium.launcher_pid}}
    await session.close()
    await session.close()
    assert not any(is_running(pid) for pid in pids)
    assert not session.chromium.directory.path.exists()
    assert tab.gone.is_set()
    assert session.status == pb.SESSION_STATUS_CLOSED
    assert here.reports.kept == []


async def test_a_start_that_is_cancelled_leaves_nothing(here: Place) -> None:
    for delay in (0.0, 0.02, 0.05, 0.08, 0.12):
        before = descendants(os.getpid())
        starting = asyncio.create_task(here.start())
        await asyncio.sleep(delay)
        starting.cancel()
        outcome = await asyncio.gather(starting, return_exceptions=True)
        if isinstance(outcome[0], Session):
            await outcome[0].close()
        await async_until(lambda before=before: not appeared_since(before), "every process is gone", 5)
    assert list(here.directories.path.glob("sess_*")) == []
    assert list(here.directories.path.glob("tmp-*")) == []
