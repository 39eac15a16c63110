"""Documents of a job: fetched several at once, each within its own time, and read (SPEC §7).

One dead link is no reason to give the others up: its result stays, says why, and has no document.
"""

from __future__ import annotations

import asyncio

from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.search.v1.search_pb2 import SearchJob, SearchResult, SourceDocument
from msgspec.structs import replace

from services.kit.clock import Clock
from services.kit.errors import Refusal
from services.kit.json_values import JsonValue
from services.search.derived_ids import derived_id
from services.search.extraction import Unreadable
from services.search.jobs import DocumentRecord, Jobs
from services.search.providers.provider import Fetched, Provider

_AT_ONCE = 4
# A job fetches ten at most a round, so that a stage's minute is enough whatever they do.
FETCH_SECONDS = 15.0
READ_SECONDS = 15.0
# Four bytes a character at most, in values of 1 MiB.
_MOST_TEXT = 200_000
_MOST_REASON = 300

Facts = dict[str, JsonValue]


class Documents:
    """Fetching and reading, for any provider."""

    def __init__(self, jobs: Jobs, clock: Clock) -> None:
        self._jobs = jobs
        self._clock = clock

    async def of(self, job: SearchJob, result: SearchResult) -> DocumentRecord | None:
        """The document of a result."""
        if not result.source_document_id:
            return None
        return await self._jobs.document(job.job_id, result.source_document_id)

    async def fetch(self, provider: Provider, job: SearchJob, results: list[SearchResult]) -> list[Facts]:
        """Fetches a document for each of the results and notes it there; what to tell of each, in their order."""
        turn = asyncio.Semaphore(_AT_ONCE)

        async def one(result: SearchResult) -> Facts:
            async with turn:
                return await self._fetch(provider, job, result)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(result)) for result in results]
        except ExceptionGroup as failures:
            # The store is away, or the time is over: the first says so for all.
            raise failures.exceptions[0] from None
        return [task.result() for task in tasks]

    async def _fetch(self, provider: Provider, job: SearchJob, result: SearchResult) -> Facts:
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                fetched = await provider.fetch(result.url)
        except TimeoutError:
            return _without(result, "timeout", f"not fetched within {FETCH_SECONDS:g} s")
        except Refusal as refusal:
            if refusal.code != ErrorCode.ERROR_CODE_PROVIDER_FAILED:
                raise
            return _without(result, str(refusal.details.get("reason", "")), refusal.message)
        document_id = derived_id("doc", job.job_id, result.normalized_url)
        document = SourceDocument(
            document_id=document_id,
            url=fetched.url,
            fetched_at_ms=self._clock.now_ms(),
            content_type=fetched.content_type,
        )
        parts = await self._jobs.put_content(job.job_id, document_id, fetched.content)
        await self._jobs.put_document(job.job_id, DocumentRecord(document, job.iteration, parts))
        result.source_document_id = document_id
        return {"url": result.url, "document_id": document_id, "bytes": len(fetched.content)}

    async def read(self, provider: Provider, job: SearchJob, result: SearchResult) -> Facts | None:
        """Extracts the text of a result's document where this round fetched it; what to tell of it."""
        kept = await self.of(job, result)
        if kept is None or kept.iteration != job.iteration:
            return None
        if kept.parts:
            content = await self._jobs.content(job.job_id, kept)
            fetched = Fetched(kept.document.url, kept.document.content_type, content)
            try:
                async with asyncio.timeout(READ_SECONDS):
                    text = await asyncio.to_thread(provider.extract, fetched)
            except (Unreadable, TimeoutError) as error:
                result.source_document_id = ""
                return _without(result, "unreadable", str(error) or f"not read within {READ_SECONDS:g} s")
            kept.document.extracted_text = text[:_MOST_TEXT]
            await self._jobs.put_document(job.job_id, replace(kept, parts=0))
            await self._jobs.drop_content(job.job_id, kept)
        return {"document_id": kept.document.document_id, "characters": len(kept.document.extracted_text)}


def _without(result: SearchResult, reason: str, message: str) -> Facts:
    result.fetch_error = f"{reason}: {message}"[:_MOST_REASON]
    return {"url": result.url, "error": message[:_MOST_REASON], "reason": reason}
