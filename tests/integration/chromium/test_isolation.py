"""What /proc says of a session's processes, read from outside (issue 4: launcher and egress)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.browser.chromium import owners
from services.browser.chromium.proc_facts import ProcessFacts, browser_processes
from tests.integration.chromium.held import Held, User, held, home_of, users, weakened_roots
from tests.waiting import until

pytestmark = pytest.mark.real_chromium


@pytest.fixture(scope="module", params=[*users(), *weakened_roots()], ids=lambda user: user.name)
def user(request: pytest.FixtureRequest) -> User:
    return request.param


@pytest.fixture(scope="module")
def browser(user: User) -> Iterator[Held]:
    """One for all tests here: they only look."""
    with home_of(user) as home, held(user, home) as started:
        yield started


def namespace(pid: int, kind: str) -> str:
    return os.readlink(f"/proc/{pid}/ns/{kind}")


def network_process(browser: Held) -> int:
    """The process in which Chromium's network service runs."""

    def found() -> int:
        for process in browser_processes(browser.chromium):
            if b"network.mojom.NetworkService" in Path(f"/proc/{process.pid}/cmdline").read_bytes():
                return process.pid
        return 0

    return until(found, "Chromium's network process")


def renderer(browser: Held) -> ProcessFacts:
    browser.ask("visit", url="about:blank")

    def renderers() -> list[ProcessFacts]:
        return [process for process in browser_processes(browser.chromium) if process.kind == "renderer"]

    return until(renderers, "a renderer")[0]


def interfaces(pid: int) -> list[str]:
    lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
    return [line.partition(":")[0].strip() for line in lines]


@pytest.mark.parametrize("kind", ["net", "pid"])
def test_browser_and_network_process_are_in_namespaces_of_their_own(browser: Held, kind: str) -> None:
    own = namespace(browser.service, kind)
    assert namespace(browser.chromium, kind) != own
    assert namespace(network_process(browser), kind) != own


def test_browser_and_network_process_see_no_interface_but_loopback(browser: Held) -> None:
    assert interfaces(browser.chromium) == ["lo"]
    assert interfaces(network_process(browser)) == ["lo"]


def test_chromium_is_the_first_process_of_its_namespace(browser: Held) -> None:
    status = Path(f"/proc/{browser.chromium}/status").read_text()
    assert next(line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:"))[-1] == "1"


def test_a_renderer_is_in_the_sandbox(browser: Held) -> None:
    sandboxed = renderer(browser)
    status = Path(f"/proc/{sandboxed.pid}/status").read_text()
    assert "Seccomp:\t2" in status
    assert "NoNewPrivs:\t1" in status
    if os.geteuid() == 0:
        for kind in ("user", "pid", "net"):
            assert namespace(sandboxed.pid, kind) != namespace(browser.chromium, kind)
    assert sandboxed.in_sandbox_of(browser_processes(browser.chromium)[0])


def test_what_the_session_says_of_its_isolation(browser: Held) -> None:
    assert (browser.facts["sandbox"], browser.facts["isolation"]) == (1, 1)


def test_under_root_every_session_has_a_user_of_its_own_else_it_is_the_services(user: User, browser: Held) -> None:
    with home_of(user) as other_home, held(user, other_home) as other:
        uids = [os.stat(f"/proc/{each.chromium}").st_uid for each in (browser, other)]
    if user.uid == 0:
        assert uids[0] != uids[1]
        assert all(owners.FIRST <= uid <= owners.LAST for uid in uids)
    else:
        assert uids == [user.uid, user.uid]


def test_its_files_are_its_users_alone(browser: Held) -> None:
    directory = Path(browser.facts["directory"])
    uid = os.stat(f"/proc/{browser.chromium}").st_uid
    for path in (directory, directory / "profile", directory / "downloads"):
        found = path.stat()
        assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (uid, 0o700)


def test_its_environment_has_the_homes_hash_and_nothing_of_the_services(browser: Held) -> None:
    environment = Path(f"/proc/{browser.chromium}/environ").read_bytes()
    assert f"HK_HOME={browser.facts['hash']}".encode() in environment.split(b"\0")
    assert b"not-for-chromium" not in environment
    launcher = Path(f"/proc/{browser.launcher}/environ").read_bytes()
    assert b"not-for-chromium" not in launcher
    assert browser.facts["hash"].encode() in Path(f"/proc/{browser.launcher}/cmdline").read_bytes()


def sockets_and_pipes(pid: int) -> dict[str, str]:
    links = {number: os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")}
    return {number: link for number, link in links.items() if link.startswith(("socket:", "pipe:"))}


def test_it_has_no_descriptor_of_the_services(browser: Held) -> None:
    """Standard error is one pipe with two ends; nothing else is the same object on both sides."""
    service = set(sockets_and_pipes(browser.service).values())
    shared = {number for number, link in sockets_and_pipes(browser.chromium).items() if link in service}
    assert shared == {"2"}
