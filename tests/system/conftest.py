"""Fixtures for tests of everything together."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.running_system import RunningSystem


@pytest.fixture(scope="session")
def shared_system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSystem]:
    """One running system for all tests of a worker that leave it as they found it."""
    running = RunningSystem(tmp_path_factory.mktemp("home")).wait_ready()
    yield running
    assert running.stop() == 0


@pytest.fixture
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSystem]:
    """A running system of the test's own, to hurt: started fresh, stopped after, nothing left."""
    running = RunningSystem(tmp_path_factory.mktemp("home")).wait_ready()
    yield running
    running.stop()
