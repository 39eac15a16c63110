"""What each stage does (SPEC §7). A stage takes a record and gives the next one, and what the log is told of it.

Nothing is kept in memory between stages: a job goes on at its stage wherever it was broken off. A stage that is run
again does the same again, to the same ids, so that its events are repeats that readers drop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.search.v1.search_pb2 import SearchJob, SearchResult, TextSpan
from msgspec.structs import replace

from services.kit.clock import Clock
from services.kit.errors import Refusal
from services.kit.json_values import JsonValue, clean_text
from services.search import stages
from services.search.addresses import NotAnAddress, normalize_url
from services.search.answers import synthesize
from services.search.derived_ids import derived_id
from services.search.documents import Documents
from services.search.jobs import DocumentRecord, JobRecord, Jobs, RawHit
from services.search.providers.provider import Hit, Provider, failed
from services.search.queries import normalize_query
from services.search.ranking import Source, rank
from services.search.stages import Stage

MOST_RESULTS = 50
_MOST_FETCHED = 10
_MOST_TITLE, _MOST_SNIPPET, _MOST_URL, _MOST_NAMES, _MOST_NAME = 300, 1_000, 2_000, 10, 60
_MOST_UNRESPONSIVE = 50

Facts = Mapping[str, JsonValue]


@dataclass(frozen=True)
class Told:
    """One event of a stage. `number` tells the events of one stage apart."""

    category: str
    facts: Facts
    number: int = 0


@dataclass(frozen=True)
class Step:
    """What a stage made of a record; `record.job.stage` is the next stage."""

    record: JobRecord
    told: list[Told] = field(default_factory=list[Told])


def started(record: JobRecord) -> Told:
    """What the log is told of a job that was taken."""
    return Told("search.started", {"query": record.job.query, "provider": record.job.provider})


Work = Callable[[JobRecord], Awaitable[Step]]


class Pipeline:
    """The stages, with the providers and the store that they work on."""

    def __init__(self, jobs: Jobs, providers: Mapping[str, Provider], clock: Clock) -> None:
        self._jobs = jobs
        self._providers = providers
        self._clock = clock
        self._documents = Documents(jobs, clock)
        self._work: dict[Stage, Work] = {
            stages.USER_QUERY: self._take_query,
            stages.QUERY_NORMALIZATION: self._normalize_query,
            stages.SEARCH_PLANNER: self._plan,
            stages.SEARCH_PROVIDER: self._ask,
            stages.RESULT_NORMALIZATION: self._normalize_results,
            stages.URL_DEDUPLICATION: self._deduplicate,
            stages.CONTENT_RETRIEVAL: self._retrieve,
            stages.CONTENT_EXTRACTION: self._extract,
            stages.SOURCE_RANKING: self._rank,
            stages.RESULT_SYNTHESIS: self._synthesize,
            stages.FRONTEND_VISIBILITY: self._show,
        }

    async def step(self, record: JobRecord) -> Step:
        """Runs the record's stage. Raises Refusal where the job fails by it."""
        step = await self._work[record.job.stage](record)
        step.record.job.updated_at_ms = self._clock.now_ms()
        return step

    def _provider(self, record: JobRecord) -> Provider:
        found = self._providers.get(record.job.provider)
        if found is None:
            # A job that was taken before the settings changed.
            raise failed(record.job.provider, "not_set_up", "it is not set up any more")
        return found

    async def _take_query(self, record: JobRecord) -> Step:
        # The call that made the job has told of it before it answered, unless the process died in between.
        return Step(_moved(record), [started(record)])

    async def _normalize_query(self, record: JobRecord) -> Step:
        query = normalize_query(record.job.query)
        return Step(
            replace(_moved(record), normalized_query=query), [Told("search.query_normalized", {"query": query})]
        )

    async def _plan(self, record: JobRecord) -> Step:
        planned = tuple(self._provider(record).plan(record.normalized_query, record.asked))
        told = Told("search.query_generated", {"queries": list(planned), "iteration": record.job.iteration})
        return Step(replace(_moved(record), planned=planned), [told])

    async def _ask(self, record: JobRecord) -> Step:
        raw: list[RawHit] = []
        unresponsive = list(record.unresponsive)
        place = len(record.job.results)
        for query in record.planned:
            try:
                found = await self._provider(record).search(query)
            except Refusal as refusal:
                # What is there already is worth more than a failure; with nothing there, the job fails by it.
                if refusal.code != ErrorCode.ERROR_CODE_PROVIDER_FAILED or not (raw or record.job.results):
                    raise
                unresponsive.append(f"{record.job.provider}: {refusal.details.get('reason', 'failed')}")
                continue
            unresponsive += found.unresponsive
            for hit in found.hits[:MOST_RESULTS]:
                place += 1
                raw.append(_raw(hit, place, query))
        facts: Facts = {
            "provider": record.job.provider,
            "queries": list(record.planned),
            "results": len(raw),
            "unresponsive": unresponsive[len(record.unresponsive) :][:_MOST_UNRESPONSIVE],
        }
        made = replace(
            _moved(record),
            asked=(*record.asked, *record.planned),
            planned=(),
            raw=tuple(raw),
            unresponsive=tuple(dict.fromkeys(unresponsive))[:_MOST_UNRESPONSIVE],
        )
        return Step(made, [Told("search.provider_called", facts)])

    async def _normalize_results(self, record: JobRecord) -> Step:
        moved = _moved(record)
        dropped = 0
        for hit in record.raw:
            try:
                normalized = normalize_url(hit.url)
            except NotAnAddress:
                dropped += 1
                continue
            moved.job.results.append(_result(moved.job, hit, normalized, self._clock.now_ms()))
        facts: Facts = {"results": len(record.raw) - dropped, "dropped": dropped}
        return Step(replace(moved, raw=(), dropped=record.dropped + dropped), [Told("search.results_received", facts)])

    async def _deduplicate(self, record: JobRecord) -> Step:
        moved = _moved(record)
        kept: dict[str, SearchResult] = {}
        for result in record.job.results:
            # The first is the best placed, and its own URL is the one that is fetched and cited.
            first = kept.setdefault(result.normalized_url, result)
            first.found_by.extend(each for each in result.found_by if each not in first.found_by)
        repeats = len(record.job.results) - len(kept)
        del moved.job.results[:]
        moved.job.results.extend(list(kept.values())[:MOST_RESULTS])
        facts: Facts = {"results": len(moved.job.results), "repeats": repeats}
        return Step(replace(moved, dropped=record.dropped + repeats), [Told("search.urls_deduplicated", facts)])

    async def _retrieve(self, record: JobRecord) -> Step:
        moved = _moved(record)
        waiting = [each for each in moved.job.results if not each.source_document_id and not each.fetch_error]
        facts = await self._documents.fetch(self._provider(record), moved.job, waiting[:_MOST_FETCHED])
        told = [Told("search.document_retrieved", each, number) for number, each in enumerate(facts)]
        # Each transition is published, also one with nothing to do.
        told = told or [Told("search.document_retrieved", {"documents": 0})]
        lost = sum(1 for each in facts if "error" in each)
        return Step(replace(moved, unreadable=record.unreadable + lost), told)

    async def _extract(self, record: JobRecord) -> Step:
        moved = _moved(record)
        told: list[Told] = []
        for result in moved.job.results:
            facts = await self._documents.read(self._provider(record), moved.job, result)
            if facts is not None:
                told.append(Told("search.document_extracted", facts, len(told)))
        lost = sum(1 for each in told if "error" in each.facts)
        characters = sum(each for told_of in told if isinstance(each := told_of.facts.get("characters"), int))
        told = told or [Told("search.document_extracted", {"documents": 0})]
        made = replace(moved, unreadable=record.unreadable + lost, characters=record.characters + characters)
        return Step(made, told)

    async def _rank(self, record: JobRecord) -> Step:
        moved = _moved(record)
        sources: list[Source] = []
        for result in moved.job.results:
            kept = await self._documents.of(moved.job, result)
            if kept is not None:
                sources.append(Source(result.result_id, result.title, kept.document.extracted_text, result.rank))
        ranked = await asyncio.to_thread(rank, record.normalized_query, sources)
        scores = {source.name: score for source, score in ranked}
        # What has nothing to do with the query, or could not be read, comes last, in the provider's order.
        ordered = sorted(moved.job.results, key=lambda result: -scores.get(result.result_id, 0.0))
        for place, result in enumerate(ordered, 1):
            result.rank, result.score = place, scores.get(result.result_id, 0.0)
        del moved.job.results[:]
        moved.job.results.extend(ordered)
        told = [Told("search.source_ranked", {"sources": len(ranked), "iteration": record.job.iteration})]
        moved.job.stage = stages.after_ranking(len(ranked), record.job.iteration, record.job.max_iterations)
        if moved.job.stage == stages.SEARCH_PLANNER:
            moved.job.iteration += 1
            told.append(Told(stages.RETRIED, {"sources": len(ranked), "iteration": moved.job.iteration}))
        return Step(moved, told)

    async def _synthesize(self, record: JobRecord) -> Step:
        moved = _moved(record)
        documents: list[DocumentRecord] = []
        for result in moved.job.results:
            kept = await self._documents.of(moved.job, result)
            if kept is not None and result.score > 0:
                documents.append(kept)
        texts = [each.document for each in documents]
        moved.job.answer.CopyFrom(await asyncio.to_thread(synthesize, record.normalized_query, texts))
        await self._note_spans(moved.job, documents)
        cited = sum(len(sentence.citations) for sentence in moved.job.answer.sentences)
        facts: Facts = {"sentences": len(moved.job.answer.sentences), "citations": cited}
        return Step(moved, [Told("search.result_synthesized", facts)])

    async def _note_spans(self, job: SearchJob, documents: list[DocumentRecord]) -> None:
        """Each cited document is told where it is cited, by the result that led to it."""
        results = {result.source_document_id: result.result_id for result in job.results if result.source_document_id}
        for kept in documents:
            for sentence in job.answer.sentences:
                for citation in sentence.citations:
                    if citation.document_id == kept.document.document_id:
                        span = TextSpan(start=citation.start, end=citation.end)
                        kept.document.citation_map[results[citation.document_id]].CopyFrom(span)
            if kept.document.citation_map:
                await self._jobs.put_document(job.job_id, kept)

    async def _show(self, record: JobRecord) -> Step:
        facts: Facts = {"results": len(record.job.results), "iterations": record.job.iteration}
        return Step(_moved(record), [Told("search.completed", facts)])


def _moved(record: JobRecord) -> JobRecord:
    """The same record at the next stage, with a job that may be changed."""
    job = SearchJob()
    job.CopyFrom(record.job)
    job.stage = stages.following(record.job.stage)
    return replace(record, job=job)


def _raw(hit: Hit, place: int, query: str) -> RawHit:
    """A hit, cut to what is kept. A URL is not cut but dropped later: half of one is another."""
    url = hit.url if len(hit.url) <= _MOST_URL else ""
    found_by = tuple(clean_text(each)[:_MOST_NAME] for each in hit.found_by[:_MOST_NAMES])
    title, snippet = clean_text(hit.title)[:_MOST_TITLE], clean_text(hit.snippet)[:_MOST_SNIPPET]
    return RawHit(clean_text(url), title, snippet, place, query, found_by)


def _result(job: SearchJob, hit: RawHit, normalized: str, now_ms: int) -> SearchResult:
    return SearchResult(
        result_id=derived_id("res", job.job_id, str(job.iteration), str(hit.place)),
        job_id=job.job_id,
        url=hit.url,
        normalized_url=normalized,
        title=hit.title or hit.url,
        snippet=hit.snippet,
        rank=hit.place,
        found_by=hit.found_by,
        created_at_ms=now_ms,
    )
