"""Nothing happens unseen (SPEC §9): what is done while the event log is away, and what is there after each death."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.acting import ActingAgent, Person, grants_for
from tests.running_system import RunningSystem
from tests.site import Site
from tests.waiting import until

BUTTON = """<title>Button</title><button onclick="fetch('/clicked')">Go</button>"""
GO = {"role": "button", "name": "Go"}
# The page holds the click's answer back: a synchronous request keeps its main thread busy until the site answers.
HOLDING = """<title>Holding</title><button onclick="const r = new XMLHttpRequest(); r.open('GET', '/hold', false);
 r.send()">Go</button>"""


@contextmanager
def stopped(pid: int) -> Generator[None]:
    """The process stands still inside."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def outcomes(system: RunningSystem, operation_id: str) -> list[str]:
    """Categories of an operation's events, oldest first."""
    events = system.rest.get("/api/events/recent?category_prefix=browser&limit=1000").json["events"]
    return [event["category"] for event in reversed(events) if event["operation_id"] == operation_id]


def test_without_the_log_nothing_is_done(system: RunningSystem, site: Site) -> None:
    person = Person.start(system.rest, site.put("/page", BUTTON))
    with stopped(system.pid_of("nats")):
        refused = person.act("click", target=GO)
        assert (refused.status, refused.error_code) == (503, "event_log_unavailable")
        assert site.hits("/clicked") == []
    until(lambda: person.act("click", target=GO).status == 200, "a click once the log is back", 15)
    until(lambda: site.hits("/clicked"), "the click that was let through")


@pytest.mark.parametrize("service_dies", [False, True], ids=["service lives", "service killed"])
def test_an_outcome_survives_the_logs_absence(system: RunningSystem, site: Site, service_dies: bool) -> None:
    person = Person.start(system.rest, site.put("/page", HOLDING))
    nats = system.pid_of("nats")
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(person.act, "click", target=GO)
        until(lambda: site.hits("/hold"), "the click reached the page: its intent is on the log")
        with stopped(nats):
            site.release()
            refused = call.result(30)
            assert (refused.status, refused.error_code) == (503, "event_log_unavailable")
            operation_id = refused.json["error"]["details"]["operation_id"]
            assert operation_id == refused.json["operation_id"]
            killed = system.kill("browser") if service_dies else None
    if killed is not None:
        system.wait_healed("browser", killed)
    wanted = ["browser.action.started", "browser.action.click"]
    until(lambda: outcomes(system, operation_id) == wanted, "the outcome on the log", 15)
    read = system.rest.get(f"/api/operations/{operation_id}")
    assert read.status == 200, read.body


@pytest.mark.parametrize("part", ["agent", "gateway", "health"])
def test_a_killed_part_forgets_nothing(system: RunningSystem, site: Site, part: str) -> None:
    agent = ActingAgent.create(system.rest, grants_for(site)).start(site.put("/page", BUTTON))
    operation_id = agent.on_tab("click", target=GO).json["operation_id"]
    before = (agent.get(), system.rest.get(f"/api/operations/{operation_id}").json, agent.events())
    system.wait_healed(part, system.kill(part))

    def answers() -> bool:
        return system.rest.get(f"/api/agents/{agent.agent_id}").status == 200

    until(answers, "the agent readable again")
    assert (agent.get(), system.rest.get(f"/api/operations/{operation_id}").json, agent.events()) == before
    again = agent.on_tab("click", target=GO)
    assert again.status == 200, again.body


def test_an_interrupted_write_gets_an_outcome(system: RunningSystem, site: Site) -> None:
    person = Person.start(system.rest, site.put("/page", HOLDING))
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(person.act, "click", target=GO)
        until(lambda: site.hits("/hold"), "the click reached the page")
        killed = system.kill("browser")
        answer = call.result(60)
    assert answer.status == 503
    system.wait_healed("browser", killed)

    def settled() -> bool:
        events = system.rest.get("/api/events/recent?category_prefix=browser.action&limit=10").json["events"]
        return any(
            event["category"] == "browser.action.failed" and event["data"].get("code") == "interrupted"
            for event in events
        )

    until(settled, "the write's outcome: interrupted", 15)
