"""How many jobs are in which state, and which are too many: kept up to date by watching their records."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from services.kit import logs
from services.kit.store import CaughtUp, Store, StoreUnavailable
from services.search import stages
from services.search.jobs import JobRecord
from services.search.pauses import pause
from services.search.stages import Stage

log = logs.get(__name__)


MOST_JOBS = 5_000
MOST_CHARACTERS = 250_000_000
"""Of all documents together; at most four bytes each."""


@dataclass(frozen=True)
class _Seen:
    stage: Stage
    characters: int


class Census:
    """What there is, oldest first. `MOST_JOBS` and the jobs that run bound it, once retention has caught up."""

    def __init__(self, records: Store[JobRecord]) -> None:
        self._records = records
        self._seen: OrderedDict[str, _Seen] = OrderedDict()
        self._characters = 0
        self._ended = asyncio.Event()

    async def watch_for_ever(self) -> None:
        """A task of the service."""
        while True:
            try:
                async for change in self._records.watch("job"):
                    if not isinstance(change, CaughtUp):
                        self._note(change.key, change.value)
            except StoreUnavailable as error:
                log.warning("census_waits_for_the_store", reason=str(error))
            await pause(0)

    def _note(self, key: str, record: JobRecord | None) -> None:
        before = self._seen.get(key)
        self._characters -= before.characters if before is not None else 0
        if record is None:
            self._seen.pop(key, None)
            return
        self._seen[key] = _Seen(record.job.stage, record.characters)
        self._characters += record.characters
        if record.job.stage in stages.TERMINAL:
            self._ended.set()

    async def next_ended(self) -> None:
        """Returns when a job has ended since the last time."""
        await self._ended.wait()
        self._ended.clear()

    def too_many(self) -> list[str]:
        """Keys of ended jobs to forget, the oldest first, until what is left is within the bounds."""
        jobs, characters = len(self._seen), self._characters
        found: list[str] = []
        for key, seen in self._seen.items():
            if jobs <= MOST_JOBS and characters <= MOST_CHARACTERS:
                break
            if seen.stage in stages.TERMINAL:
                found.append(key)
                jobs, characters = jobs - 1, characters - seen.characters
        return found

    def counts(self) -> Mapping[str, int]:
        """`jobs`, and of them `jobs_done`, `jobs_failed`, `jobs_running`; each stage with jobs at it."""
        by_stage = Counter(seen.stage for seen in self._seen.values())
        ended = by_stage[stages.DONE] + by_stage[stages.FAILED]
        at = {f"jobs_at_{stages.name(stage)}": n for stage, n in by_stage.items() if stage not in stages.TERMINAL}
        return {
            "jobs": len(self._seen),
            "jobs_running": len(self._seen) - ended,
            "jobs_done": by_stage[stages.DONE],
            "jobs_failed": by_stage[stages.FAILED],
            **at,
        }
