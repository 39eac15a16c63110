"""Whatever a page does, calls end in time, and the control lane is open (SPEC §4, "Never a hang")."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from tests.acting import Person
from tests.rest_client import Reply
from tests.running_system import RunningSystem
from tests.site import Site

T = TypeVar("T")
LATE_SECONDS = 0.25
BUSY_MACHINE_SECONDS = 0.5
"""Two cores run the test, the system, and whatever else runs beside it."""
CONTROL_SECONDS = 0.3

ENDLESS = "<title>Endless</title><button>go</button><script>setTimeout(() => { for (;;); }, 50)</script>"
STORM = "<title>Storm</title><script>setTimeout(() => { for (;;) alert('again') }, 50)</script>"


def code_of(reply: Reply) -> str:
    """The error's code; empty for a call that was done."""
    return "" if reply.status == 200 else reply.error_code


def timed(act: Callable[[], T]) -> tuple[T, float]:
    begun = time.monotonic()
    return act(), time.monotonic() - begun


def silent_page(person: Person) -> None:
    """Until the page's main thread has stopped answering."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if code_of(person.act("query_element", target={"selector": "button"})) == "page_unresponsive":
            return
    raise AssertionError("the page goes on answering")


def test_a_silent_tab_and_its_session_close(shared_system: RunningSystem, site: Site) -> None:
    person = Person.start(shared_system.rest, site.put("/endless", ENDLESS))
    silent_page(person)
    closed, took = timed(lambda: shared_system.rest.post(f"{person.path}/close", {}))
    assert closed.status == 200, closed.body
    assert took < 1 + BUSY_MACHINE_SECONDS
    person.close()


def test_the_control_lane_passes_a_command_that_waits(shared_system: RunningSystem, site: Site) -> None:
    person = Person.start(shared_system.rest, site.put("/start", "<title>Start</title>"))
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(person.act, "navigate", url=site.url("/hold"), timeout_ms=3_000)
        status, took = timed(lambda: shared_system.rest.get(f"/api/browser/sessions/{person.session_id}"))
        assert status.status == 200
        assert took < CONTROL_SECONDS
        late = waiting.result(10)
    assert late.error_code == "deadline_exceeded"
    assert person.act("navigate", url=site.url("/start")).status == 200
    person.close()


@pytest.mark.parametrize("timeout_ms", [1, 300, 1_000])
def test_deadlines_hold_when_no_answer_comes(shared_system: RunningSystem, site: Site, timeout_ms: int) -> None:
    person = Person.start(shared_system.rest, site.put("/start", "<title>Start</title>"))
    reply, took = timed(lambda: person.act("navigate", url=site.url("/hold"), timeout_ms=timeout_ms))
    assert reply.error_code == "deadline_exceeded"
    assert took < timeout_ms / 1000 + LATE_SECONDS + BUSY_MACHINE_SECONDS
    assert person.act("navigate", url=site.url("/start")).status == 200
    person.close()


def test_a_storm_of_alerts_wedges_nothing(shared_system: RunningSystem, site: Site) -> None:
    person = Person.start(shared_system.rest, site.put("/storm", STORM))

    def read() -> Reply:
        return person.act("read_page", format="text", timeout_ms=2_000)

    deadline = time.monotonic() + 5
    while code_of(read()) != "dialog_open" and time.monotonic() < deadline:
        pass
    for _ in range(20):
        answered, took = timed(lambda: person.act("handle_dialog", accept=True))
        assert code_of(answered) in ("", "wrong_state")
        assert took < CONTROL_SECONDS + BUSY_MACHINE_SECONDS
    closed, took = timed(lambda: shared_system.rest.post(f"{person.path}/close", {}))
    assert closed.status == 200, closed.body
    assert took < 1 + BUSY_MACHINE_SECONDS
    person.close()
