"""A real browser, driven by another driver than the product's own, for looking at the frontend."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, sync_playwright

from services.browser.chromium.binary import find
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


@pytest.fixture
def page(devtools: str, shared_system: RunningSystem) -> Generator[Page]:
    """The frontend of the running system, logged in. A console error or a failed request fails the test."""
    with sync_playwright() as driver:
        browser = driver.chromium.connect_over_cdp(devtools)
        context = browser.new_context(viewport=WIDE)
        opened = context.new_page()
        faults: list[str] = []
        opened.on("pageerror", lambda error: faults.append(str(error)))
        opened.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        opened.goto(shared_system.state["rest_url"])
        opened.get_by_label("Token").fill(shared_system.state["token"])
        opened.get_by_role("button", name="Open").click()
        opened.get_by_text("Live", exact=True).wait_for()
        yield opened
        context.close()
        assert faults == []
