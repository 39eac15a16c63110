"""A machine that allows no user namespaces: refused with the setting to change, or run without a sandbox when told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.integration.chromium.held import User, held, home_of
from tests.process_table import descendants

pytestmark = [
    pytest.mark.real_chromium,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can take user namespaces away from a process"),
]

# A user namespace in which no further one can be made (user_namespaces(7), /proc/sys/user/max_user_namespaces).
NO_NAMESPACES = (
    *("unshare", "--user", "--map-user=64321", "--map-group=64321", "--keep-caps"),
    *("sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh"),
)
ROOT_OUTSIDE = User("root", (), 0)


def test_without_a_sandbox_the_launch_is_refused_and_names_the_setting() -> None:
    with home_of(ROOT_OUTSIDE) as home, held(ROOT_OUTSIDE, home, NO_NAMESPACES) as browser:
        assert browser.facts["refused"] == "sandbox_unavailable"
        assert browser.facts["details"]["setting"] == "HYPERKITTY_ALLOW_UNSANDBOXED"
        assert "HYPERKITTY_ALLOW_UNSANDBOXED=1" in browser.facts["hint"]


def test_nothing_is_left_of_a_refused_launch() -> None:
    with home_of(ROOT_OUTSIDE) as home:
        with held(ROOT_OUTSIDE, home, NO_NAMESPACES) as browser:
            assert "refused" in browser.facts
            assert browser.process.wait(5) == 0
        left = [path for path in Path("/var/tmp").glob("hyperkitty-*/sess_*") if path.stat().st_uid == 64321]
        assert left == []


def test_when_allowed_it_runs_and_says_that_neither_layer_holds() -> None:
    with home_of(ROOT_OUTSIDE) as home:
        with held(ROOT_OUTSIDE, home, NO_NAMESPACES, allow_unsandboxed=True) as browser:
            assert (browser.facts["sandbox"], browser.facts["isolation"]) == (2, 2)
            assert browser.ask("visit", url="data:text/html,<h1>here</h1>")["text"] == "here"
            below = descendants(browser.service)
            browser.ask("close")
            assert not any(Path(f"/proc/{pid}").exists() for pid in below)
