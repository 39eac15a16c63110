"""However it is ended, a system leaves nothing running."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests import process_table
from tests.running_system import TREE, RunningSystem
from tests.system.supervisor.conftest import Start
from tests.waiting import until

HYPERKITTY = str(TREE / ".venv" / "bin" / "hyperkitty")


def hyperkitty(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HYPERKITTY_HOME": str(home)}
    return subprocess.run([HYPERKITTY, *arguments], env=environment, capture_output=True, text=True, timeout=20)


def assert_gone(system: RunningSystem, members: set[int], seconds: float) -> None:
    until(lambda: not {pid for pid in members if process_table.is_running(pid)}, "all processes gone", seconds)
    assert not process_table.carrying(str(system.home))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_everything_in_order(start: Start, number: signal.Signals) -> None:
    system = start().wait_ready()
    members = system.members()
    runtime = system.runtime
    assert len(members) > 7
    system.process.send_signal(number)
    assert system.process.wait(10) == 0
    assert_gone(system, members, 0.5)
    assert not system.state_file.exists()
    assert not runtime.exists()


def test_processes_that_ignore_the_signal_are_gone_within_ten_seconds(start: Start) -> None:
    system = start(faults={"gateway": "stubborn", "agent": "stubborn", "browser": "stubborn"}).wait_ready()
    members = system.members()
    began = time.monotonic()
    system.process.send_signal(signal.SIGTERM)
    assert system.process.wait(10) == 0
    assert time.monotonic() - began < 10
    assert_gone(system, members, 0.5)
    until(lambda: "stopped" in system.output.splitlines()[-1], "last line")
    gateway, agent = (system.output.index(f"{name}stopped: killed") for name in ("gateway    ", "agent      "))
    assert gateway < agent


def test_a_second_interrupt_does_not_wait(start: Start) -> None:
    system = start(faults={"gateway": "stubborn", "agent": "stubborn"}).wait_ready()
    system.process.send_signal(signal.SIGINT)
    until(lambda: "stopping" in system.output, "stopping")
    began = time.monotonic()
    system.process.send_signal(signal.SIGINT)
    system.process.wait(10)
    assert time.monotonic() - began < 4


def test_kill_9_of_the_supervisor_leaves_nothing_and_the_next_up_starts(start: Start) -> None:
    system = start().wait_ready()
    members = system.members()
    assert len(members) > 7
    system.process.kill()
    system.process.wait(5)
    assert_gone(system, members, 5)
    assert system.state_file.exists()
    assert hyperkitty(system.home, "status").returncode == 3
    assert hyperkitty(system.home, "down").returncode == 0
    again = start()
    until(lambda: "ready after" in again.output, "ready again")
    assert again.state["pid"] == again.process.pid
    assert again.state["token"] == (again.home / "root.token").read_text().strip()


def test_down_returns_when_all_is_gone(start: Start) -> None:
    system = start().wait_ready()
    members = system.members()
    done = hyperkitty(system.home, "down")
    assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr
    assert not {pid for pid in members - {system.process.pid} if process_table.is_running(pid)}
    assert system.process.wait(5) == 0


def test_status_tells_ready_degraded_and_not_running(start: Start, tmp_path: Path) -> None:
    assert hyperkitty(tmp_path / "home", "status").returncode == 3
    system = start().wait_ready()
    done = hyperkitty(system.home, "status")
    assert done.returncode == 0
    assert done.stdout.startswith(f"ready: {system.state['rest_url']}\n")
    system.kill("search")
    until(lambda: hyperkitty(system.home, "status").returncode == 1, "degraded")
