"""The files of a folder and their index. Everything here blocks: call it in a thread."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import tantivy

from services.kit import logs
from services.search.extraction import decoded, extract, html_title
from services.search.providers.provider import Fetched
from services.search.text import words

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
_TITLE_BOOST = 2.0
_HEADING = re.compile(r"^#{1,3}\s+(.+?)\s*#*\s*$", re.MULTILINE)

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
    """A tantivy index in memory over path, title and text."""

    def __init__(self, index: tantivy.Index, schema: tantivy.Schema) -> None:
        self._index = index
        self._schema = schema

    @classmethod
    def of(cls, folder: Path, listing: Listing) -> CorpusIndex:
        """Reads and indexes the files; one that cannot be read is left out."""
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("path", stored=True, tokenizer_name="raw")
        builder.add_text_field("title", stored=True, tokenizer_name="en_stem")
        builder.add_text_field("body", stored=True, tokenizer_name="en_stem")
        schema = builder.build()
        index = tantivy.Index(schema)
        writer = index.writer(_HEAP_BYTES, 1)
        for path, _, _ in listing:
            try:
                title, text = _title_and_text(path, read_file(folder, path))
            except (OSError, ValueError) as error:
                log.warning("corpus_file_unreadable", path=path, reason=str(error))
                continue
            writer.add_document(tantivy.Document(path=path, title=title, body=text))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        return cls(index, schema)

    def search(self, query: str, limit: int) -> list[Place]:
        """Files with any of the words, best first."""
        # Words only: nothing a caller writes is query syntax.
        text = " ".join(words(query))
        if not text:
            return []
        parsed, _ = self._index.parse_query_lenient(text, ["title", "body"], {"title": _TITLE_BOOST})
        searcher = self._index.searcher()
        snippets = tantivy.SnippetGenerator.create(searcher, parsed, self._schema, "body")
        snippets.set_max_num_chars(_SNIPPET)
        places: list[Place] = []
        for _, address in searcher.search(parsed, limit).hits:
            document = searcher.doc(address)
            snippet = snippets.snippet_from_doc(document).fragment() or _first(document, "body")[:_SNIPPET]
            places.append(Place(_first(document, "path"), _first(document, "title"), " ".join(snippet.split())))
        return places


def _first(document: tantivy.Document, field: str) -> str:
    value: object = document.get_first(field)
    return value if isinstance(value, str) else ""


def _title_and_text(path: str, content: bytes) -> tuple[str, str]:
    """Raises Unreadable."""
    name = Path(path)
    fetched = Fetched(path, TYPES[name.suffix.lower()], content)
    text = extract(fetched)
    title = ""
    if fetched.content_type == "text/html":
        title = html_title(decoded(fetched))
    elif fetched.content_type == "text/markdown":
        heading = _HEADING.search(text)
        title = "" if heading is None else heading.group(1)
    return title[:300] or name.stem, text
