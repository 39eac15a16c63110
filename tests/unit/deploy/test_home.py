"""The home is private, its paths are the ones the client computes, and one `up` has it at a time."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hyperkitty.local_system import LocalSystem

from deploy.local import home as homes


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def short_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)


def test_home_and_runtime_are_private_even_when_they_were_not(tmp_path: Path) -> None:
    root = tmp_path / "home"
    root.mkdir(mode=0o755)
    home = homes.prepare(root)
    try:
        assert mode(home.root) == mode(home.runtime) == mode(home.private_keys) == 0o700
        assert len(os.fsencode(home.socket("messaging"))) <= 60
    finally:
        home.runtime.rmdir()


def test_a_runtime_directory_planted_as_a_link_is_refused(tmp_path: Path) -> None:
    runtime = homes.runtime_directory(tmp_path)
    runtime.symlink_to(tmp_path)
    try:
        with pytest.raises(homes.HomeRefused, match="not a directory"):
            homes.prepare(tmp_path)
    finally:
        runtime.unlink()


def test_a_long_runtime_base_gives_way_to_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 60)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    assert homes.runtime_directory(tmp_path).parent == Path("/tmp")


@pytest.mark.parametrize("base", ["", "/tmp"])
def test_the_client_finds_the_same_places(tmp_path: Path, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", base)
    monkeypatch.setenv("HYPERKITTY_HOME", str(tmp_path / "a" / ".." / "b"))
    system = LocalSystem.of_environment()
    assert system.home == homes.default_root() == tmp_path / "b"
    assert system.runtime() == homes.runtime_directory(homes.default_root())
    monkeypatch.delenv("HYPERKITTY_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert LocalSystem.of_environment().home == homes.default_root() == tmp_path / "hyperkitty"


def test_the_lock_is_seen_from_another_process_and_ends_with_its_holder(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib; from deploy.local import home as h; root = pathlib.Path(sys.argv[1]);"
        "held = h.lock(h.Home(root, root)); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert LocalSystem(tmp_path).supervisor_pid() == holder.pid
        with pytest.raises(homes.HomeRefused, match="already running"):
            homes.lock(homes.Home(tmp_path, tmp_path))
        holder.kill()
    assert LocalSystem(tmp_path).supervisor_pid() is None
    homes.lock(homes.Home(tmp_path, tmp_path)).close()


def test_a_private_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text("old")
    path.chmod(0o644)
    homes.write_private(path, "new")
    assert path.read_text() == "new"
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]
