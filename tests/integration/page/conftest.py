"""A real session for the tests of pages and operations: one Chromium for this folder, a fresh tab for each test."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from hyperkitty.browser.v1 import sessions_pb2

from services.browser.chromium.directories import SessionDirectories
from services.browser.chromium.launch import Launcher
from services.browser.reports import Report, Reports
from services.browser.session import Session, SessionPlan
from services.browser.starting import Starter
from services.kit.clock import SystemClock
from services.kit.ids import new_id
from services.kit.memory_artifacts import MemoryArtifacts
from services.kit.settings import BrowserSettings
from tests.integration.page.driving import Driver
from tests.site import Site

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One event loop for the folder, since its Chromium outlives a test."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            item.add_marker(pytest.mark.real_chromium)


class NoOwner:
    """Nobody minds how the test's session ends."""

    async def close(self, session: Session) -> None:
        await session.close()

    def ended(self, session: Session) -> None:
        return


@pytest.fixture(scope="session")
def local_site() -> Iterator[Site]:
    """One site for the folder: its port is in the session's egress rules from the start."""
    with Site() as running:
        yield running


@pytest.fixture
def site(local_site: Site) -> Site:
    """The folder's site, without another test's pages."""
    local_site.pages.clear()
    local_site.hold()
    return local_site


@asynccontextmanager
async def running(site: Site, settings: sessions_pb2.SessionSettings, *ports: int) -> AsyncGenerator[Session]:
    """A session that may reach the site, under both of loopback's names, and other ports of 127.0.0.1."""
    reported: list[Report] = []

    async def publish(report: Report) -> None:
        reported.append(report)

    with tempfile.TemporaryDirectory(prefix="hk-page-tests-") as home:
        directories = SessionDirectories(Path(home))
        directories.claim()
        starter = Starter(
            Launcher(directories),
            BrowserSettings.model_construct(),
            Reports(publish),
            SystemClock(),
            MemoryArtifacts(),
            frozenset(),
        )
        opened = [f"localhost:{site.port}", *(f"127.0.0.1:{port}" for port in (site.port, *ports))]
        policy = sessions_pb2.NetworkPolicy(egress_domains=opened)
        plan = SessionPlan(new_id("sess"), "default", "", "", settings, policy)
        started = await starter.start(plan, NoOwner(), 30.0)
        try:
            yield started
        finally:
            await started.close()
            directories.release()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def session(local_site: Site) -> AsyncGenerator[Session]:
    """The headless shell: all frames of a page are in its process."""
    async with running(local_site, sessions_pb2.SessionSettings()) as started:
        yield started


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def full_session(local_site: Site) -> AsyncGenerator[Session]:
    """Full Chromium: each site has a process of its own, frames too."""
    async with running(local_site, sessions_pb2.SessionSettings(full_chromium=True, timezone="Asia/Tokyo")) as started:
        yield started


@pytest_asyncio.fixture(loop_scope="session")
async def driver(session: Session, site: Site) -> AsyncGenerator[Driver]:
    """A fresh tab, driven by the operations' own handlers."""
    made = await Driver.open(session, site)
    try:
        yield made
    finally:
        await made.close()


@pytest_asyncio.fixture(loop_scope="session")
async def full_driver(full_session: Session, site: Site) -> AsyncGenerator[Driver]:
    """A fresh tab of full Chromium."""
    made = await Driver.open(full_session, site)
    try:
        yield made
    finally:
        await made.close()
