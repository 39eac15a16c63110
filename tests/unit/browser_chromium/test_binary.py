"""Which Chromium is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.browser.chromium import binary
from services.browser.chromium.binary import ChromiumNotFound, find


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with both programs, as the only place that is looked in."""
    for name in ("chromium-headless-shell", "chromium"):
        program(tmp_path / name)
    monkeypatch.setattr(binary, "_SHELLS", (str(tmp_path / "chromium-headless-shell"),))
    monkeypatch.setattr(binary, "_FULL", (str(tmp_path / "chromium"),))
    return tmp_path


def program(path: Path, text: bytes = b"\x7fELF...") -> Path:
    path.write_bytes(text)
    path.chmod(0o755)
    return path


def test_the_shell_is_preferred(installed: Path) -> None:
    found = find()
    assert (found.path, found.is_shell, found.name) == (
        installed / "chromium-headless-shell",
        True,
        "chromium-headless-shell",
    )


def test_full_chromium_when_asked_or_when_there_is_no_shell(installed: Path) -> None:
    assert find(full=True).name == "chromium"
    (installed / "chromium-headless-shell").unlink()
    assert find().name == "chromium"


def test_the_shell_does_not_stand_in_for_full_chromium(installed: Path) -> None:
    (installed / "chromium").unlink()
    with pytest.raises(ChromiumNotFound):
        find(full=True)


def test_a_wrapper_script_is_not_taken(installed: Path, tmp_path: Path) -> None:
    program(installed / "chromium-headless-shell", b"#!/bin/sh\nchromium\n")
    assert find().name == "chromium"
    with pytest.raises(ChromiumNotFound, match="HYPERKITTY_CHROMIUM"):
        find(program(tmp_path / "wrapper", b"#!/bin/sh\n"))


def test_the_configured_one_is_taken(installed: Path, tmp_path: Path) -> None:
    assert find(program(tmp_path / "my-headless_shell")).is_shell
    assert not find(program(tmp_path / "my-chrome"), full=True).is_shell


def test_none_at_all_is_said_with_what_to_do(installed: Path) -> None:
    for path in installed.iterdir():
        path.unlink()
    with pytest.raises(ChromiumNotFound, match="install chromium-headless-shell"):
        find()
