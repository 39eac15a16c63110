"""One `up` a home, several homes a machine, and files that nobody else can read."""

from __future__ import annotations

import re
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import process_table
from tests.system.supervisor.conftest import Start
from tests.waiting import until


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        yield int(listener.getsockname()[1])


def test_a_second_up_on_the_same_home_says_so(start: Start) -> None:
    first = start().wait_ready()
    state = first.state
    second = start()
    assert second.process.wait(10) == 1
    until(lambda: "already running" in second.output, "the reason")
    assert str(first.home) in second.output
    assert first.state == state
    assert {facts["state"] for facts in first.parts().values()} == {"ready"}


def test_two_homes_run_side_by_side(start: Start) -> None:
    one, two = start("one").wait_ready(), start("two").wait_ready()
    assert one.runtime != two.runtime
    assert one.state["rest_url"] != two.state["rest_url"]
    assert one.state["token"] != two.state["token"]
    assert one.stop() == 0
    assert {facts["state"] for facts in two.parts().values()} == {"ready"}


def test_a_port_that_was_set_and_is_taken_is_named(start: Start, taken_port: int) -> None:
    for variable in ("HYPERKITTY_REST_PORT", "HYPERKITTY_GRPC_PORT"):
        system = start(environment={variable: str(taken_port)})
        assert system.process.wait(10) == 1
        until(lambda system=system: system.output, "the reason")
        assert f"{variable}={taken_port}: port {taken_port} is taken" in system.output


def test_a_taken_default_moves_and_says_so(start: Start) -> None:
    """Whoever has the defaults, the two systems do not share them."""
    defaults = {"HYPERKITTY_REST_PORT": "", "HYPERKITTY_GRPC_PORT": ""}
    start("one", environment=defaults).wait_ready()
    two = start("two", environment=defaults).wait_ready()
    moved = re.search(r"port 8420 is taken: REST is on (\d+)", two.output)
    assert moved is not None, two.output
    assert two.state["rest_url"] == f"http://127.0.0.1:{moved[1]}"
    assert re.search(r"port 8421 is taken: gRPC is on \d+", two.output)


def test_every_process_carries_the_home_and_every_file_is_private(start: Start) -> None:
    system = start().wait_ready()
    assert {system.process.pid, *(system.pid_of(part) for part in system.parts())} <= process_table.carrying(
        str(system.home)
    )
    readable = [path for path in system.home.rglob("*") if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077]
    # What NATS writes lies under directories that only this user enters.
    assert not [path for path in readable if "store" not in path.parts and path.name != "up.lock"]
    for directory in (system.home, system.runtime, system.home / "nats", system.home / "keys" / "private"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_keys_and_token_stay_across_starts_and_strangers_keys_do_not(start: Start) -> None:
    first = start().wait_ready()
    assert first.stop() == 0
    keys = {path: path.read_bytes() for path in (first.home / "keys").rglob("*") if path.is_file()}
    token = (first.home / "root.token").read_text()
    assert len(keys) == 12
    stranger = Path(first.home, "keys", "public", "stranger.pub")
    stranger.write_text("x")
    again = start().wait_ready()
    assert {path: path.read_bytes() for path in (again.home / "keys").rglob("*") if path.is_file()} == keys
    assert (again.home / "root.token").read_text() == token
