"""Fixtures for tests that hurt a running system."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.running_system import RunningSystem


@pytest.fixture
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSystem]:
    """A running system of the test's own; nothing of it may be left after its stop."""
    running = RunningSystem(tmp_path_factory.mktemp("home")).wait_ready()
    yield running
    assert running.stop() == 0
