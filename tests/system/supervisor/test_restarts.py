"""Each part is restarted on its own, and what cannot be helped is reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deploy.processes import TABLE
from tests import process_table
from tests.system.supervisor.conftest import Start
from tests.waiting import until


@pytest.mark.parametrize("part", [process.name for process in TABLE])
def test_a_killed_part_comes_back_alone(start: Start, part: str) -> None:
    system = start(faults={part: "family"}).wait_ready()
    before = {name: facts["pid"] for name, facts in system.parts().items()}
    state = system.state
    below = process_table.descendants(system.pid_of(part))
    assert len(below) == (part != "nats")
    system.wait_healed(part, system.kill(part))
    after = system.parts()
    assert {name for name, facts in after.items() if facts["pid"] != before[name]} == {part}
    assert after[part]["restarts"] == 1
    assert after[part]["last_exit"] == "killed by SIGKILL"
    # Its descendants went with it, and clients find the system where it was.
    assert not {pid for pid in below if process_table.is_running(pid)}
    assert system.state == state


def test_a_part_that_never_starts_is_down_and_the_rest_serves(start: Start) -> None:
    system = start(faults={"search": "crash"})
    until(lambda: "search     down" in system.output, "search reported down", 60)
    system.wait_ready()
    assert system.parts()["search"]["state"] in ("down", "starting")
    assert {facts["state"] for name, facts in system.parts().items() if name != "search"} == {"ready"}
    # What it said last is quoted.
    assert "| stand-in crashes" in system.output


def test_refused_settings_end_the_start_saying_why(start: Start) -> None:
    system = start(faults={"health": "settings"})
    assert system.process.wait(20) == 1
    until(lambda: "HYPERKITTY_X is not a setting" in system.output, "the reason")
    assert "health refused its settings" in system.output


def test_restart_counts_are_in_the_runtime_directory_for_health_to_read(start: Start) -> None:
    system = start().wait_ready()
    system.wait_healed("agent", system.kill("agent"))
    facts = json.loads((system.runtime / "supervisor.json").read_text())
    assert facts["pid"] == system.process.pid
    assert facts["processes"]["agent"]["restarts"] == 1
    assert facts["processes"]["browser"]["restarts"] == 0


def test_output_of_a_part_is_in_its_log(start: Start) -> None:
    system = start().wait_ready()
    key = Path(system.home, "keys", "private", "messaging.pem")
    assert f"messaging starts as {key}" in system.log("messaging")
