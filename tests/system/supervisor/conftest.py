"""A supervised system of stand-ins: real supervisor, real NATS, small processes in place of the services."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.running_system import RunningSystem

STANDIN_UP = (sys.executable, "-m", "tests.system.supervisor.standin_up")

Start = Callable[..., RunningSystem]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start(home="a", faults={"agent": "crash"}, environment={…})`; what it started is stopped after the test."""
    running: list[RunningSystem] = []

    def start(
        home: str = "home", faults: dict[str, str] | None = None, environment: dict[str, str] | None = None
    ) -> RunningSystem:
        given = [argument for name, kind in (faults or {}).items() for argument in ("--fault", f"{name}={kind}")]
        running.append(RunningSystem(tmp_path / home, command=(*STANDIN_UP, *given), environment=environment))
        return running[-1]

    yield start
    for each in running:
        each.stop()
