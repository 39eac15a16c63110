"""`up` with the real services: ready in time, each part healed alone, nothing left at the end."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.processes import TABLE
from tests import process_table
from tests.running_system import RunningSystem
from tests.waiting import until

READY_SECONDS = 6.0
STOP_SECONDS = 10.0


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSystem]:
    """One system for the kills of this file, each of which it must survive."""
    system = RunningSystem(tmp_path_factory.mktemp("home")).wait_ready()
    yield system
    system.stop()


def test_ready_in_time(tmp_path: Path) -> None:
    """The best of three starts on one home, so that a busy machine does not decide."""
    took: list[float] = []
    for _ in range(3):
        system = RunningSystem(tmp_path).wait_ready()
        until(lambda system=system: "ready after" in system.output, "the line that says ready")
        said = re.search(r"ready after ([\d.]+) s", system.output)
        assert said is not None
        took.append(float(said[1]))
        assert system.stop() == 0
    assert min(took) < READY_SECONDS, took


def test_all_parts_are_ready(running: RunningSystem) -> None:
    parts = running.parts()
    assert set(parts) == {process.name for process in TABLE}
    assert {facts["state"] for facts in parts.values()} == {"ready"}
    assert running.rest.get("/livez").status == 200
    assert running.rest.get("/readyz").json["status"] == "ready"


@pytest.mark.parametrize("part", [process.name for process in TABLE])
def test_a_killed_part_comes_back_alone(running: RunningSystem, part: str) -> None:
    before = {name: facts["pid"] for name, facts in running.parts().items()}
    running.wait_healed(part, running.kill(part))
    after = running.parts()
    assert {name for name, facts in after.items() if facts["pid"] != before[name]} == {part}
    until(lambda: running.rest.get("/readyz").json["status"] == "ready", "the gateway sees all parts")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_everything_in_time(system: RunningSystem, number: signal.Signals) -> None:
    """With a browser session open: Chromium's processes are among those that must be gone."""
    session = system.rest.post("/api/browser/sessions").result["session_id"]
    members = system.members()
    assert session.startswith("sess_")
    began = time.monotonic()
    system.process.send_signal(number)
    assert system.process.wait(STOP_SECONDS) == 0
    assert time.monotonic() - began < STOP_SECONDS
    assert not {pid for pid in members if process_table.is_running(pid)}
    assert not system.state_file.exists()


def test_kill_9_of_the_supervisor_leaves_nothing(system: RunningSystem) -> None:
    assert system.rest.post("/api/browser/sessions").result["session_id"]
    members = system.members()
    system.process.kill()
    system.process.wait(STOP_SECONDS)
    until(lambda: not {pid for pid in members if process_table.is_running(pid)}, "all processes gone", 5)
