"""Sessions as a user meets their bounds: the queue, idle ones, profiles, memory, browsers started in advance."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests import process_table
from tests.rest_client import RestClient
from tests.running_system import RunningSystem
from tests.site import Page, Site
from tests.waiting import until

SESSIONS = "/api/browser/sessions"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSystem]:
    """A system with room for two sessions and no warm browsers."""
    environment = {"HYPERKITTY_MAX_SESSIONS": "2", "HYPERKITTY_WARM_POOL": "0"}
    running = RunningSystem(tmp_path_factory.mktemp("home"), environment=environment).wait_ready()
    yield running
    assert running.stop() == 0


def create(rest: RestClient, **body: object) -> Any:
    reply = rest.post(SESSIONS, body)
    assert reply.status == 200, reply.body
    return reply.result


def close(rest: RestClient, session: Any) -> None:
    assert rest.post(f"{SESSIONS}/{session['session_id']}/close", {}).status == 200


def status_of(rest: RestClient, session: Any) -> str:
    return rest.get(f"{SESSIONS}/{session['session_id']}").json["status"]


def events_of(rest: RestClient, subject: str, category: str) -> list[Any]:
    found = rest.get(f"/api/events/recent?subject={subject}&category_prefix={category}&limit=50").json["events"]
    return list(found)


def test_a_session_too_many_waits_for_one_to_end(small: RunningSystem) -> None:
    rest = small.rest
    open_now = [create(rest), create(rest)]
    with ThreadPoolExecutor(1) as threads:
        third = threads.submit(create, small.rest)
        until(lambda: _queued(rest) == 1, "one call is queued")
        assert not third.done()
        close(rest, open_now[0])
        waited = third.result(10)
    assert status_of(rest, waited) == "ready"
    for session in (open_now[1], waited):
        close(rest, session)


def _queued(rest: RestClient) -> int:
    services = rest.get("/api/health").json["services"]
    return next(int(each["counts"]["sessions_queued"]) for each in services if each["name"] == "browser")


def test_an_idle_session_is_closed_and_one_in_use_is_not(small: RunningSystem, site: Site) -> None:
    rest = small.rest
    idle = create(rest, settings={"idle_timeout_ms": 1500})
    used = create(rest, settings={"idle_timeout_ms": 1500})
    tab = rest.post(f"{SESSIONS}/{used['session_id']}/tabs", {"url": site.put("/used", "<title>Used</title>")}).result
    path = f"{SESSIONS}/{used['session_id']}/tabs/{tab['tab_id']}/actions"
    # A command that waits longer than the session may be idle.
    waiting = rest.post(path, {"op": "wait_for", "args": {"text": "never there", "timeout_ms": 4000}})
    assert waiting.error_code == "deadline_exceeded"
    assert status_of(rest, used) == "ready"
    until(lambda: status_of(rest, idle) == "closed", "the idle session is closed", 10)
    (closed,) = events_of(rest, idle["session_id"], "browser.session.closed")
    assert closed["data"]["reason"] == "idle"
    until(lambda: status_of(rest, used) == "closed", "the other is closed in its turn", 10)


def test_a_named_profile_keeps_cookies_and_serves_one_session(small: RunningSystem, site: Site) -> None:
    rest = small.rest
    site.pages["/set"] = Page(b"<title>Set</title>", headers={"set-cookie": "kept=1; Max-Age=3600; Path=/"})
    first = create(rest, profile="work")
    assert first["profile"] == "work"
    refused = rest.post(SESSIONS, {"profile": "work"})
    assert (refused.status, refused.error_code) == (409, "profile_in_use")
    assert rest.post(f"{SESSIONS}/{first['session_id']}/tabs", {"url": site.url("/set")}).status == 200
    close(rest, first)
    site.put("/again", "<title>Again</title>")
    second, other = create(rest, profile="work"), create(rest, profile="play")
    for session in (second, other):
        assert rest.post(f"{SESSIONS}/{session['session_id']}/tabs", {"url": site.url("/again")}).status == 200
        close(rest, session)
    sent = [hit.headers.get("cookie", "") for hit in site.hits("/again")]
    assert sent == ["kept=1", ""]


def test_memory_is_measured(small: RunningSystem, site: Site) -> None:
    rest = small.rest
    session = create(rest)
    path = f"{SESSIONS}/{session['session_id']}"
    until(lambda: rest.get(path).json["memory_bytes"] > 20 * 1024**2, "the session's memory is known", 10)
    close(rest, session)


def test_a_warm_browser_serves_a_session_at_once_and_is_replaced(tmp_path_factory: pytest.TempPathFactory) -> None:
    system = RunningSystem(tmp_path_factory.mktemp("home"), environment={"HYPERKITTY_WARM_POOL": "1"}).wait_ready()
    try:
        rest = system.rest
        browsers = system.pid_of("browser")
        until(lambda: _warm(rest) == 1, "a browser is warm", 15)
        below = set(process_table.descendants(browsers))
        session = create(rest)
        assert session["pid"] in below
        until(lambda: _warm(rest) == 1, "another is warm", 15)
        close(rest, session)
        assert not process_table.is_running(session["pid"])
    finally:
        assert system.stop() == 0


def _warm(rest: RestClient) -> int:
    services = rest.get("/api/health").json["services"]
    return next(int(each["counts"]["warm_browsers"]) for each in services if each["name"] == "browser")
