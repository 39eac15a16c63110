"""A service that stands still (SIGSTOP): its callers are told in time, others notice nothing, and it goes on."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.acting import Person
from tests.running_system import RunningSystem
from tests.waiting import until

# The longest deadline passes within.
pytestmark = pytest.mark.timeout(120)


def test_a_frozen_browser_service_is_told_in_time(system: RunningSystem, person: Person) -> None:
    frozen = system.pid_of("browser")
    os.kill(frozen, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        answer = person.act("read_page", format="text", timeout_ms=2_000)
        took = time.monotonic() - begun
        assert (answer.status, answer.error_code) == (504, "deadline_exceeded")
        # The deadline is kept to within 250 ms (SPEC §4); as much again is the test's own way there and back.
        assert took < 2.5, took
        assert system.rest.get("/api/agents").status == 200
        begun = time.monotonic()
        health = system.rest.get("/api/health").json
        assert time.monotonic() - begun < 2.5
        assert health["status"] != "healthy"
    finally:
        os.kill(frozen, signal.SIGCONT)
    until(lambda: person.act("read_page", format="text").status == 200, "the session answers again", 15)


def test_frozen_services_are_told_within_the_deadline(system: RunningSystem) -> None:
    """30 s by default (SPEC §4): all three at once, since each takes as long."""
    frozen = [system.pid_of(part) for part in ("agent", "search", "messaging")]
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        begun = time.monotonic()
        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(system.rest.get, ["/api/agents", "/api/search", "/api/messages"]))
        took = time.monotonic() - begun
        assert {(each.status, each.error_code) for each in answers} <= {
            (504, "deadline_exceeded"),
            (503, "unavailable"),
        }
        assert took < 31, took
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)
    for path in ("/api/agents", "/api/search", "/api/messages"):
        until(lambda path=path: system.rest.get(path).status == 200, f"{path} answers again", 15)
