from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.kit import settings
from services.kit.config import SettingsError


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("HYPERKITTY_"):
            monkeypatch.delenv(name)


def test_defaults_follow_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HYPERKITTY_HOME", str(tmp_path))
    loaded = settings.load(settings.CommonSettings)
    assert loaded.home == tmp_path
    assert loaded.runtime_dir.name == f"hk-{settings.home_hash(tmp_path)}"
    assert loaded.browser_target == f"unix:{loaded.runtime_dir}/browser.sock"
    assert loaded.spool_dir == tmp_path / "spool"
    assert len(f"{loaded.runtime_dir}/messaging.metrics.sock") <= 60


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("HYPERKITTY_REST_PORT", "eighty", "HYPERKITTY_REST_PORT"),
        ("HYPERKITTY_REST_PORT", "70000", "HYPERKITTY_REST_PORT"),
        ("HYPERKITTY_RESTPORT", "8420", "HYPERKITTY_RESTPORT is not a setting"),
    ],
)
def test_malformed_and_unknown_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str, line: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=line):
        settings.load(settings.GatewaySettings)


def test_another_sections_settings_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPERKITTY_MAX_SESSIONS", "3")
    assert settings.load(settings.GatewaySettings).rest_port == 8420
    assert settings.load(settings.BrowserSettings).max_sessions == 3


def test_every_setting_has_a_meaning_and_stands_in_the_table() -> None:
    rows = settings.table()
    assert all(row.meaning.endswith(".") for row in rows)
    assert len({row.name for row in rows}) == len(rows)
    assert all(row.name in settings.markdown() for row in rows)


def test_the_table_prints() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "services.kit.settings"], capture_output=True, text=True, check=True, timeout=30
    )
    assert "HYPERKITTY_HOME" in printed.stdout
