"""A session whose browser, or whose browser's launcher, is killed -9: one crash, and nobody else's."""

from __future__ import annotations

import os
import signal

import pytest

from tests import process_table
from tests.acting import Person
from tests.chaos import record
from tests.chaos.sessions import session
from tests.running_system import RunningSystem
from tests.site import Site
from tests.waiting import until

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("what", ["chromium", "launcher"])
def test_a_killed_browser_is_a_crash_of_its_session_alone(
    system: RunningSystem, person: Person, site: Site, what: str
) -> None:
    since = record.last_sequence(system)
    untouched = session(system, person.session_id)["pid"]
    hurt = Person.start(system.rest, site.url("/page"))
    browser = session(system, hurt.session_id)["pid"]
    launcher = process_table.parent_of(browser)
    assert launcher is not None
    below = process_table.descendants(launcher)
    os.kill(browser if what == "chromium" else launcher, signal.SIGKILL)
    until(lambda: session(system, hurt.session_id)["restart_count"] == 1, "the session restored", 15)
    until(lambda: not {pid for pid in below if process_table.is_running(pid)}, "the dead browser's processes gone", 5)
    assert hurt.act("navigate", url=site.url("/page")).result["title"] == "Page"
    assert session(system, person.session_id)["pid"] == untouched
    assert person.act("read_page", format="text").status == 200
    hurt.close()
    told = [event for event in record.events_after(system, since) if event["category"] == "browser.session.crashed"]
    assert [event["session_id"] for event in told] == [hurt.session_id]
    assert told[0]["data"]["reason"]
    assert "stderr" in told[0]["data"]
    record.check(system, since, [])
