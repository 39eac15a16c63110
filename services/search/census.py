"""How many jobs are in which state, for health: kept up to date by watching their records."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping

from services.kit import logs
from services.kit.store import MOST_ENTRIES, CaughtUp, Store, StoreUnavailable
from services.search import stages
from services.search.jobs import JobRecord
from services.search.pauses import pause
from services.search.stages import Stage

log = logs.get(__name__)


class Census:
    """Stages of the newest jobs, as many as a listing gives."""

    def __init__(self, records: Store[JobRecord]) -> None:
        self._records = records
        self._stages: OrderedDict[str, Stage] = OrderedDict()

    async def watch_for_ever(self) -> None:
        """A task of the service."""
        while True:
            try:
                async for change in self._records.watch("job"):
                    if not isinstance(change, CaughtUp):
                        self._note(change.key, None if change.value is None else change.value.job.stage)
            except StoreUnavailable as error:
                log.warning("census_waits_for_the_store", reason=str(error))
            await pause(0)

    def _note(self, key: str, stage: Stage | None) -> None:
        if stage is None:
            self._stages.pop(key, None)
            return
        self._stages[key] = stage
        while len(self._stages) > MOST_ENTRIES:
            self._stages.popitem(last=False)

    def counts(self) -> Mapping[str, int]:
        """`jobs`, and of them `jobs_done`, `jobs_failed`, `jobs_running`; each stage with jobs at it."""
        by_stage = Counter(self._stages.values())
        ended = by_stage[stages.DONE] + by_stage[stages.FAILED]
        at = {f"jobs_at_{stages.name(stage)}": n for stage, n in by_stage.items() if stage not in stages.TERMINAL}
        return {
            "jobs": len(self._stages),
            "jobs_running": len(self._stages) - ended,
            "jobs_done": by_stage[stages.DONE],
            "jobs_failed": by_stage[stages.FAILED],
            **at,
        }
