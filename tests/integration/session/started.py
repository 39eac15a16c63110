"""Sessions as the service starts them, with what they report kept."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hyperkitty.browser.v1 import sessions_pb2 as pb

from services.browser.chromium.directories import SessionDirectories
from services.browser.chromium.launch import Launcher
from services.browser.pool import WarmPool
from services.browser.reports import Report, Reports
from services.browser.session import Session, SessionPlan
from services.browser.starting import Starter
from services.kit.clock import SystemClock
from services.kit.ids import new_id
from services.kit.memory_artifacts import MemoryArtifacts
from services.kit.settings import BrowserSettings

START_SECONDS = 20.0


class KeptReports(Reports):
    """Keeps reports instead of publishing them."""

    def __init__(self) -> None:
        async def nowhere(_report: Report) -> None:
            return

        super().__init__(nowhere)
        self.kept: list[Report] = []

    def add(self, report: Report) -> None:
        self.kept.append(report)

    def of(self, category: str) -> list[Report]:
        return [report for report in self.kept if report.category == category]


@dataclass
class Place:
    """A home in which sessions start. `ended` are those whose Chromium exited."""

    directories: SessionDirectories
    reports: KeptReports = field(default_factory=KeptReports)
    ended_sessions: list[Session] = field(default_factory=list[Session])
    started: list[Session] = field(default_factory=list[Session])
    pool: WarmPool | None = None

    async def close(self, session: Session) -> None:
        await session.close()

    def ended(self, session: Session) -> None:
        self.ended_sessions.append(session)

    async def start(self, *opened: str, settings: pb.SessionSettings | None = None, profile: str = "") -> Session:
        """A session that may reach the given `host:port`s beside public hosts."""
        starter = Starter(
            Launcher(self.directories),
            BrowserSettings.model_construct(),
            self.reports,
            SystemClock(),
            MemoryArtifacts(),
            frozenset(),
            self.pool,
        )
        policy = pb.NetworkPolicy(allowed_domains=opened)
        plan = SessionPlan(new_id("sess"), "default", "", profile, settings or pb.SessionSettings(), policy)
        session = await starter.start(plan, self, START_SECONDS)
        self.started.append(session)
        return session


@asynccontextmanager
async def place(home: Path) -> AsyncGenerator[Place]:
    directories = SessionDirectories(home)
    directories.claim()
    made = Place(directories)
    try:
        yield made
    finally:
        for session in made.started:
            await session.close()
        directories.release()
