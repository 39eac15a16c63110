"""Text of documents: HTML, PDF, plain; charsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.search.extraction import Unreadable, extract, html_title
from services.search.providers.provider import Fetched

PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj\n"
    b"4 0 obj<</Length 47>>stream\nBT /F1 24 Tf 20 100 Td (Kittens sleep a lot) Tj ET\nendstream endobj\n"
    b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)


def text(content: bytes, content_type: str = "text/html; charset=utf-8") -> str:
    return extract(Fetched("https://example.com/a", content_type, content))


def test_a_page_without_its_furniture() -> None:
    body = "Kittens sleep for most of the day, because growing makes them tired. " * 5
    page = (
        f"<html><head><title>Cats</title><script>var secret = 1</script></head><body><nav><a href=/>Home</a>"
        f"<a href=/shop>Shop</a></nav><article><h1>Kittens</h1><p>{body}</p><p>{body.replace('Kittens', 'Cats')}</p>"
        f"</article><footer>All rights reserved</footer></body></html>"
    )
    got = text(page.encode())
    assert "Kittens sleep for most of the day" in got
    assert "secret" not in got
    assert "Shop" not in got
    assert "\n\nCats sleep" in got


def test_a_small_page_is_taken_as_it_is() -> None:
    assert "Hello kitty." in text(b"<title>x</title><p>Hello kitty.</p>")


def test_a_pdf() -> None:
    assert text(PDF, "application/pdf") == "Kittens sleep a lot"
    assert text(PDF, "text/html") == "Kittens sleep a lot"


@pytest.mark.parametrize("cut", [10, 100, 300])
def test_a_broken_pdf_says_so_or_gives_nothing(cut: int) -> None:
    try:
        assert isinstance(text(PDF[:cut], "application/pdf"), str)
    except Unreadable:
        pass


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        ("naïve café £".encode(), "text/plain; charset=utf-8"),
        ("naïve café £".encode(), "text/plain"),
        ("naïve café £".encode("latin-1"), "text/plain; charset=ISO-8859-1"),
        ("naïve café £".encode("utf-16"), "text/plain"),
        ("\ufeffnaïve café £".encode(), "text/plain; charset=latin-1"),
        ("naïve café £".encode(), "text/plain; charset=nothing-such"),
        ("naïve\r\ncafé £".encode(), "text/markdown"),
    ],
)
def test_charsets(content: bytes, content_type: str) -> None:
    assert text(content, content_type).replace("\n", " ") == "naïve café £"


@given(
    st.binary(max_size=300),
    st.sampled_from(["text/plain", "text/html", "text/html; charset=utf-16", "text/x; charset=hex"]),
)
def test_whatever_the_bytes_are_the_text_can_be_sent(content: bytes, content_type: str) -> None:
    got = text(content, content_type)
    assert got.encode().decode() == got
    assert "\x00" not in got


def test_titles() -> None:
    assert html_title("<TITLE>\n Cats &amp; dogs </TITLE>") == "Cats & dogs"
    assert html_title("<p>none") == ""
