"""What browsers do by themselves, told to the event log in the order it happened (SPEC §9).

CDP callbacks must not wait, so they leave a report here; one task publishes them. Before a reply the service
settles: what a caller is told of is on the log first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from services.kit import logs
from services.kit.json_values import JsonValue

log = logs.get(__name__)

MOST_WAITING = 10_000


@dataclass(frozen=True, slots=True)
class Report:
    """One event that has no caller."""

    category: str
    subject: str
    tenant: str
    session_id: str
    agent_id: str = ""
    data: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


Publish = Callable[[Report], Awaitable[None]]


class Reports:
    """A bounded queue of reports and the task that publishes them. A full queue drops the newest, counted."""

    def __init__(self, publish: Publish) -> None:
        self._publish = publish
        self._waiting: asyncio.Queue[Report] = asyncio.Queue(MOST_WAITING)
        self.dropped = 0

    def add(self, report: Report) -> None:
        """Leave a report; never waits."""
        try:
            self._waiting.put_nowait(report)
        except asyncio.QueueFull:
            self.dropped += 1
            log.error("report_dropped", category=report.category, subject=report.subject, dropped=self.dropped)

    async def run(self) -> None:
        """Publish for ever."""
        while True:
            report = await self._waiting.get()
            try:
                await self._publish(report)
            except Exception as error:
                log.error("report_failed", category=report.category, subject=report.subject, exc_info=error)
            finally:
                self._waiting.task_done()

    async def settle(self) -> None:
        """Wait until everything left so far is published; at once when nothing waits."""
        await self._waiting.join()
