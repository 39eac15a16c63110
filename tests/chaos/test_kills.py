"""One failure stays one failure (SPEC §1): part × fault × what goes on meanwhile × back within s."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.acting import Person
from tests.chaos import record
from tests.chaos.looping import CALL_SECONDS, Loop
from tests.chaos.sessions import open_sessions, session
from tests.rest_client import Reply
from tests.running_system import RunningSystem
from tests.waiting import until

# Runs of the demonstration before and after, on a machine that may be busy.
pytestmark = pytest.mark.timeout(180)

FIRST_SECONDS = 30.0
# An agent's sessions are closed after its end, also when the browser service was away then.
CLOSED_SECONDS = 30.0


@dataclass(frozen=True)
class Row:
    """A part killed -9. `told` are the error codes that a call under way may end with, all typed (SPEC §10)."""

    part: str
    # The steps of the demonstration that are under way at the kill, one test each.
    during: tuple[str, ...]
    goes_on: tuple[str, ...]
    told: frozenset[str]
    back_seconds: float
    # Whether sessions are restored, which loads their documents anew.
    restores: bool = False


def row(
    part: str, goes_on: str, told: str, back_seconds: float, *, during: tuple[str, ...], restores: bool = False
) -> Row:
    return Row(part, during, tuple(goes_on.split()), frozenset(told.split()), back_seconds, restores)


START, CLICK, COMPLETE, RECORD = "start a browser session", "press its button", "complete", "read the record"
TABLE = [
    row("nats", "page", "event_log_unavailable unavailable interrupted", 15, during=(START, CLICK, COMPLETE)),
    row(
        "browser",
        "page agents messages search record health",
        "unavailable interrupted",
        20,
        during=(START, CLICK, COMPLETE),
        restores=True,
    ),
    row(
        "agent",
        "page sessions acting messages search record health",
        "unavailable interrupted",
        15,
        during=(START, CLICK, COMPLETE),
    ),
    row("search", "page sessions acting agents messages record health", "", 15, during=(CLICK,)),
    row("messaging", "page sessions acting agents search record health", "", 15, during=(CLICK,)),
    row("health", "page sessions acting agents messages search", "unavailable interrupted", 15, during=(RECORD,)),
    row("gateway", "", "", 15, during=(START, CLICK)),
]


def goes_on(system: RunningSystem, person: Person) -> dict[str, Callable[[], Reply]]:
    """One call of each service, by what it is called in the table."""
    rest = system.rest
    message = {"recipient": "user:chaos", "payload": {"text": "still here"}}
    return {
        "page": lambda: rest.get("/"),
        "agents": lambda: rest.get("/api/agents"),
        "sessions": lambda: rest.get("/api/browser/sessions"),
        "acting": lambda: person.act("read_page", format="text"),
        "messages": lambda: rest.post("/api/messages", message),
        "search": lambda: rest.post("/api/search", {"query": "tides", "provider": "mock"}),
        "record": lambda: rest.get("/api/events/recent"),
        "health": lambda: rest.get("/api/health"),
    }


def pids(system: RunningSystem) -> dict[str, object]:
    return {name: facts["pid"] for name, facts in system.parts().items()}


CASES = [pytest.param(row, step, id=f"{row.part}, {step}") for row in TABLE for step in row.during]


@pytest.mark.parametrize(("row", "step"), CASES)
def test_a_killed_part_takes_nothing_else_down(system: RunningSystem, person: Person, row: Row, step: str) -> None:
    calls = goes_on(system, person)
    until(lambda: calls["health"]().json["status"] == "healthy", "all well before", FIRST_SECONDS)
    since, before = record.last_sequence(system), pids(system)
    chromium = session(system, person.session_id)["pid"]
    killed = system.pid_of(row.part)
    with Loop(system) as loop:
        until(lambda: loop.runs, "a first run", FIRST_SECONDS)
        assert loop.runs[0].completed, (loop.unexpected, loop.calls.refused)
        until(lambda: loop.step == step, "the step to be under way", FIRST_SECONDS)
        os.kill(killed, signal.SIGKILL)
        killed_at = time.monotonic()
        meanwhile = {name: calls[name]() for name in row.goes_on}
        until(
            lambda: loop.completed_since(killed_at) >= 1,
            f"a whole run after {row.part} was killed; calls were told {loop.calls.refused}",
            row.back_seconds,
        )
        system.wait_healed(row.part, killed)
    assert {name: reply.body for name, reply in meanwhile.items() if reply.status != 200} == {}
    after = pids(system)
    assert {name for name in before if before[name] != after[name]} == {row.part}
    check_told(loop, row)
    check_hits(loop, row)
    record.check(system, since, loop.calls.succeeded)
    until(lambda: person.act("read_page", format="text").status == 200, "the other session answers", row.back_seconds)
    if not row.restores:
        assert session(system, person.session_id)["pid"] == chromium
    until(lambda: calls["health"]().json["status"] == "healthy", "all well after", FIRST_SECONDS)
    until(lambda: open_sessions(system) == {person.session_id}, "no session of an ended agent", CLOSED_SECONDS)


def check_told(loop: Loop, row: Row) -> None:
    """Calls ended well, or with a typed error that says what to do; none hung, none found nonsense."""
    assert loop.unexpected == []
    for error in loop.calls.refused:
        assert error["code"] in row.told, error
        assert error["http_status"] == 503, error
        assert error["message"], error
        assert error["hint"], error
    assert loop.calls.unreachable == 0 or row.part == "gateway"
    assert loop.calls.longest_seconds < CALL_SECONDS
    if not row.told and row.part != "gateway":
        assert all(run.completed for run in loop.runs)


def check_hits(loop: Loop, row: Row) -> None:
    """What the demonstration's own site saw: each page once, none twice."""
    for run in loop.runs:
        if row.restores:
            assert set(run.hits) <= {"/", "/search?q=tides", "/book/tides"}
        elif run.completed:
            assert run.hits == ["/", "/search?q=tides", "/book/tides"]
        else:
            assert run.hits == ["/", "/search?q=tides", "/book/tides"][: len(run.hits)]
