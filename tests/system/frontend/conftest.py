"""A real browser, driven by another driver than the product's own, for looking at the frontend."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, ViewportSize, sync_playwright

from services.browser.chromium.binary import find
from tests.rest_client import RestClient
from tests.running_system import RunningSystem
from tests.waiting import until

# Chromium's sandbox does not run under root; this user owns nothing.
NOBODY = 65534
WIDE: ViewportSize = {"width": 1280, "height": 800}


def _become_nobody() -> list[str]:
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []


@pytest.fixture(scope="session")
def devtools() -> Generator[str]:
    """The WebSocket of a Chromium with its sandbox on."""
    with tempfile.TemporaryDirectory(prefix="hk-frontend-", ignore_cleanup_errors=True) as scratch:
        os.chmod(scratch, 0o777)
        log = Path(scratch, "stderr")
        command = [
            *_become_nobody(),
            str(find(None).path),
            "--remote-debugging-port=0",
            f"--user-data-dir={scratch}/profile",
            "about:blank",
        ]
        with log.open("wb") as stderr:
            environment = {"HOME": scratch, "TMPDIR": scratch, "PATH": "/usr/bin:/bin"}
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr, env=environment)
        try:
            yield until(lambda: re.findall(r"ws://\S+", log.read_text()), "Chromium's DevTools address", 20)[0]
        finally:
            process.terminate()
            process.wait(10)


@dataclass
class Frontend:
    """Opens the frontend of a running system as a person does, and notes what went wrong in the page."""

    browser: Browser
    faults: list[str] = field(default_factory=list[str])
    refusals_expected: bool = False
    """A refused call or connection is a line in the browser's console; a test that provokes one says so."""

    def open(self, system: RunningSystem, viewport: ViewportSize = WIDE) -> Page:
        """A page of its own, logged in and live."""
        opened = self.browser.new_context(viewport=viewport).new_page()
        opened.set_default_timeout(15_000)
        opened.on("pageerror", lambda error: self.faults.append(str(error)))
        opened.on("console", self._note)
        opened.goto(system.state["rest_url"])
        opened.get_by_label("Token").fill(system.state["token"])
        opened.get_by_role("button", name="Open").click()
        opened.get_by_text("Live", exact=True).wait_for()
        return opened

    def _note(self, message: ConsoleMessage) -> None:
        if message.type != "error":
            return
        if self.refusals_expected and message.text.startswith(("Failed to load resource", "WebSocket connection to")):
            return
        self.faults.append(message.text)


@pytest.fixture
def frontend(devtools: str) -> Generator[Frontend]:
    """A page error or a console error fails the test."""
    with sync_playwright() as driver:
        made = Frontend(driver.chromium.connect_over_cdp(devtools))
        yield made
        for context in made.browser.contexts[1:]:
            context.close()
        assert made.faults == []


@pytest.fixture
def page(frontend: Frontend, shared_system: RunningSystem) -> Page:
    """The frontend of the running system, logged in."""
    return frontend.open(shared_system)


@pytest.fixture
def rest(shared_system: RunningSystem) -> RestClient:
    """Another way to the same system."""
    return shared_system.rest
