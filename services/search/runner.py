"""Running jobs in the background, stage by stage; going on with them after a restart (SPEC §7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from itertools import count

from hyperkitty.events.v1.events_pb2 import Event
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.search.v1.search_pb2 import SearchJob
from msgspec.structs import replace

from services.kit import deadlines, errors, logs
from services.kit.categories import check_category
from services.kit.clock import Clock
from services.kit.errors import Refusal, reason
from services.kit.json_values import to_struct
from services.kit.operations import MOST_DATA_BYTES
from services.kit.recorder import Recorder
from services.kit.store import Entry, RevisionMismatch, StoreUnavailable
from services.search import stages
from services.search.derived_ids import derived_id
from services.search.jobs import JobRecord, Jobs
from services.search.pauses import pause
from services.search.pipeline import Pipeline, Told, started

log = logs.get(__name__)

Spawn = Callable[[Coroutine[object, object, None], str], asyncio.Task[None]]

MOST_WAITING = 1_000
"""Jobs that run or wait in this process; more are refused."""
_AT_ONCE = 8
_STAGE_SECONDS = 60.0


def cancelled(job_id: str) -> Refusal:
    """Why a job that somebody stopped has failed."""
    return Refusal(ErrorCode.ERROR_CODE_CANCELLED, f"{job_id} was cancelled", details={"job_id": job_id})


class Runner:
    """The jobs that this process runs."""

    def __init__(self, jobs: Jobs, pipeline: Pipeline, recorder: Recorder, clock: Clock, spawn: Spawn) -> None:
        self._jobs = jobs
        self._pipeline = pipeline
        self._recorder = recorder
        self._clock = clock
        self._spawn = spawn
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._tasks)

    def check_room(self) -> None:
        """Raises Refusal resource_exhausted when too many jobs wait already."""
        if len(self._tasks) >= MOST_WAITING:
            raise Refusal(
                ErrorCode.ERROR_CODE_RESOURCE_EXHAUSTED,
                f"{len(self._tasks)} search jobs wait already",
                hint="Try again later, or cancel_search on one that is not needed.",
                details={"limit": MOST_WAITING},
            )

    def start(self, job: SearchJob) -> None:
        """Runs a stored job in the background."""
        if job.job_id in self._tasks or self._is_closed:
            return
        task = self._spawn(self._run(self._jobs.key_of(job)), f"job-{job.job_id}")
        self._tasks[job.job_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(job.job_id, None))

    async def resume(self) -> None:
        """Goes on with every job that has not ended."""
        for entry in await self._jobs.every():
            if entry.value.job.stage not in stages.TERMINAL:
                self.start(entry.value.job)

    async def announce(self, record: JobRecord) -> bool:
        """Tells the log that a job was taken; whether it acknowledged. The first stage tells it again, as a repeat."""
        return await self._publish(record, [started(record)])

    async def close(self) -> None:
        """Breaks every job off where it is: the next start goes on with them."""
        self._is_closed = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def stop(self, job_id: str) -> None:
        """Breaks a job off where it is; its record stays as it is."""
        task = self._tasks.get(job_id)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def wait(self, job_id: str, seconds: float) -> None:
        """Returns when the job does not run here any more, or after `seconds`."""
        task = self._tasks.get(job_id)
        if task is not None:
            await asyncio.wait([task], timeout=seconds)

    async def _run(self, key: str) -> None:
        async with self._turn:
            # A job that was accepted is never given up: it goes on when the store is back, or after a restart.
            for attempt in count():
                try:
                    await self._run_stages(key)
                    return
                except StoreUnavailable as error:
                    log.warning("job_waits_for_the_store", key=key, reason=str(error))
                await pause(attempt)

    async def _run_stages(self, key: str) -> None:
        with deadlines.apart(_STAGE_SECONDS):
            entry = await self._jobs.records.get(key)
        while entry is not None and entry.value.job.stage not in stages.TERMINAL:
            with deadlines.apart(_STAGE_SECONDS) as budget:
                try:
                    async with budget.limit():
                        entry = await self._step(entry)
                except RevisionMismatch:
                    # Cancelled meanwhile, or another replica runs it: its record says.
                    return
                except StoreUnavailable:
                    raise
                except Refusal as refusal:
                    entry = await self.fail(entry, refusal)
                except Exception as error:  # a job that cannot go on has failed; the others go on
                    entry = await self.fail(entry, errors.internal(error))

    async def _step(self, entry: Entry[JobRecord]) -> Entry[JobRecord]:
        """One stage: its work, what the log is told of it, and only then the next stage."""
        step = await self._pipeline.step(entry.value)
        await self._publish(entry.value, step.told)
        revision = await self._jobs.records.update(entry.key, step.record, entry.revision)
        return Entry(entry.key, step.record, revision)

    async def fail(self, entry: Entry[JobRecord], refusal: Refusal) -> Entry[JobRecord] | None:
        """Ends a job with a failure; None where somebody else changed it meanwhile."""
        job = SearchJob()
        job.CopyFrom(entry.value.job)
        at = stages.name(job.stage)
        job.stage = stages.FAILED
        job.failure.CopyFrom(refusal.to_proto())
        job.updated_at_ms = self._clock.now_ms()
        failed = replace(entry.value, job=job)
        with deadlines.apart(_STAGE_SECONDS):
            facts = {"code": reason(refusal.code), "message": refusal.message, "stage": at}
            await self._publish(entry.value, [Told(stages.FAILED_EVENT, facts)])
            try:
                return Entry(entry.key, failed, await self._jobs.records.update(entry.key, failed, entry.revision))
            except RevisionMismatch:
                return None

    async def _publish(self, record: JobRecord, told: list[Told]) -> bool:
        """Puts a stage's events on the log, or on disk until the log takes them; whether the log has them all."""
        acknowledged = True
        for each in told:
            # One after the other: their order is the story.
            acknowledged &= await self._recorder.write([self._event(record, each)], None)
        return acknowledged

    def _event(self, record: JobRecord, told: Told) -> Event:
        job = record.job
        return Event(
            event_id=derived_id("evt", job.job_id, str(job.iteration), told.category, str(told.number)),
            category=check_category(told.category),
            subject=job.job_id,
            actor=record.actor,
            agent_id=job.owner_agent_id,
            operation_id=record.operation_id,
            request_id=record.request_id,
            data=to_struct(told.facts, MOST_DATA_BYTES),
            emitted_at_ms=self._clock.now_ms(),
            tenant=job.tenant,
        )
