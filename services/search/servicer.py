"""The rpc surface of the search service (SPEC §7)."""

from __future__ import annotations

from hyperkitty.operations.v1.errors_pb2 import ErrorCode
from hyperkitty.search.v1 import search_service_pb2 as pb
from hyperkitty.search.v1.search_pb2 import SearchJob
from hyperkitty.search.v1.search_service_pb2_grpc import SearchServiceServicer

from services.kit.errors import Refusal
from services.kit.identity import current_identity
from services.kit.paging import page_of
from services.kit.store import Store


def _unserved(what: str) -> Refusal:
    return Refusal(
        ErrorCode.ERROR_CODE_UNIMPLEMENTED,
        f"{what} is in the contract but not served yet",
        hint="An agent with a browser can search: navigate to a search engine, then read_page and extract_links.",
    )


def _id_of(job: SearchJob) -> str:
    return job.job_id


class SearchServicer(SearchServiceServicer):
    """Lists jobs; nothing makes any yet."""

    def __init__(self, jobs: Store[SearchJob]) -> None:
        self._jobs = jobs

    async def ListSearchJobs(self, request: pb.ListSearchJobsRequest, context: object) -> pb.ListSearchJobsResponse:
        identity = current_identity()
        jobs = [entry.value for entry in await self._jobs.entries()]
        seen = [
            job
            for job in jobs
            if (identity.scopes.root or job.tenant == identity.tenant)
            and (not identity.agent_id or job.owner_agent_id == identity.agent_id)
            and (not request.stage or job.stage == request.stage)
        ]
        seen.sort(key=_id_of, reverse=True)
        page, token = page_of(seen, request.page_size, request.page_token, key=_id_of)
        return pb.ListSearchJobsResponse(jobs=page, next_page_token=token)

    async def StartSearch(self, request: pb.StartSearchRequest, context: object) -> pb.StartSearchResponse:
        raise _unserved("start_search")

    async def GetSearchJob(self, request: pb.GetSearchJobRequest, context: object) -> pb.GetSearchJobResponse:
        raise _unserved("get_search_job")

    async def GetSearchResult(self, request: pb.GetSearchResultRequest, context: object) -> pb.GetSearchResultResponse:
        raise _unserved("get_search_result")

    async def GetSourceDocument(
        self, request: pb.GetSourceDocumentRequest, context: object
    ) -> pb.GetSourceDocumentResponse:
        raise _unserved("get_source_document")

    async def CancelSearch(self, request: pb.CancelSearchRequest, context: object) -> pb.CancelSearchResponse:
        raise _unserved("cancel_search")
