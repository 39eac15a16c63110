"""One running system for all tests that hurt it: it must survive each, and nothing of it may be left at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.kit.settings import home_hash
from tests import process_table
from tests.acting import Person
from tests.running_system import RunningSystem
from tests.site import Site

pytest.register_assert_rewrite("tests.chaos.record")


@pytest.fixture(scope="package")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSystem]:
    """Its tear-down is a test too: no process and no session's directory outlives the stop."""
    running = RunningSystem(tmp_path_factory.mktemp("home")).wait_ready()
    yield running
    members = running.members()
    assert running.stop() == 0, running.output
    mark = home_hash(running.home)
    assert {pid for pid in members if process_table.is_running(pid)} == set()
    assert process_table.carrying(mark) == set()
    assert list(Path("/var/tmp", f"hyperkitty-{mark}").glob("*_*")) == []


@pytest.fixture
def person(system: RunningSystem, site: Site) -> Iterator[Person]:
    """Somebody with a session beside the demonstration's."""
    person = Person.start(system.rest, site.put("/page", "<title>Page</title><p>still here</p>"))
    yield person
    person.close()
