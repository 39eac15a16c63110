"""What the README's commands show: `make demo` and `make run`, without the set-up that make does first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deploy.local.demo import ANSWER
from services.kit.settings import home_hash
from tests import process_table
from tests.waiting import until

TREE = Path(__file__).resolve().parents[2]
DEMO = [sys.executable, "-m", "deploy.local.demo"]
DEMO_SECONDS = 60.0
STOP_SECONDS = 10.0


def environment(home: Path) -> dict[str, str]:
    chosen = {"HYPERKITTY_HOME": str(home), "HYPERKITTY_REST_PORT": "0", "HYPERKITTY_GRPC_PORT": "0"}
    return {**os.environ, **chosen, "PYTHONUNBUFFERED": "1"}


def left_behind(home: Path) -> list[str]:
    """Processes and session directories of a home."""
    processes = [f"pid {pid}" for pid in process_table.carrying(home_hash(home)) | process_table.carrying(str(home))]
    directories = Path("/var/tmp", f"hyperkitty-{home_hash(home)}").glob("sess_*")
    return processes + [str(path) for path in directories]


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "home"


def test_the_demonstration_shows_each_step_and_the_answer(home: Path) -> None:
    done = subprocess.run(
        DEMO, cwd=TREE, env=environment(home), capture_output=True, text=True, timeout=DEMO_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    steps = [line for line in done.stdout.splitlines() if line.startswith("  ok ")]
    assert len(steps) == 13
    assert all(" ms  " in step for step in steps)
    assert any("refused: " in step for step in steps)
    assert f"The Book of Tides stands on: {ANSWER}" in done.stdout
    assert left_behind(home) == []


def test_make_run_stays_until_ctrl_c_and_leaves_nothing(home: Path) -> None:
    said = home.parent / "said"
    with said.open("wb") as output:
        # A process group of its own: Ctrl-C in a terminal reaches the whole group.
        running = subprocess.Popen(
            [*DEMO, "--stay"], cwd=TREE, env=environment(home), stdout=output, stderr=output, start_new_session=True
        )
    try:
        until(lambda: "Dashboard: http://127.0.0.1:" in said.read_text(), "the dashboard's link", DEMO_SECONDS)
        assert "FAIL" not in said.read_text()
        again = subprocess.run(
            [*DEMO, "--stay"], cwd=TREE, env=environment(home), capture_output=True, text=True, timeout=30, check=False
        )
        assert again.returncode != 0
        assert str(home) in again.stdout + again.stderr
        assert "  ok " not in again.stdout
        assert running.poll() is None
        begun = time.monotonic()
        os.killpg(running.pid, signal.SIGINT)
        running.wait(STOP_SECONDS + 2)
        assert time.monotonic() - begun < STOP_SECONDS
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait(STOP_SECONDS)
    assert left_behind(home) == []
