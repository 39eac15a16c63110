"""The rpc surface of the search service (SPEC §7)."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf import struct_pb2
from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.search.v1 import search_service_pb2 as pb
from hyperkitty.search.v1.search_pb2 import SearchJob, SearchOutcome, SearchQuery
from hyperkitty.search.v1.search_service_pb2_grpc import SearchServiceServicer

from services.kit import errors
from services.kit.clock import Clock
from services.kit.deadlines import current_budget
from services.kit.errors import Refusal
from services.kit.identity import current_identity
from services.kit.ids import new_id
from services.kit.operations import current_operation
from services.kit.paging import page_of
from services.kit.recorder import log_unavailable
from services.kit.store import Entry
from services.kit.validation import refuse_fields
from services.search import stages
from services.search.jobs import JobRecord, Jobs
from services.search.providers.provider import Provider
from services.search.queries import normalize_query
from services.search.runner import Runner, cancelled

# SPEC §7.
_ITERATIONS = 3
# What is left of a call's time to answer in, when it waits for a result.
_ANSWER_SECONDS = 0.2


def _id_of(job: SearchJob) -> str:
    return job.job_id


class SearchServicer(SearchServiceServicer):
    """Handlers as the contract names them; `default` is the provider of jobs that name none."""

    def __init__(
        self, jobs: Jobs, runner: Runner, providers: Mapping[str, Provider], default: str, clock: Clock
    ) -> None:
        self._jobs = jobs
        self._runner = runner
        self._providers = providers
        self._default = default
        self._clock = clock

    async def ListSearchJobs(self, request: pb.ListSearchJobsRequest, context: object) -> pb.ListSearchJobsResponse:
        jobs = await self._jobs.visible(current_identity())
        wanted = sorted((job for job in jobs if request.stage in (0, job.stage)), key=_id_of, reverse=True)
        page, token = page_of(wanted, request.page_size, request.page_token, key=_id_of)
        return pb.ListSearchJobsResponse(jobs=page, next_page_token=token)

    async def StartSearch(self, request: pb.StartSearchRequest, context: object) -> pb.StartSearchResponse:
        made = self._new_record(request.query)
        self._runner.check_room()
        operation = current_operation()
        operation.subject = made.job.job_id
        await self._jobs.records.create(self._jobs.key_of(made.job), made)
        try:
            acknowledged = await self._runner.announce(made)
        finally:
            # It is stored: it runs, also where the log takes its events later only.
            self._runner.start(made.job)
        if not acknowledged:
            raise log_unavailable(operation.operation_id)
        return pb.StartSearchResponse(job=made.job)

    def _new_record(self, query: SearchQuery) -> JobRecord:
        provider = query.provider or self._default
        if provider not in self._providers:
            known = ", ".join(sorted(self._providers))
            raise refuse_fields([("query.provider", f"{provider!r} is not served; there are: {known}")])
        if not normalize_query(query.query):
            raise refuse_fields([("query.query", "holds no word")])
        identity, operation, now_ms = current_identity(), current_operation(), self._clock.now_ms()
        job = SearchJob(
            job_id=new_id("job"),
            owner_agent_id=identity.agent_id,
            query=query.query,
            stage=stages.USER_QUERY,
            iteration=1,
            max_iterations=query.max_iterations or _ITERATIONS,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
            provider=provider,
            tenant=identity.tenant,
        )
        return JobRecord(
            job, operation_id=operation.operation_id, request_id=operation.request_id, actor=identity.token_id
        )

    async def GetSearchJob(self, request: pb.GetSearchJobRequest, context: object) -> pb.GetSearchJobResponse:
        found = await self._jobs.find(current_identity(), request.job_id)
        return pb.GetSearchJobResponse(job=found.value.job)

    async def GetSearchResult(self, request: pb.GetSearchResultRequest, context: object) -> pb.GetSearchResultResponse:
        found = await self._jobs.find(current_identity(), request.job_id)
        if found.value.job.stage not in stages.TERMINAL and request.wait_ms:
            seconds = min(request.wait_ms / 1000, max(0.0, current_budget().left() - _ANSWER_SECONDS))
            await self._runner.wait(request.job_id, seconds)
            found = await self._jobs.find(current_identity(), request.job_id)
        job = found.value.job
        if job.stage == stages.FAILED:
            raise errors.from_proto(job.failure)
        if job.stage != stages.DONE:
            raise Refusal(
                ErrorCode.ERROR_CODE_WRONG_STATE,
                f"{job.job_id} is at {stages.name(job.stage)}; its result is readable when it is done",
                hint="get_search_result with wait_ms waits for the end.",
                details={"job_id": job.job_id, "stage": stages.name(job.stage)},
            )
        return pb.GetSearchResultResponse(outcome=_outcome(found.value))

    async def GetSourceDocument(
        self, request: pb.GetSourceDocumentRequest, context: object
    ) -> pb.GetSourceDocumentResponse:
        found = await self._jobs.find(current_identity(), request.job_id)
        kept = await self._jobs.document(found.value.job.job_id, request.document_id)
        if kept is None:
            raise Refusal(
                ErrorCode.ERROR_CODE_NOT_FOUND,
                f"{request.job_id} has no document {request.document_id}",
                hint="get_search_result names the documents.",
                details={"job_id": request.job_id, "document_id": request.document_id},
            )
        return pb.GetSourceDocumentResponse(document=kept.document)

    async def CancelSearch(self, request: pb.CancelSearchRequest, context: object) -> pb.CancelSearchResponse:
        current_operation().subject = request.job_id
        identity = current_identity()
        found: Entry[JobRecord] | None = await self._jobs.find(identity, request.job_id)
        # Once more where another replica moved it on meanwhile.
        for _ in range(3):
            await self._runner.stop(request.job_id)
            found = await self._jobs.find(identity, request.job_id)
            if found.value.job.stage in stages.TERMINAL:
                raise Refusal(
                    ErrorCode.ERROR_CODE_WRONG_STATE,
                    f"{request.job_id} has ended already: {stages.name(found.value.job.stage)}",
                    hint="get_search_result gives what it found.",
                    details={"job_id": request.job_id, "stage": stages.name(found.value.job.stage)},
                )
            ended = await self._runner.fail(found, cancelled(request.job_id))
            if ended is not None:
                return pb.CancelSearchResponse(job=ended.value.job)
        raise Refusal(ErrorCode.ERROR_CODE_WRONG_STATE, f"{request.job_id} is moving on faster than it can be stopped")


def _outcome(kept: JobRecord) -> SearchOutcome:
    job = kept.job
    diagnostics = struct_pb2.Struct()
    diagnostics.update(
        {
            "iterations": job.iteration,
            "queries": list(kept.asked),
            "dropped": kept.dropped,
            "unreadable": kept.unreadable,
            "unresponsive": list(kept.unresponsive),
            "elapsed_ms": job.updated_at_ms - job.created_at_ms,
        }
    )
    return SearchOutcome(
        job_id=job.job_id, provider=job.provider, results=job.results, answer=job.answer, diagnostics=diagnostics
    )
