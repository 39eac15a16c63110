"""What the README's commands show: `make demo` and `make run`, without the set-up that make does first."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.local.demo import ANSWER
from deploy.local.home import runtime_directory
from services.kit.settings import home_hash
from tests import process_table
from tests.waiting import until

TREE = Path(__file__).resolve().parents[2]
DEMO = (sys.executable, "-m", "deploy.local.demo")
STAY = (*DEMO, "--stay")
# What it may take once everything is set up. A busy machine does not decide: the best of a few runs counts.
DEMO_SECONDS = 15.0
RUNS = 3
LONGEST_SECONDS = 60.0
STOP_SECONDS = 10.0


def environment(home: Path) -> dict[str, str]:
    chosen = {"HYPERKITTY_HOME": str(home), "HYPERKITTY_REST_PORT": "0", "HYPERKITTY_GRPC_PORT": "0"}
    return {**os.environ, **chosen, "PYTHONUNBUFFERED": "1"}


def left_behind(home: Path) -> list[str]:
    """Processes of a home, its sessions' directory, its sockets."""
    marked = process_table.carrying(home_hash(home)) | process_table.carrying(str(home))
    directories = [Path("/var/tmp", f"hyperkitty-{home_hash(home)}"), runtime_directory(home)]
    return [f"pid {pid}" for pid in marked] + [str(path) for path in directories if path.exists()]


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "home"


def demonstrate(home: Path) -> tuple[str, float]:
    """What `make demo` says on this home, and the seconds it took; nothing is left of it."""
    begun = time.monotonic()
    done = subprocess.run(
        DEMO, cwd=TREE, env=environment(home), capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
    )
    took = time.monotonic() - begun
    assert done.returncode == 0, done.stdout + done.stderr
    assert left_behind(home) == []
    return done.stdout, took


@pytest.mark.timeout(LONGEST_SECONDS * RUNS + 30)
def test_the_demonstration_shows_each_step_and_the_answer(home: Path) -> None:
    took: list[float] = []
    while not took or (min(took) >= DEMO_SECONDS and len(took) < RUNS):
        said, seconds = demonstrate(home)
        took.append(seconds)
        steps = [line for line in said.splitlines() if line.startswith("  ok ")]
        assert len(steps) == 13
        assert all(re.match(r"  ok +\d+ ms  \S", step) for step in steps)
        assert any("refused: " in step for step in steps)
        assert f"The Book of Tides stands on: {ANSWER}" in said
    assert min(took) < DEMO_SECONDS, took


def test_a_demonstration_that_is_told_to_stop_takes_its_system_with_it(home: Path) -> None:
    running = subprocess.Popen(
        DEMO, cwd=TREE, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert running.stdout is not None
    with running.stdout:
        # As soon as a browser is there; its lines are read to their end, or it could not write them.
        next(line for line in running.stdout if "start a browser session" in line)
        running.terminate()
        running.stdout.read()
    assert running.wait(STOP_SECONDS) != 0
    assert left_behind(home) == []


@contextmanager
def staying(home: Path, command: Sequence[str] = STAY) -> Generator[tuple[subprocess.Popen[bytes], Path]]:
    """`make run`, as far as its link to the dashboard: the process, and the file that holds what it said."""
    said = home.parent / "said"
    with said.open("wb") as output:
        # A process group of its own: Ctrl-C in a terminal reaches the whole group.
        running = subprocess.Popen(
            command, cwd=TREE, env=environment(home), stdout=output, stderr=output, start_new_session=True
        )
    try:
        until(lambda: "Dashboard: http://127.0.0.1:" in said.read_text(), "the dashboard's link", LONGEST_SECONDS)
        yield running, said
    finally:
        if running.poll() is None:
            running.terminate()
            running.wait(STOP_SECONDS + 2)


def test_make_run_stays_until_ctrl_c_and_leaves_nothing(home: Path) -> None:
    with staying(home) as (running, said):
        assert "FAIL" not in said.read_text()
        again = subprocess.run(
            STAY, cwd=TREE, env=environment(home), capture_output=True, text=True, timeout=30, check=False
        )
        assert again.returncode != 0
        assert "already running" in again.stdout + again.stderr
        assert str(home) in again.stdout + again.stderr
        assert "  ok " not in again.stdout
        assert running.poll() is None
        begun = time.monotonic()
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(STOP_SECONDS + 2) == 0
        assert time.monotonic() - begun < STOP_SECONDS
    assert left_behind(home) == []


def test_a_demonstration_that_fails_is_said_and_takes_nothing_down(home: Path) -> None:
    expecting_else = "import sys; from deploy.local import demo; demo.ANSWER = 'Shelf 8'; sys.exit(demo.main())"
    with staying(home, [sys.executable, "-c", expecting_else, "--stay"]) as (running, said):
        assert "FAIL" in said.read_text()
        assert "The demonstration failed; the system stays up." in said.read_text()
        assert (home / "state.json").exists()
        running.terminate()
        assert running.wait(STOP_SECONDS + 2) == 0
    assert left_behind(home) == []
