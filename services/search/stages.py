"""The stages of a job, in order, and the event that publishes the end of each (SPEC §7, §9)."""

from __future__ import annotations

from hyperkitty.search.v1.search_pb2 import SearchStage

Stage = SearchStage.ValueType

USER_QUERY = SearchStage.SEARCH_STAGE_USER_QUERY
QUERY_NORMALIZATION = SearchStage.SEARCH_STAGE_QUERY_NORMALIZATION
SEARCH_PLANNER = SearchStage.SEARCH_STAGE_SEARCH_PLANNER
SEARCH_PROVIDER = SearchStage.SEARCH_STAGE_SEARCH_PROVIDER
RESULT_NORMALIZATION = SearchStage.SEARCH_STAGE_RESULT_NORMALIZATION
URL_DEDUPLICATION = SearchStage.SEARCH_STAGE_URL_DEDUPLICATION
CONTENT_RETRIEVAL = SearchStage.SEARCH_STAGE_CONTENT_RETRIEVAL
CONTENT_EXTRACTION = SearchStage.SEARCH_STAGE_CONTENT_EXTRACTION
SOURCE_RANKING = SearchStage.SEARCH_STAGE_SOURCE_RANKING
RESULT_SYNTHESIS = SearchStage.SEARCH_STAGE_RESULT_SYNTHESIS
FRONTEND_VISIBILITY = SearchStage.SEARCH_STAGE_FRONTEND_VISIBILITY
DONE = SearchStage.SEARCH_STAGE_DONE
FAILED = SearchStage.SEARCH_STAGE_FAILED

ORDER: tuple[Stage, ...] = (
    USER_QUERY,
    QUERY_NORMALIZATION,
    SEARCH_PLANNER,
    SEARCH_PROVIDER,
    RESULT_NORMALIZATION,
    URL_DEDUPLICATION,
    CONTENT_RETRIEVAL,
    CONTENT_EXTRACTION,
    SOURCE_RANKING,
    RESULT_SYNTHESIS,
    FRONTEND_VISIBILITY,
    DONE,
)
TERMINAL = frozenset({DONE, FAILED})

EVENTS: dict[Stage, str] = {
    USER_QUERY: "search.started",
    QUERY_NORMALIZATION: "search.query_normalized",
    SEARCH_PLANNER: "search.query_generated",
    SEARCH_PROVIDER: "search.provider_called",
    RESULT_NORMALIZATION: "search.results_received",
    URL_DEDUPLICATION: "search.urls_deduplicated",
    CONTENT_RETRIEVAL: "search.document_retrieved",
    CONTENT_EXTRACTION: "search.document_extracted",
    SOURCE_RANKING: "search.source_ranked",
    RESULT_SYNTHESIS: "search.result_synthesized",
    FRONTEND_VISIBILITY: "search.completed",
}
RETRIED = "search.iteration_retried"
FAILED_EVENT = "search.failed"

ENOUGH_SOURCES = 3
"""With fewer ranked sources the planner is asked again (SPEC §7)."""


def following(stage: Stage) -> Stage:
    """The stage after this one on the straight line."""
    return ORDER[ORDER.index(stage) + 1]


def after_ranking(sources: int, iteration: int, max_iterations: int) -> Stage:
    """Back to the planner with too few sources, as long as iterations are left; else on."""
    if sources < ENOUGH_SOURCES and iteration < max_iterations:
        return SEARCH_PLANNER
    return RESULT_SYNTHESIS


def name(stage: Stage) -> str:
    """`SEARCH_STAGE_SOURCE_RANKING` → `source_ranking`."""
    return SearchStage.Name(stage).removeprefix("SEARCH_STAGE_").lower()
