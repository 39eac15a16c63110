"""One failure stays one failure (SPEC §1): part × fault × what goes on × back within s."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from services.kit.settings import home_hash
from tests import process_table
from tests.acting import Person
from tests.chaos.looping import CALL_SECONDS, Loop
from tests.running_system import RunningSystem
from tests.site import Site
from tests.waiting import until

# What a caller may be told while a part is away: all say that trying again is right (SPEC §10).
AWAY = {
    "unavailable",
    "interrupted",
    "session_crashed",
    "event_log_unavailable",
    "deadline_exceeded",
    "wrong_state",
    "not_found",
}
SHOWN = "not_authorized"
"""The refusal that each demonstration shows."""
BACK_SECONDS = 20.0
PARTS = ["nats", "browser", "agent", "search", "messaging", "health", "gateway"]


def events_of(system: RunningSystem) -> list[dict[str, Any]]:
    return list(reversed(system.rest.get("/api/events/recent?limit=1000").json["events"]))


def check_the_record(system: RunningSystem, succeeded: list[str]) -> None:
    """Everything that was answered as done is on the log once, with its record."""
    events = events_of(system)
    assert [event_id for event_id, times in Counter(event["event_id"] for event in events).items() if times > 1] == []
    oldest = events[0]["emitted_at_ms"]
    intents = {event["operation_id"] for event in events if event["category"].endswith(".started")}
    ended = Counter(event["operation_id"] for event in events if not event["category"].endswith(".started"))
    for operation_id in succeeded:
        record = system.rest.get(f"/api/operations/{operation_id}")
        assert record.status == 200, f"{operation_id}: {record.body!r}"
        assert record.json["status"] == "succeeded"
        # The log is read as far as one page goes; what is older than it was seen by an earlier look.
        if record.json["created_at_ms"] > oldest:
            told = ended[operation_id]
            assert told == 1 if operation_id in intents else told >= 1, f"{record.json['kind']}: {told} outcomes"


@pytest.mark.parametrize("part", PARTS)
def test_the_demonstration_goes_on_after_a_kill(system: RunningSystem, part: str) -> None:
    with Loop(system) as loop:
        until(lambda: loop.completed >= 1, "a first run", BACK_SECONDS)
        killed = system.kill(part)
        system.wait_healed(part, killed)
        before = loop.completed
        until(lambda: loop.completed > before + 1, f"runs after {part} was killed", BACK_SECONDS)
    assert loop.unexpected == []
    assert {error["code"] for error in loop.calls.refused} <= AWAY | {SHOWN}
    assert loop.calls.longest_seconds < CALL_SECONDS
    if part in ("search", "messaging"):
        assert loop.failed == 0
    check_the_record(system, loop.calls.succeeded)


def test_every_part_killed_in_turn_leaves_nothing_behind(system: RunningSystem) -> None:
    with Loop(system) as loop:
        for part in PARTS:
            system.wait_healed(part, system.kill(part))
        before = loop.completed
        until(lambda: loop.completed > before + 1, "runs after all kills", BACK_SECONDS)
    assert loop.unexpected == []
    assert {error["code"] for error in loop.calls.refused} <= AWAY | {SHOWN}
    assert system.stop() == 0
    mark = home_hash(system.home)
    assert process_table.carrying(mark) == set()
    assert list(Path("/var/tmp", f"hyperkitty-{mark}").glob("sess_*")) == []


def test_a_killed_launcher_is_a_crash_of_its_session_alone(system: RunningSystem, site: Site) -> None:
    url = site.put("/page", "<title>Page</title>")
    hurt, other = Person.start(system.rest, url), Person.start(system.rest, url)

    def session(person: Person) -> Any:
        return system.rest.get(f"/api/browser/sessions/{person.session_id}").json

    launcher = process_table.parent_of(session(hurt)["pid"])
    untouched = session(other)["pid"]
    assert launcher is not None
    os.kill(launcher, signal.SIGKILL)
    until(lambda: session(hurt)["restart_count"] == 1, "the session restored", BACK_SECONDS)
    assert hurt.act("navigate", url=url).result["title"] == "Page"
    assert session(other)["pid"] == untouched
    crashed = next(event for event in events_of(system) if event["category"] == "browser.session.crashed")
    assert crashed["session_id"] == hurt.session_id
    assert crashed["data"]["reason"]


def test_a_frozen_browser_service_is_told_in_time(system: RunningSystem, site: Site) -> None:
    person = Person.start(system.rest, site.put("/page", "<title>Page</title>"))
    frozen = system.pid_of("browser")
    os.kill(frozen, signal.SIGSTOP)
    try:
        answer = person.act("read_page", timeout_ms=1_000)
        assert answer.error_code in ("deadline_exceeded", "unavailable")
        assert system.rest.get("/api/agents").status == 200
        assert system.rest.get("/api/health").json["status"] != "healthy"
    finally:
        os.kill(frozen, signal.SIGCONT)
    until(lambda: person.act("read_page").status == 200, "the session answers again", BACK_SECONDS)
