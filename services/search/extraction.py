"""The text of a document: HTML without its furniture, PDF, plain text. Libraries are loaded when first needed."""

from __future__ import annotations

import codecs
import io
import re

from services.kit.json_values import clean_text
from services.search.providers.provider import Fetched

_MOST_PAGES = 100
# Every text is cut here: nothing longer is kept (services.search.pipeline).
_MOST_CHARACTERS = 200_000
_MOST_MARKUP = 1_000_000
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
# Bounded: pages are not trusted, and a match holds up the whole process.
_TITLE = re.compile(r"<title[^>]{0,200}>(.{0,2000}?)</title>", re.IGNORECASE | re.DOTALL)
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_GAPS = re.compile(r"\n{3,}")


class Unreadable(ValueError):
    """A document that is not what its type says."""


def media_type(fetched: Fetched) -> str:
    """`Text/HTML; charset=x` → `text/html`."""
    return fetched.content_type.partition(";")[0].strip().lower()


def extract(fetched: Fetched) -> str:
    """Text with paragraphs apart by an empty line; may be empty. Slow: call it in a thread. Raises Unreadable."""
    media = media_type(fetched)
    if media == "application/pdf" or fetched.content.startswith(b"%PDF-"):
        text = _of_pdf(fetched.content)
    elif media in ("text/html", "application/xhtml+xml"):
        text = _of_html(decoded(fetched), fetched.url)
    else:
        text = decoded(fetched)
    return _GAPS.sub("\n\n", _tidy(clean_text(text[: 4 * _MOST_CHARACTERS]))).strip()[:_MOST_CHARACTERS]


def _tidy(text: str) -> str:
    """One kind of line end, no blanks before it, no NUL, no byte order mark."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").replace("\ufeff", "")
    return "\n".join(line.rstrip(" \t\f\v") for line in plain.split("\n"))


def decoded(fetched: Fetched) -> str:
    """Bytes as text: by a byte order mark, the charset of the type, the one in the document's head, else UTF-8."""
    content = fetched.content
    for mark, charset in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if content.startswith(mark):
            return content.decode(charset, "replace")
    named = _CHARSET.search(fetched.content_type) or _CHARSET.search(content[:2048].decode("latin-1"))
    charset = "utf-8" if named is None else named.group(1)
    # The web's ISO 8859-1 is windows-1252 (WHATWG Encoding section 4.2).
    if charset.lower() in ("iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"):
        charset = "windows-1252"
    try:
        return content.decode(charset, "replace")
    except (LookupError, ValueError):
        return content.decode("utf-8", "replace")


def _of_html(page: str, url: str) -> str:
    import trafilatura

    page = page[:_MOST_MARKUP]
    # Furniture (menus, footers) goes; a page of nothing else is taken as it is.
    text = trafilatura.extract(page, url=url, include_comments=False, include_tables=True) or trafilatura.html2txt(page)
    return "\n\n".join(line.strip() for line in text.splitlines() if line.strip())


def html_title(page: str) -> str:
    """The title of an HTML page; empty where it has none."""
    import html

    found = _TITLE.search(page[:100_000])
    return "" if found is None else " ".join(html.unescape(found.group(1)).split())


def _of_pdf(content: bytes) -> str:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        # Without its last lines (a cut file, a careless writer) the table of objects is found by looking for them.
        mended = content if b"startxref" in content else content + b"\nstartxref\n0\n%%EOF\n"
        reader = PdfReader(io.BytesIO(mended))
        pages: list[str] = []
        for page in reader.pages[:_MOST_PAGES]:
            pages.append(page.extract_text())
            if sum(map(len, pages)) > _MOST_CHARACTERS:
                break
        return "\n\n".join(pages)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OSError) as error:
        # A broken file shows itself in as many ways as there are places in it.
        raise Unreadable(f"not a readable PDF: {type(error).__name__}") from error
