"""The files of a folder and their index. Everything here blocks: call it in a thread."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import tantivy

from services.kit import logs
from services.search.extraction import decoded, extract, html_title
from services.search.providers.provider import Fetched
from services.search.text import sentences, telling_terms, terms

log = logs.get(__name__)

TYPES = {
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".pdf": "application/pdf",
}
_MOST_FILES = 10_000
_MOST_FILE_BYTES = 5 * 1024 * 1024
_MOST_DEPTH = 16
# What tantivy buffers before it writes a segment; its own least is 15 MB.
_HEAP_BYTES = 15_000_000
_SNIPPET = 300
_MOST_LOOKED_AT = 20_000
# All texts together; further files are left out.
_MOST_CHARACTERS = 50_000_000
_IN_TITLE, _IN_TEXT = "title", "text"
_TITLE_BOOST = 2.0

Listing: TypeAlias = "tuple[tuple[str, int, int], ...]"
"""Path, modification time in nanoseconds, bytes, of each file."""


@dataclass(frozen=True)
class Place:
    """A file that a query leads to."""

    path: str
    title: str
    snippet: str


def list_files(folder: Path) -> Listing:
    """The files that are searched: no hidden ones, none that a link leads out of the folder to. Raises OSError."""
    os.stat(folder)
    found: list[tuple[str, int, int]] = []
    for path in _walk(folder):
        facts = path.stat()
        if facts.st_size > _MOST_FILE_BYTES:
            continue
        found.append((path.relative_to(folder).as_posix(), facts.st_mtime_ns, facts.st_size))
        if len(found) == _MOST_FILES:
            log.warning("corpus_too_large", limit=_MOST_FILES)
            break
    return tuple(found)


def _walk(folder: Path) -> Iterator[Path]:
    for directory, names, files in os.walk(folder):
        here = Path(directory)
        deep = len(here.relative_to(folder).parts) >= _MOST_DEPTH
        names[:] = [] if deep else sorted(name for name in names if not name.startswith("."))
        for name in sorted(files):
            path = here / name
            if not name.startswith(".") and path.suffix.lower() in TYPES and _is_inside(folder, path):
                yield path


def _is_inside(folder: Path, path: Path) -> bool:
    real = path.resolve()
    return real.is_relative_to(folder) and real.is_file()


def read_file(folder: Path, path: str) -> bytes:
    """A file's bytes. Raises OSError, or ValueError for a path that is not in the corpus."""
    whole = folder / path
    hidden = any(part.startswith(".") for part in Path(path).parts)
    if hidden or whole.suffix.lower() not in TYPES or not _is_inside(folder, whole):
        raise ValueError(path)
    with whole.open("rb") as file:
        content = file.read(_MOST_FILE_BYTES + 1)
    if len(content) > _MOST_FILE_BYTES:
        raise ValueError(path)
    return content


class CorpusIndex:
    """A tantivy index in memory over the terms that the job's own ranking goes by; the texts are kept beside it."""

    def __init__(self) -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("number", stored=True)
        for name in (_IN_TITLE, _IN_TEXT):
            builder.add_text_field(name, tokenizer_name="whitespace", index_option="freq")
        self._schema = builder.build()
        self._index = tantivy.Index(self._schema)
        self._files: list[tuple[str, str, str]] = []

    @classmethod
    def of(cls, folder: Path, listing: Listing) -> CorpusIndex:
        """Reads and indexes the files; one that cannot be read is left out."""
        made = cls()
        writer = made._index.writer(_HEAP_BYTES, 1)
        room = _MOST_CHARACTERS
        for path, _, _ in listing:
            try:
                title, text = _title_and_text(path, read_file(folder, path))
            except (OSError, ValueError) as error:
                log.warning("corpus_file_unreadable", path=path, reason=str(error))
                continue
            room -= len(text)
            if room < 0:
                log.warning("corpus_too_large", limit_characters=_MOST_CHARACTERS)
                break
            document = tantivy.Document()
            document.add_unsigned("number", len(made._files))
            document.add_text(_IN_TITLE, " ".join(terms(title)))
            document.add_text(_IN_TEXT, " ".join(terms(text)))
            writer.add_document(document)
            made._files.append((path, title, text))
        writer.commit()
        writer.wait_merging_threads()
        made._index.reload()
        return made

    def search(self, query: str, limit: int) -> list[Place]:
        """Files with any of the query's terms, best first."""
        wanted = telling_terms(query)
        parts: list[tuple[tantivy.Occur, tantivy.Query]] = []
        for term in sorted(wanted):
            in_title = tantivy.Query.term_query(self._schema, _IN_TITLE, term, "freq")
            in_text = tantivy.Query.term_query(self._schema, _IN_TEXT, term, "freq")
            parts.append((tantivy.Occur.Should, tantivy.Query.boost_query(in_title, _TITLE_BOOST)))
            parts.append((tantivy.Occur.Should, in_text))
        searcher = self._index.searcher()
        places: list[Place] = []
        for _, address in searcher.search(tantivy.Query.boolean_query(parts), limit).hits:
            number: object = searcher.doc(address).get_first("number")
            if isinstance(number, int):
                path, title, text = self._files[number]
                places.append(Place(path, title, _snippet(text, wanted)))
        return places


def _snippet(text: str, wanted: set[str]) -> str:
    """The sentence that has most of the terms, the first of equals."""
    every = sentences(text[:_MOST_LOOKED_AT])
    best = max(every, key=lambda each: len(wanted & set(terms(each.text))), default=None)
    return " ".join((text if best is None else best.text)[:_SNIPPET].split())


def _title_and_text(path: str, content: bytes) -> tuple[str, str]:
    """Raises Unreadable."""
    name = Path(path)
    fetched = Fetched(path, TYPES[name.suffix.lower()], content)
    text = extract(fetched)
    title = ""
    if fetched.content_type == "text/html":
        title = html_title(decoded(fetched))
    elif fetched.content_type == "text/markdown":
        title = next((line.strip("# ") for line in text.splitlines() if line.startswith("#")), "")
    return title[:300] or name.stem, text
