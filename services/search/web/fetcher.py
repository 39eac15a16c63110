"""Fetching documents: each redirect checked again, robots.txt kept to, limits of time, size and type (SPEC §7)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import ada_url

from services.search.providers.provider import Fetched
from services.search.web.client import Answer, FetchFailed, HttpClient
from services.search.web.robots import Robots

SECONDS = 10.0
MOST_BYTES = 5 * 1024 * 1024
_REDIRECTS = 5
_REDIRECT_STATUS = frozenset({301, 302, 303, 307, 308})
_TYPES = ("text/", "application/xhtml+xml", "application/pdf", "application/json", "application/xml")
_CACHE_ENTRIES, _CACHE_BYTES = 256, 16 * 1024 * 1024


@dataclass(frozen=True)
class _Kept:
    """A document with what its server said to ask again with (RFC 9110 section 13.1)."""

    fetched: Fetched
    etag: str
    modified: str


class WebFetcher:
    """Documents for every tenant: they are what anybody is given who asks without credentials."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._robots = Robots(client)
        self._cache: OrderedDict[str, _Kept] = OrderedDict()
        self._cached_bytes = 0

    async def close(self) -> None:
        """Closes connections."""
        await self._client.close()

    async def fetch(self, url: str) -> Fetched:
        """A document, by whatever redirects lead to it; its `url` is where it was. Raises FetchFailed."""
        for _ in range(_REDIRECTS + 1):
            if not await self._robots.allows(url):
                raise FetchFailed("robots", f"the robots.txt of {url[:200]} asks not to read it")
            kept = self._cache.get(url)
            answer = await self._client.get(url, seconds=SECONDS, most_bytes=MOST_BYTES, headers=_conditions(kept))
            if answer.status == 304 and kept is not None:
                self._cache.move_to_end(url)
                return kept.fetched
            if answer.status not in _REDIRECT_STATUS or "Location" not in answer.headers:
                return self._read(url, answer)
            try:
                url = ada_url.URL(answer.headers["Location"], url).href
            except ValueError as error:
                raise FetchFailed("status", f"{url[:200]} leads to no address") from error
        raise FetchFailed("status", f"more than {_REDIRECTS} redirects, the last to {url[:200]}")

    def _read(self, url: str, answer: Answer) -> Fetched:
        if answer.status != 200:
            raise FetchFailed("status", f"{url[:200]} answered {answer.status}")
        content_type = answer.headers.get("Content-Type", "").strip()[:200] or _guessed(answer.body)
        media = content_type.partition(";")[0].strip().lower()
        if not media.startswith(_TYPES):
            raise FetchFailed("type", f"{url[:200]} is {media[:100]!r}, which has no text")
        if not answer.is_whole:
            raise FetchFailed("too_large", f"{url[:200]} has more than {MOST_BYTES} bytes")
        fetched = Fetched(url, content_type, answer.body)
        self._keep(url, answer, fetched)
        return fetched

    def _keep(self, url: str, answer: Answer, fetched: Fetched) -> None:
        etag, modified = answer.headers.get("ETag", ""), answer.headers.get("Last-Modified", "")
        before = self._cache.pop(url, None)
        if before is not None:
            self._cached_bytes -= len(before.fetched.content)
        if not (etag or modified) or "no-store" in answer.headers.get("Cache-Control", "").lower():
            return
        self._cache[url] = _Kept(fetched, etag, modified)
        self._cached_bytes += len(fetched.content)
        # The longest unused go first.
        while len(self._cache) > _CACHE_ENTRIES or self._cached_bytes > _CACHE_BYTES:
            _, dropped = self._cache.popitem(last=False)
            self._cached_bytes -= len(dropped.fetched.content)


def _conditions(kept: _Kept | None) -> dict[str, str]:
    if kept is None:
        return {}
    named = {"If-None-Match": kept.etag, "If-Modified-Since": kept.modified}
    return {name: value for name, value in named.items() if value}


def _guessed(body: bytes) -> str:
    """A type for a document whose server names none."""
    if body.startswith(b"%PDF-"):
        return "application/pdf"
    return "text/html" if body[:1024].lstrip().startswith(b"<") else "text/plain"
