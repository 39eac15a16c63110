"""The command line that Chromium gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.browser.chromium.binary import Binary
from services.browser.chromium.flags import CommandLine, argv

SHELL = Binary(Path("/usr/lib/chromium/chromium-headless-shell"), is_shell=True)


def line(**changes: object) -> list[str]:
    return argv(CommandLine(SHELL, Path("/var/tmp/p"), **changes))  # pyright: ignore[reportArgumentType]


def test_everything_goes_through_the_sessions_proxy() -> None:
    switches = line()
    assert "--proxy-server=http://127.0.0.1:{proxy_port}" in switches
    assert "--proxy-bypass-list=<-loopback>" in switches
    assert "--webrtc-ip-handling-policy=disable_non_proxied_udp" in switches
    assert "--disable-quic" in switches


def test_the_sandbox_is_never_switched_off_here() -> None:
    assert not any("sandbox" in switch or "zygote" in switch or "single-process" in switch for switch in line())


def test_it_is_driven_through_the_pipe_and_no_port() -> None:
    switches = line()
    assert "--remote-debugging-pipe" in switches
    assert not any(switch.startswith("--remote-debugging-port") for switch in switches)


def test_a_switch_is_given_once() -> None:
    names = [switch.partition("=")[0] for switch in line(small_shm=True)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("headed", "headless"), [(False, True), (True, False)])
def test_a_headed_session_has_a_window(headed: bool, headless: bool) -> None:
    assert ("--headless" in line(headed=headed)) is headless


def test_switches_of_a_session_win_over_ours() -> None:
    """Chromium takes the last of a switch that is given twice."""
    switches = line(extra=("--window-size=1,1",))
    assert [switch for switch in switches if switch.startswith("--window-size")][-1] == "--window-size=1,1"
