"""A dead browser, and a dead browser service, come back with what they had (SPEC §4, "Crashes")."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.acting import Person
from tests.running_system import RunningSystem
from tests.site import Page, Site
from tests.waiting import until

BACK_SECONDS = 10.0


def cookies_sent(site: Site, path: str) -> str:
    """The Cookie header of the last request for a path."""
    return site.hits(path)[-1].headers.get("cookie", "")


def with_cookies(site: Site) -> str:
    """A page that sets a lasting and a session cookie; returns its URL."""
    site.pages["/in"] = Page(
        b"<title>In</title><a href=/next>next</a>", headers={"set-cookie": "lasting=1; Max-Age=3600; Path=/"}
    )
    return site.put("/start", "<title>Start</title><script>document.cookie = 'brief=2'</script>")


def session_of(system: RunningSystem, session_id: str) -> Any:
    return system.rest.get(f"/api/browser/sessions/{session_id}").json


def kill_chromium(system: RunningSystem, session_id: str) -> None:
    os.kill(session_of(system, session_id)["pid"], signal.SIGKILL)


def test_a_killed_chromium_comes_back_under_its_ids(shared_system: RunningSystem, site: Site) -> None:
    rest = shared_system.rest
    person = Person.start(rest, with_cookies(site))
    assert person.act("navigate", url=site.url("/in")).status == 200
    second = rest.post(f"/api/browser/sessions/{person.session_id}/tabs", {"url": site.url("/start")}).result
    other = Person.start(rest, site.url("/start"))
    other_pid = session_of(shared_system, other.session_id)["pid"]
    before = session_of(shared_system, person.session_id)
    ref = person.act("read_page", format="snapshot").result["content"]
    assert "e1" in ref

    begun = time.monotonic()
    kill_chromium(shared_system, person.session_id)
    until(lambda: session_of(shared_system, person.session_id)["restart_count"] == 1, "the session back", BACK_SECONDS)
    took = time.monotonic() - begun
    after = session_of(shared_system, person.session_id)
    assert after["status"] == "ready"
    assert [(tab["tab_id"], tab["url"]) for tab in after["tabs"]] == [
        (tab["tab_id"], tab["url"]) for tab in before["tabs"]
    ]
    assert after["pid"] != before["pid"]
    assert after["created_at_ms"] == before["created_at_ms"]
    assert cookies_sent(site, "/in").split("; ") == ["brief=2", "lasting=1"]
    stale = person.act("click", target={"ref": "e1"})
    assert (stale.status, stale.error_code) == (409, "stale_ref")
    assert "e1 " not in person.act("read_page", format="snapshot").result["content"]
    assert session_of(shared_system, other.session_id)["pid"] == other_pid

    def told() -> list[str]:
        events = rest.get(f"/api/events/recent?subject={person.session_id}&limit=100").json["events"]
        return [
            event["category"]
            for event in reversed(events)
            if "restored" in event["category"] or "crash" in event["category"]
        ]

    assert told() == ["browser.session.crashed", "browser.session.restored", *["browser.tab.restored"] * 2]
    assert second["tab_id"] in {tab["tab_id"] for tab in after["tabs"]}
    assert took < BACK_SECONDS
    person.close()
    other.close()


def test_an_operation_in_flight_fails_and_the_next_works(shared_system: RunningSystem, site: Site) -> None:
    person = Person.start(shared_system.rest, site.put("/page", "<title>Page</title>"))
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(person.act, "navigate", url=site.url("/hold"))
        until(lambda: site.hits("/hold"), "the navigation under way")
        kill_chromium(shared_system, person.session_id)
        failed = call.result(30)
    assert (failed.status, failed.error_code) == (503, "session_crashed")
    # It waits for the session to be back.
    assert person.act("navigate", url=site.url("/page")).result["title"] == "Page"
    person.close()


def test_five_crashes_in_a_minute_are_the_end(shared_system: RunningSystem, site: Site) -> None:
    person = Person.start(shared_system.rest, site.put("/page", "<title>Page</title>"))
    for crash in range(1, 6):
        kill_chromium(shared_system, person.session_id)

        def settled(crash: int = crash) -> bool:
            session = session_of(shared_system, person.session_id)
            wanted = ("ready", crash) if crash < 5 else ("crashed", 4)
            return (session["status"], session["restart_count"]) == wanted

        until(settled, f"the session after crash {crash}", BACK_SECONDS)
    refused = person.act("read_page")
    assert (refused.status, refused.error_code) == (503, "session_crashed")
    person.close()


def test_a_killed_browser_service_brings_its_sessions_back(system: RunningSystem, site: Site) -> None:
    people = [Person.start(system.rest, with_cookies(site)) for _ in range(2)]
    for person in people:
        assert person.act("navigate", url=site.url("/in")).status == 200
    pids = [session_of(system, person.session_id)["pid"] for person in people]
    before = [session_of(system, person.session_id)["tabs"] for person in people]
    system.wait_healed("browser", system.kill("browser"))

    def back() -> bool:
        return all(session_of(system, person.session_id)["status"] == "ready" for person in people)

    until(back, "both sessions back", BACK_SECONDS)
    for person, pid, tabs in zip(people, pids, before, strict=True):
        session = session_of(system, person.session_id)
        assert session["pid"] != pid
        assert [(tab["tab_id"], tab["url"]) for tab in session["tabs"]] == [(tab["tab_id"], tab["url"]) for tab in tabs]
        assert person.act("navigate", url=site.url("/in")).result["title"] == "In"
        assert cookies_sent(site, "/in").split("; ") == ["brief=2", "lasting=1"]
