"""Forgetting the oldest ended jobs, with their documents, when there are too many (SPEC §3: bounded, oldest first)."""

from __future__ import annotations

from services.kit import deadlines, logs
from services.kit.store import RevisionMismatch, StoreUnavailable
from services.search.census import Census
from services.search.jobs import Jobs

log = logs.get(__name__)

_SECONDS = 30.0


class Retention:
    """See `keep_for_ever`."""

    def __init__(self, jobs: Jobs, census: Census) -> None:
        self._jobs = jobs
        self._census = census

    async def keep_for_ever(self) -> None:
        """A task of the service: looks whenever a job has ended."""
        while True:
            await self._census.next_ended()
            for key in self._census.too_many():
                with deadlines.apart(_SECONDS):
                    try:
                        await self._jobs.forget(key)
                        log.info("job_forgotten", key=key)
                    except (StoreUnavailable, RevisionMismatch) as error:
                        # The next job that ends is the next occasion.
                        log.warning("job_not_forgotten", key=key, reason=str(error))
