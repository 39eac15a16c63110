"""The `hyperkitty` command's own words and exit codes, where nothing runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hyperkitty import cli


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["hyperkitty", *arguments])
    return cli.main()


@pytest.fixture(autouse=True)
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HYPERKITTY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize("arguments", [(), ("fly",), ("up", "--json"), ("down", "now"), ("status", "--yaml")])
def test_what_it_does_not_know_it_explains(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert run(monkeypatch, *arguments) == 2
    assert capsys.readouterr().err.startswith("usage: hyperkitty")


def test_help_is_not_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--help") == 0
    assert "up | down | status" in capsys.readouterr().out


def test_status_without_a_system(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], empty_home: Path
) -> None:
    assert run(monkeypatch, "status", "--json") == 3
    assert json.loads(capsys.readouterr().out) == {
        "status": "not_running",
        "home": str(empty_home),
        "pid": None,
        "rest_url": "",
        "grpc_target": "",
        "processes": {},
    }
    assert not empty_home.exists()


def test_down_without_a_system_is_done(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "down") == 0
    assert capsys.readouterr().out.startswith("not running")


def test_what_a_dead_system_left_is_not_believed(monkeypatch: pytest.MonkeyPatch, empty_home: Path) -> None:
    empty_home.mkdir()
    (empty_home / "up.lock").touch()
    (empty_home / "state.json").write_text('{"pid": 1, "rest_url": "http://127.0.0.1:1"}')
    assert run(monkeypatch, "status") == 3


def test_status_loads_nothing_large() -> None:
    """What keeps it quick; how quick it is, the bench says."""
    look = "import hyperkitty.cli, json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    loaded = json.loads(
        subprocess.run([sys.executable, "-c", look], capture_output=True, timeout=30, check=True).stdout
    )
    assert {"grpc", "google", "asyncio", "http", "ssl", "typer", "rich"}.isdisjoint(loaded)
