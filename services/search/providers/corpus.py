"""The provider `corpus`: text, Markdown, HTML and PDF files of a local folder, indexed with BM25 (SPEC §7)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from services.search.extraction import extract
from services.search.providers.corpus_index import TYPES, CorpusIndex, Listing, list_files, read_file
from services.search.providers.provider import Fetched, Found, Hit, failed
from services.search.queries import plan_queries

NAME = "corpus"
ORIGIN = "corpus:///"
_MOST_RESULTS = 20
# So long a listing of the folder holds; then it is looked at again.
_LISTING_SECONDS = 2.0
_READ_SECONDS = 20.0
# The first search of a large folder waits for its index.
_INDEX_SECONDS = 45.0


class CorpusProvider:
    """See Provider. The index is in memory, and made again when the folder has changed."""

    name = NAME

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._index: CorpusIndex | None = None
        self._listing: Listing = ()
        self._looked_at = 0.0
        self._indexing = asyncio.Lock()

    def plan(self, query: str, asked: Sequence[str]) -> list[str]:
        return plan_queries(query, asked)

    async def search(self, query: str) -> Found:
        try:
            async with asyncio.timeout(_INDEX_SECONDS):
                index = await self._current()
                places = await asyncio.to_thread(index.search, query, _MOST_RESULTS)
        except TimeoutError as error:
            raise failed(NAME, "timeout", f"its folder was not indexed within {_INDEX_SECONDS:g} s") from error
        except OSError as error:
            raise failed(NAME, "unreachable", f"its folder cannot be read: {error.strerror}") from error
        return Found([Hit(ORIGIN + quote(each.path), each.title, each.snippet, (NAME,)) for each in places])

    async def _current(self) -> CorpusIndex:
        async with self._indexing:
            now = time.monotonic()
            if self._index is None or now - self._looked_at > _LISTING_SECONDS:
                listing = await asyncio.to_thread(list_files, self._folder)
                if self._index is None or listing != self._listing:
                    self._index = await asyncio.to_thread(CorpusIndex.of, self._folder, listing)
                    self._listing = listing
                self._looked_at = now
            return self._index

    def owns(self, url: str) -> bool:
        return url.startswith(ORIGIN)

    async def fetch(self, url: str) -> Fetched:
        path = unquote(url.removeprefix(ORIGIN))
        try:
            async with asyncio.timeout(_READ_SECONDS):
                content = await asyncio.to_thread(read_file, self._folder, path)
        except (OSError, ValueError) as error:
            raise failed(NAME, "not_found", f"it has no document {path[:200]!r}") from error
        return Fetched(url, TYPES[Path(path).suffix.lower()], content)

    def extract(self, fetched: Fetched) -> str:
        return extract(fetched)
