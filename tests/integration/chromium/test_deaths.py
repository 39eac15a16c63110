"""However something ends, nothing is left (issue 4, SPEC §4 crashes)."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.integration.chromium.held import Held, User, held, sessions_of
from tests.process_table import descendants, is_running
from tests.waiting import until

pytestmark = pytest.mark.real_chromium

# SPEC §4: no Chromium process outlives the service by 5 s.
OUTLIVES_SECONDS = 5.0


def all_gone(pids: set[int], seconds: float = OUTLIVES_SECONDS) -> None:
    until(lambda: not any(is_running(pid) for pid in pids), "every process of the session is gone", seconds)


def collected(browser: Held) -> set[int]:
    """Every process below the service, with a page's among them."""
    browser.ask("visit", url="data:text/html,<h1>here</h1>")
    found = descendants(browser.service)
    assert {browser.launcher, browser.chromium} <= found
    assert len(found) >= 6
    return found


def test_kill_of_the_launcher_alone_leaves_nothing(browser: Held) -> None:
    below = collected(browser)
    os.kill(browser.launcher, signal.SIGKILL)
    all_gone(below)
    assert is_running(browser.service)
    report = browser.ask("exited")
    assert (report["signal"], report["asked"]) == ("SIGKILL", False)


def test_kill_of_the_service_alone_leaves_nothing(browser: Held) -> None:
    below = collected(browser)
    os.kill(browser.service, signal.SIGKILL)
    all_gone(below)


def test_kill_of_chromium_is_told_and_leaves_nothing(browser: Held) -> None:
    below = collected(browser)
    os.kill(browser.chromium, signal.SIGKILL)
    report = browser.ask("exited")
    assert (report["code"], report["signal"], report["asked"]) == (None, "SIGKILL", False)
    all_gone(below)


def test_a_crash_of_chromium_is_told_with_what_it_wrote(browser: Held) -> None:
    below = collected(browser)
    report = browser.ask("crash")
    assert report["signal"] in {"SIGTRAP", "SIGSEGV", "SIGILL", "SIGABRT"}
    assert report["stderr"] != ""
    all_gone(below)


def test_close_leaves_no_process_and_no_file(browser: Held) -> None:
    below = collected(browser)
    started = time.monotonic()
    report = browser.ask("close")
    assert time.monotonic() - started < 2
    assert (report["code"], report["signal"], report["asked"]) == (0, None, True)
    all_gone(below, 0.5)
    assert not Path(browser.facts["directory"]).exists()


def test_a_frozen_chromium_is_closed_all_the_same(browser: Held) -> None:
    below = collected(browser)
    os.kill(browser.chromium, signal.SIGSTOP)
    report = browser.ask("close")
    assert report["signal"] == "SIGKILL"
    all_gone(below, 0.5)


def test_the_next_service_removes_what_a_killed_one_left(user: User, home: Path) -> None:
    with held(user, home) as first:
        directory = Path(first.facts["directory"])
        os.kill(first.service, signal.SIGKILL)
        first.process.wait(5)
    assert directory.exists()
    with held(user, home):
        assert not directory.exists()
        left = {path.name for path in sessions_of(home).iterdir() if path.is_dir()}
        assert len(left) == 2  # the new session's and its temporary files
