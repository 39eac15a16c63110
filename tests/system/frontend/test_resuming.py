"""The event stream comes back by itself after a part of the system died, with nothing missed and nothing doubled."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.running_system import RunningSystem
from tests.system.frontend.conftest import Frontend
from tests.system.frontend.test_events import create_agents, sequences
from tests.waiting import until


@pytest.mark.parametrize("part", ["gateway", "health"])
def test_nothing_is_missed_or_doubled(frontend: Frontend, system: RunningSystem, part: str) -> None:
    frontend.refusals_expected = True
    page = frontend.open(system)
    page.get_by_role("link", name="Event stream").click()
    create_agents(system.rest, 3)
    entries = page.locator("ol.events li")
    expect(entries.filter(has_text="agent.created")).to_have_count(3)
    killed = system.kill(part)
    if part == "health":
        # The log is written while nobody can read it.
        create_agents(system.rest, 3)
    system.wait_healed(part, killed)
    if part == "gateway":
        create_agents(system.rest, 3)
    expect(entries.filter(has_text="agent.created")).to_have_count(6)
    page.get_by_text("Live", exact=True).wait_for()
    create_agents(system.rest, 1)
    expect(entries.filter(has_text="agent.created")).to_have_count(7)

    def known() -> list[int]:
        return [event["sequence"] for event in system.rest.get("/api/events/recent?limit=1000").json["events"]]

    until(lambda: sequences(entries) == known(), "every event of the log once, in order")
