"""The provider `searxng`: a SearXNG instance's JSON API, whose faults are told apart (SPEC §7).

SearXNG answers 200 with nothing when the engines behind it are blocked: that is a failure, not "nothing found".
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from urllib.parse import urlencode

import msgspec

from services.search.extraction import extract
from services.search.providers.provider import Fetched, Found, Hit, failed
from services.search.queries import plan_queries
from services.search.web.client import Answer, FetchFailed, HttpClient
from services.search.web.fetcher import WebFetcher

NAME = "searxng"
SECONDS = 5.0
_MOST_BYTES = 4 * 1024 * 1024
_MOST_RESULTS, _MOST_ENGINES = 200, 20
# A provider that asks for more patience than this is not waited for.
_MOST_PATIENCE_SECONDS = 5.0
_DEFAULT_PATIENCE_SECONDS = 2.0


class _Result(msgspec.Struct):
    """One result, as far as it is read: anything may be missing or null."""

    url: str | None = None
    title: str | None = None
    content: str | None = None
    engine: str | None = None
    engines: list[str] | None = None


class _Page(msgspec.Struct):
    """The answer, as far as it is read. Results are decoded one by one: an odd one spoils no other."""

    results: list[msgspec.Raw]
    unresponsive_engines: list[msgspec.Raw] = []


class SearxngProvider:
    """See Provider. `base_url` is the instance's, by the operator's setting."""

    name = NAME

    def __init__(self, base_url: str, client: HttpClient, fetcher: WebFetcher) -> None:
        self._search_url = base_url.rstrip("/") + "/search"
        self._client = client
        self._fetcher = fetcher
        self._not_before = 0.0

    def plan(self, query: str, asked: Sequence[str]) -> list[str]:
        return plan_queries(query, asked)

    async def search(self, query: str) -> Found:
        await self._be_patient()
        answer = await self._ask(query)
        if answer.status == 429:
            self._not_before = time.monotonic() + _patience(answer)
            await self._be_patient()
            answer = await self._ask(query)
            if answer.status == 429:
                patience = _patience(answer)
                self._not_before = time.monotonic() + patience
                raise _rate_limited(patience)
        return _read(answer)

    async def _be_patient(self) -> None:
        """Waits until it may be asked again; refuses where that is too long."""
        wait = self._not_before - time.monotonic()
        if wait > _MOST_PATIENCE_SECONDS:
            raise _rate_limited(wait)
        if wait > 0:
            # The instance named this time; nothing else tells when it is over.
            await asyncio.sleep(wait)

    async def _ask(self, query: str) -> Answer:
        url = f"{self._search_url}?{urlencode({'q': query, 'format': 'json'})}"
        try:
            return await self._client.get(
                url, seconds=SECONDS, most_bytes=_MOST_BYTES, headers={"Accept": "application/json"}
            )
        except FetchFailed as error:
            raise failed(NAME, error.reason, _without_address(error)) from error

    def owns(self, url: str) -> bool:
        return url.startswith(("http://", "https://"))

    async def fetch(self, url: str) -> Fetched:
        try:
            return await self._fetcher.fetch(url)
        except FetchFailed as error:
            raise failed(NAME, error.reason, str(error)) from error

    def extract(self, fetched: Fetched) -> str:
        return extract(fetched)


def _without_address(error: FetchFailed) -> str:
    """Where the instance is, is the operator's business."""
    told = {
        "timeout": f"it did not answer within {SECONDS:g} s",
        "blocked": "it may not be reached by the egress policy",
    }
    return told.get(error.reason, "it could not be reached")


def _patience(answer: Answer) -> float:
    """Seconds from Retry-After; a date or nonsense counts as two seconds (RFC 9110 section 10.2.3)."""
    text = answer.headers.get("Retry-After", "").strip()
    return min(float(text), 3_600.0) if text.isascii() and text.isdigit() else _DEFAULT_PATIENCE_SECONDS


def _rate_limited(seconds: float) -> Exception:
    return failed(NAME, "rate_limited", "it takes no more queries for now", retry_after_ms=round(seconds * 1000))


def _read(answer: Answer) -> Found:
    if answer.status == 403:
        raise failed(NAME, "forbidden", "it refuses the JSON format (403); its settings must list json under formats")
    if answer.status != 200:
        raise failed(NAME, "bad_response", f"it answered {answer.status}", status=answer.status)
    media = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        # A challenge page, or a proxy's own words.
        raise failed(NAME, "bad_response", f"it answered with {media[:60] or 'no type'} where JSON was asked for")
    if not answer.is_whole:
        raise failed(NAME, "bad_response", f"it answered with more than {_MOST_BYTES} bytes")
    try:
        page = msgspec.json.decode(answer.body, type=_Page)
    except msgspec.MsgspecError as error:
        raise failed(NAME, "bad_response", "its answer is no whole JSON of results") from error
    hits = [hit for hit in map(_hit, page.results[:_MOST_RESULTS]) if hit is not None]
    unresponsive = tuple(each for each in map(_engine, page.unresponsive_engines[:_MOST_ENGINES]) if each)
    if not page.results and unresponsive:
        raise failed(NAME, "degraded", f"its engines do not answer: {', '.join(unresponsive)}", engines=unresponsive)
    return Found(hits, unresponsive)


def _hit(raw: msgspec.Raw) -> Hit | None:
    """A result that can be shown; None for one without an address of a page."""
    try:
        result = msgspec.json.decode(raw, type=_Result)
    except msgspec.MsgspecError:
        return None
    url = (result.url or "").strip()
    if not url.lower().startswith(("http://", "https://")):
        return None
    engines = result.engines or ([result.engine] if result.engine else [])
    return Hit(url, (result.title or "").strip() or url, (result.content or "").strip(), tuple(engines))


def _engine(raw: msgspec.Raw) -> str:
    """`["qwant", "timeout"]` → `qwant: timeout`."""
    try:
        name, *reasons = msgspec.json.decode(raw, type=list[str])
    except (msgspec.MsgspecError, ValueError):
        return ""
    return f"{name}: {', '.join(reasons)}"[:120]
